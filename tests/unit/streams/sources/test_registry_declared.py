"""Every format's messages, read as each of the others: none is taken for a page, and none is passed over."""

import gzip
import json
from base64 import b64encode
from dataclasses import replace

import msgpack
import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.registry import FORMATS, SourceSettings, open_crawler_format, open_source

URL = "https://example.org/a?b=c"
HTML = "<!doctype html><title>T</title><p>Grüße</p>"
PAGE = RawPage(URL, HTML.encode(), language="de")
OTHERS = [open_source(name, SourceSettings()) for name in FORMATS if name != "html"]
AUTO, DECLARED_HTML = (open_source(name, SourceSettings()) for name in ("auto", "html"))
JSON_FORMATS = ("json", "scrapy-cluster", "nutch", "cdr", "ache", "norconex", "warc-pointer")


def encoded(name):
    record = open_crawler_format(name, SourceSettings()).encode(PAGE)
    return Message(record.key, record.value, record.headers)


def changed(name, *, without=(), **fields):
    """The message of the page with other fields."""
    written = orjson.loads(encoded(name).value)
    content = {key: value for key, value in written.items() if key not in without}
    return Message(URL.encode(), orjson.dumps(content | fields))


def answer(value, content_type=None, **headers):
    kinds = {} if content_type is None else {"content-type": content_type}
    return Message(
        URL.encode(), value, tuple((name, text.encode()) for name, text in (kinds | headers).items())
    )


def record(kind="response", status="200 OK", content_type="text/html", *, gzipped=False):
    head = "GET / HTTP/1.1" if kind == "request" else f"HTTP/1.1 {status}\r\nContent-Type: {content_type}"
    block = f"{head}\r\n\r\n{HTML}".encode()
    written = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {URL}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    value = written.encode() + block + b"\r\n\r\n"
    return Message(URL.encode(), gzip.compress(value, mtime=0) if gzipped else value)


def packed(*parts):
    return Message(b"06d80eb0", msgpack.packb(list(parts), use_bin_type=True))


def crawled(status=200, kind=b"text/html", body=PAGE.html):
    return packed(b"pc", [URL, status, {b"encoding": "utf-8"}, {b"Content-Type": [kind]}, body])


def as_json(content, key=None):
    return Message(key, json.dumps(content).encode())


ELASTIC = {
    "domain": "example.org",
    "url": URL,
    "title": "T",
    "text": "Grüße",
    "retrieved": "2026-01-02T03:04:05.000+00:00",
    "topPrivateDomain": "example.org",
    "html": HTML,
    "responseHeaders": {"Content-Type": ["text/html"]},
    "crawlerId": "crawl",
}
LINE = {
    "timestamp": "2026-01-02T03:04:05.678Z",
    "status_code": 200,
    "url": URL,
    "hop_path": "L",
    "mimetype": "text/html",
    "start_time_plus_duration": "20260102030405123+555",
    "warc_filename": "a.warc.gz",
    "warc_offset": 0,
}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)
SHAPES: dict[str, dict[str, Message]] = {
    "html": {
        "page": encoded("html"),
        "page without headers": answer(HTML.encode()),
        "utf-16": answer(HTML.encode("utf-16")),
        "words": answer(b"plain words", "text/html"),
        "gzip": answer(gzip.compress(HTML.encode(), mtime=0), "text/html", **{"content-encoding": "gzip"}),
        "error": answer(HTML.encode(), "text/html", status="404"),
        "image": answer(PNG, "image/png"),
        "image without a type": answer(PNG),
        "PDF": answer(b"%PDF-1.7 ...", "application/pdf"),
        "text": answer(b"User-agent: *", "text/plain"),
    },
    "json": {
        "page": encoded("json"),
        "bytes": as_json({"url": URL, "html_base64": b64encode(HTML.encode()).decode()}),
        "error": as_json({"url": URL, "html": None, "status": 404}),
        "no body": as_json({"url": URL, "html": None}),
        "PDF": as_json({"url": URL, "html": "%PDF-1.7", "content_type": "application/pdf"}),
    },
    "scrapy-cluster": {
        "page": encoded("scrapy-cluster"),
        "base64": changed("scrapy-cluster", body=b64encode(HTML.encode()).decode()),
        "error": changed("scrapy-cluster", status_code=404),
        "no body": changed("scrapy-cluster", body=None),
        "image": changed("scrapy-cluster", response_headers={"Content-Type": ["image/png"]}),
        "failure": Message(None, b'"json failed to parse"'),
    },
    "nutch": {
        "page": encoded("nutch"),
        "array": Message(None, b"[" + encoded("nutch").value + b"]"),
        "base64": changed("nutch", binaryContent=[b64encode(HTML.encode()).decode()]),
        "no body": changed("nutch", without=["binaryContent"], content=["Grüße"], title=["T"]),
        "PDF": changed("nutch", binaryContent=[b64encode(b"%PDF <").decode()], type=["application/pdf"]),
    },
    "frontera": {
        "page": encoded("frontera"),
        "error": crawled(status=404),
        "image": crawled(kind=b"image/png", body=PNG),
        "no body": packed(b"pc", [URL, 200, {}]),
        "offset": packed(b"of", 1, 2),
        "statistics": packed(b"st", {b"pages": 5}, 1.5),
        "links": packed(b"le", [URL, {}], [[URL, {}]]),
        "request error": packed(b"re", [URL, {}], b"TimeoutError"),
        "JSON page": as_json(
            {
                "type": "page_crawled",
                "r": {
                    "url": URL,
                    "status_code": 200,
                    "meta": {},
                    "body": b64encode(HTML.encode()).decode(),
                },
            }
        ),
        "JSON offset": as_json({"type": "offset", "partition_id": 1, "offset": 2}),
        "typed offset": as_json(
            [
                "dict",
                [
                    [["other", "type"], ["other", "offset"]],
                    [["other", "partition_id"], ["other", 1]],
                    [["other", "offset"], ["other", 2]],
                ],
            ]
        ),
    },
    "cdr": {
        "page": encoded("cdr"),
        "PDF": changed("cdr", content_type="application/pdf"),
        "no body": changed("cdr", raw_content=None),
    },
    "ache": {
        "page": encoded("ache"),
        "no body": changed("ache", content=None),
        "image": changed("ache", content_type="image/png"),
        "ELASTIC": as_json(ELASTIC),
        "CDR31": changed("cdr", crawler="ache"),
    },
    "norconex": {
        "page": encoded("norconex"),
        "text": changed("norconex", content="text without markup"),
        "no body": changed("norconex", without=["content"]),
    },
    "warc": {
        "page": record(gzipped=True),
        "plain": record(),
        "error": record(status="404 Not Found"),
        "image": record(content_type="image/png"),
        "request": record("request", gzipped=True),
        "plain request": record("request"),
    },
    "warc-pointer": {
        "page": as_json(LINE),
        "error": as_json(LINE | {"status_code": -2, "warc_filename": None, "warc_offset": None}),
        "image": as_json(LINE | {"mimetype": "image/png"}),
        "DNS": as_json(LINE | {"url": "dns:example.org", "mimetype": "text/dns", "status_code": 1}),
        "no body": as_json(LINE | {"warc_filename": None, "warc_offset": None}),
    },
}
IN_BOTH = {
    ("cdr", "ache"): "ACHE writes CDR 3.1 too, and nothing but the name of the crawler tells",
    ("ache", "CDR31", "cdr"): "a document of CDR 3.1, whoever wrote it",
    ("ache", "ELASTIC", "json"): "the fields `url` and `html` are those of `json`",
}
"""Messages that are valid in a second format: of a format and all its shapes, or of one of them."""


def pairs():
    for of, shapes in SHAPES.items():
        for shape, message in shapes.items():
            for name in FORMATS:
                if name != of and not {(of, name), (of, shape, name)} & set(IN_BOTH):
                    yield pytest.param(name, message, of, id=f"{of} {shape} as {name}")


@pytest.mark.parametrize(("name", "message", "of"), list(pairs()))
def test_a_message_of_another_format_is_a_dead_letter_that_names_it(name, message, of):
    (broken,) = open_source(name, SourceSettings()).decode(message)
    assert isinstance(broken, Broken)
    assert broken.reason is BrokenReason.WRONG_FORMAT
    recognising = [each for each in FORMATS if open_source(each, SourceSettings()).recognises(message)]
    if of in recognising:
        assert broken.detail == f"a message of {of}, not of {name}: --source {of} reads it"


def test_all_formats_that_read_a_message_of_another_are_named():
    message = replace(encoded("json"), value=orjson.dumps(orjson.loads(encoded("json").value) | LINE))
    (broken,) = open_source("html", SourceSettings()).decode(message)
    options = "--source json or --source warc-pointer"
    assert broken.detail == f"a message of json or warc-pointer, not of html: {options} reads it"


@pytest.mark.parametrize("of", SHAPES)
def test_a_message_of_its_own_format_is_none_of_another(of):
    for message in SHAPES[of].values():
        for outcome in open_source(of, SourceSettings()).decode(message):
            assert getattr(outcome, "reason", None) is not BrokenReason.WRONG_FORMAT


@pytest.mark.parametrize(
    ("of", "shape", "name"), [("cdr", "page", "ache"), *(key for key in IN_BOTH if len(key) == 3)]
)
def test_what_is_valid_in_two_formats_is_the_same_page_in_both(of, shape, name):
    pages = [open_source(each, SourceSettings()).decode(SHAPES[of][shape])[0] for each in (of, name)]
    assert [(page.url, page.html) for page in pages] == [(URL, HTML.encode())] * 2


@pytest.mark.parametrize("kind", ["text/html", "application/json", "application/octet-stream"])
@pytest.mark.parametrize("of", [name for name in FORMATS if name != "html"])
def test_a_content_type_makes_no_page_of_a_crawlers_message(of, kind):
    for message in SHAPES[of].values():
        (broken,) = open_source("html", SourceSettings()).decode(
            replace(message, key=URL.encode(), headers=(("content-type", kind.encode()),))
        )
        assert broken.reason is BrokenReason.WRONG_FORMAT


NEITHER = [
    b"some text",
    b"7",
    b"[]",
    b"[7]",
    b"{}",
    b'{"url": "https://example.org/"}',
    b"<html><p>",
    b"\x00\xff",
    b"\x92\xa2xx\xc0",
]


@pytest.mark.parametrize("value", NEITHER)
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "html"])
def test_a_message_of_no_format_is_no_page_and_not_passed_over(name, value):
    (outcome,) = open_source(name, SourceSettings()).decode(Message(URL.encode(), value))
    if (name, value) == ("nutch", b"[]"):
        assert outcome == Skipped(SkipReason.NOT_A_PAGE, "an empty array of documents")
    else:
        assert outcome.reason is BrokenReason.WRONG_FORMAT


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_what_is_missing_is_told_with_what_is_there(name):
    (broken,) = open_source(name, SourceSettings()).decode(as_json({"address": URL, "markup": HTML}))
    assert broken.reason is BrokenReason.WRONG_FORMAT
    assert broken.detail.startswith("an object with the fields 'address, markup', without ")


def test_an_object_of_ones_own_needs_its_fields_named():
    (broken,) = open_source("json", SourceSettings()).decode(as_json({"url": URL, "body": HTML}))
    assert broken.reason is BrokenReason.WRONG_FORMAT
    assert "--field html=PATH" in broken.detail


JSON = [
    b'{"results": [1, 2]}',
    b'\n[{"id": 7}]',
    b"[]",
    b'{"html": "<p>" }',
    b'[{"id": 7, "name": "cut o',
    b'{"a": 1}\n{"a": 2}\n',
    orjson.dumps({"text": "x" * 32_000}),
]


@pytest.mark.parametrize("value", JSON)
@pytest.mark.parametrize("name", ["html", "auto"])
def test_json_that_is_called_a_page_is_none(name, value):
    (skipped,) = open_source(name, SourceSettings()).decode(answer(value, "text/html"))
    assert (skipped.reason, skipped.url) == (SkipReason.NOT_HTML, URL)
    assert skipped.detail.startswith(("JSON", "a JSON array"))


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        ({"link": URL, "page": HTML}, "JSON with the fields 'link, page': --source json --field url="),
        ({"url": URL, "body": HTML}, "JSON with the fields 'url, body': --source json --field url="),
        (
            [{"url": URL, "html": HTML}],
            "a JSON array of objects with the fields 'url, html': send each as a message: --source json ",
        ),
    ],
)
@pytest.mark.parametrize("kind", [None, "text/html"])
def test_json_in_place_of_a_page_is_skipped_with_advice(content, detail, kind):
    (skipped,) = open_source("html", SourceSettings()).decode(answer(json.dumps(content).encode(), kind))
    assert (skipped.reason, skipped.url) == (SkipReason.NOT_HTML, URL)
    assert skipped.detail.startswith(detail)


LINE_OF_JSON = json.dumps({"url": URL, "html": HTML}).encode()


@pytest.mark.parametrize("kind", [None, "text/html"])
@pytest.mark.parametrize(
    "value",
    [
        LINE_OF_JSON + b"\n" + LINE_OF_JSON,
        LINE_OF_JSON + b",\r\n" + LINE_OF_JSON[:-20],
        LINE_OF_JSON[:-20],
        b"[" + LINE_OF_JSON + b", " + LINE_OF_JSON[:-2],
        b'{"url": "https://example.org/", "text": "' + b"x" * 5000 + b'", "html": "<p>cut',
    ],
    ids=["lines", "cut line", "cut", "cut array", "late markup"],
)
def test_several_or_damaged_values_of_json_are_no_page(value, kind):
    (broken,) = open_source("html", SourceSettings()).decode(answer(value, kind))
    assert broken.reason is BrokenReason.WRONG_FORMAT
    assert "--source json reads one whole object in a message" in broken.detail


@pytest.mark.parametrize(
    "value",
    [
        b'{"status": "ok"}<!doctype html><p>text',
        b'{"a": 1}\n <html><p>',
        b"{% block %}<p>text",
        b"[note] words",
        b"{}words",
    ],
)
@pytest.mark.parametrize("name", ["html", "auto"])
def test_a_page_may_begin_like_json(name, value):
    (page,) = open_source(name, SourceSettings()).decode(answer(value, "text/html"))
    assert (page.url, page.html) == (URL, value)


ANSWERS = {
    "application/json": b'{"a": [1]}',
    "application/ld+json": b'{"@context": "https://schema.org", "url": "https://example.org/"}',
    "application/manifest+json": b'{"name": "x", "icons": []}',
    "application/json; charset=utf-8": b'[{"id": 1}]',
    "application/xml": b"<?xml version='1.0'?><catalog><item/></catalog>",
    "application/rss+xml": b"<rss version='2.0'><channel></channel></rss>",
    "application/octet-stream": b"\x01\x02\x03\x04 some data",
    "application/gzip": gzip.compress(b"data", mtime=0),
    "application/x-gzip": gzip.compress(b"<html><p>data", mtime=0),
    "application/wasm": b"\0asm\1\0\0\0",
    "application/protobuf": b"\x0a\x03abc",
    "application/javascript": b"callback({})",
    "application/x-javascript": b"callback({})",
    "text/javascript": b'{"a": 1}',
    "text/plain": b'{"a": 1}',
    "text/css": b"{}",
    "application/zip": b"PK\x03\x04",
    "application/vnd.ms-excel": b"\xd0\xcf\x11\xe0",
}


@pytest.mark.parametrize(("kind", "value"), list(ANSWERS.items()))
@pytest.mark.parametrize("name", ["html", "auto"])
def test_an_answer_that_is_no_page_is_skipped_with_and_without_a_declared_format(name, kind, value):
    for message in (
        answer(value, kind),
        Message(None, value, (("url", URL.encode()), ("Content-Type", kind.encode()))),
    ):
        (skipped,) = open_source(name, SourceSettings()).decode(message)
        assert isinstance(skipped, Skipped)
        assert skipped.reason is SkipReason.NOT_HTML


def test_what_a_crawlers_message_calls_itself_does_not_hide_its_format():
    message = replace(encoded("json"), headers=(("content-type", b"application/json"),))
    (page,) = open_source("auto", SourceSettings()).decode(message)
    assert (page.url, page.source) == (URL, "json")


@pytest.mark.parametrize("key", [None, b"7"])
def test_an_unknown_object_without_a_url_is_no_answer(key):
    message = Message(key, b'{"address": 1}', (("content-type", b"application/json"),))
    (broken,) = open_source("auto", SourceSettings()).decode(message)
    assert broken.reason is BrokenReason.UNKNOWN_FORMAT


@given(
    value=st.binary(min_size=1, max_size=100)
    | st.sampled_from([message.value for message in SHAPES["html"].values()]),
    kind=st.sampled_from([*ANSWERS, "text/html", "application/xhtml+xml", "*/*", "image/png"]),
)
def test_an_answer_with_a_url_has_one_outcome_with_and_without_a_declared_format(value, kind):
    message = answer(value, kind)
    assume(not any(source.recognises(message) for source in OTHERS))
    assert AUTO.decode(message) == DECLARED_HTML.decode(message)
