"""Duties of all crawler formats: they read messages of their crawler, write them, refuse others."""

import gzip
from base64 import b64encode
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.html import Html
from dehusk.streams.sources.indexers import Norconex, Nutch
from dehusk.streams.sources.json_fields import JsonFields
from dehusk.streams.sources.memex import Ache, Cdr
from dehusk.streams.sources.registry import FORMATS
from dehusk.streams.sources.spiders import Frontera, ScrapyCluster
from dehusk.streams.sources.warc import Warc
from dehusk.streams.sources.warc_pointer import WarcPointer
from tests.unit.streams.sources.crawler_messages import (
    ARCHIVE,
    CDR_HTML,
    ELASTIC,
    FRONTERA_HEADERS,
    FRONTERA_META,
    FRONTERA_OLD_META,
    HTML,
    KOI8,
    MAX_BYTES,
    MILLISECONDS,
    NUTCH_HEAD,
    NUTCH_HTML,
    RECORD_ID,
    SIZE,
    TIME,
    URL,
    ache,
    ache_cdr,
    as_json,
    chunked,
    crawl_log,
    frontera_json,
    norconex,
    nutch,
    old_ache,
    packed,
    page_record,
    scrapy_cdr,
    scrapy_cluster,
    warc,
)


@dataclass(frozen=True)
class Written:
    """A message that a crawler wrote for a page at URL, and what else is expected of that page."""

    format: str
    shape: str
    value: object
    html: str
    page: dict = field(default_factory=dict)
    key: bytes | None = None
    headers: tuple = ()
    recognised: bool = True

    @property
    def message(self):
        return Message(self.key, as_json(self.value), self.headers)

    def __str__(self):
        return f"{self.format} {self.shape}"


_DATED = {"fetched_at": TIME, "language": "ru"}
_KOI8 = {"encoding": "koi8-r"}
_FRONTERA_PAGE = {"id": FRONTERA_META[b"fingerprint"].decode(), **_KOI8}
_WARC_PAGE = {"id": RECORD_ID, "fetched_at": TIME, "language": "ru", **_KOI8}
_SCRAPED = scrapy_cdr()
WRITTEN = [
    Written("html", "bare", HTML.encode(), HTML, key=URL.encode()),
    Written(
        "html",
        "headers",
        KOI8,
        HTML,
        {**_DATED, **_KOI8},
        key=b"7",
        headers=(
            ("url", URL.encode()),
            ("content-type", b"text/html; charset=koi8-r"),
            ("status", b"200"),
            ("fetched-at", b"2026-01-02T03:04:05Z"),
            ("Content-Language", b"ru"),
        ),
    ),
    Written(
        "html",
        "gzip",
        gzip.compress(HTML.encode(), mtime=0),
        HTML,
        key=URL.encode(),
        headers=(("content-type", b"text/html"), ("content-encoding", b"gzip")),
    ),
    Written("json", "text", {"url": URL, "html": HTML}, HTML),
    Written(
        "json",
        "bytes",
        {"url": URL, "html_base64": b64encode(KOI8).decode(), "content_type": "text/html; charset=koi8-r"},
        HTML,
        _KOI8,
    ),
    Written("ache", "JSON", ache(), HTML, {"fetched_at": MILLISECONDS, "language": "ru", **_KOI8}),
    Written(
        "ache",
        "before content",
        old_ache(),
        HTML,
        {"fetched_at": MILLISECONDS, "language": "ru"},
        recognised=False,
    ),
    Written("ache", "ELASTIC", ELASTIC, HTML, _DATED, recognised=False),
    Written("ache", "CDR31", ache_cdr(), CDR_HTML, {"id": ache_cdr()["_id"], **_DATED}, recognised=False),
    Written("cdr", "ACHE", ache_cdr(), CDR_HTML, {"id": ache_cdr()["_id"], **_DATED}),
    Written(
        "cdr",
        "scrapy-cdr",
        _SCRAPED,
        CDR_HTML,
        {
            "id": _SCRAPED["_id"],
            "fetched_at": datetime.fromisoformat(_SCRAPED["timestamp_crawl"]),
            "language": "ru",
        },
    ),
    Written("nutch", "array", [nutch()], NUTCH_HTML, {"fetched_at": TIME}),
    Written(
        "nutch",
        "index writer",
        {name: [value] for name, value in nutch().items()},
        NUTCH_HTML,
        {"fetched_at": TIME},
    ),
    Written("norconex", "markup", norconex(), "<html><p>é", {"fetched_at": TIME}, key=URL.encode()),
    Written(
        "scrapy-cluster",
        "text",
        scrapy_cluster(),
        SIZE,
        {"fetched_at": TIME.replace(microsecond=123456)},
    ),
    Written(
        "scrapy-cluster",
        "bytes",
        scrapy_cluster(body=b64encode(SIZE.encode("latin-1")).decode()),
        SIZE,
        {"fetched_at": TIME.replace(microsecond=123456), "encoding": "windows-1252"},
    ),
    Written(
        "frontera",
        "0.8",
        packed(b"pc", [URL, 200, FRONTERA_META, FRONTERA_HEADERS, KOI8]),
        HTML,
        {"language": "ru", **_FRONTERA_PAGE},
    ),
    Written("frontera", "0.7", packed(b"pc", [URL, 200, FRONTERA_META, KOI8]), HTML, _FRONTERA_PAGE),
    Written(
        "frontera",
        "0.5",
        packed(b"pc", [URL, 200, FRONTERA_META, KOI8], use_bin_type=False),
        HTML,
        _FRONTERA_PAGE,
    ),
    Written(
        "frontera",
        "0.4",
        packed(
            "pc",
            [URL, 200, FRONTERA_OLD_META, KOI8],
            [["http://example.org/b", {}, {}, {}]],
            use_bin_type=False,
        ),
        HTML,
        _FRONTERA_PAGE,
    ),
    Written(
        "frontera",
        "JSON",
        frontera_json(url=URL, status_code=200, meta={"encoding": "koi8-r"}, body=b64encode(KOI8).decode()),
        HTML,
        _KOI8,
    ),
    Written("warc", "plain", page_record(), HTML, _WARC_PAGE),
    Written("warc", "gzip", page_record(compress=True), HTML, _WARC_PAGE),
    Written(
        "warc",
        "chunked",
        page_record(chunked(KOI8, 20), ("Transfer-Encoding", "chunked")),
        HTML,
        _WARC_PAGE,
    ),
    Written("warc-pointer", "line", crawl_log(), HTML, _WARC_PAGE),
]
"""Messages of each format in each of its shapes."""


@dataclass(frozen=True)
class Refused:
    """A message that is no page, or breaks the rules of its format."""

    format: str
    value: object
    reason: SkipReason | BrokenReason
    recognised: bool = True
    key: bytes | None = None
    headers: tuple = ()

    @property
    def message(self):
        return Message(self.key, as_json(self.value), self.headers)

    def __str__(self):
        return f"{self.format} {self.reason}"


def _refused(format_, reason, *values, recognised=True):
    return [Refused(format_, value, reason, recognised) for value in values]


_NO_BODY, _NOT_HTML, _NOT_A_PAGE = SkipReason.NO_BODY, SkipReason.NOT_HTML, SkipReason.NOT_A_PAGE
_ERROR, _MALFORMED = SkipReason.ERROR_STATUS, BrokenReason.MALFORMED_MESSAGE
_WRONG_FORMAT, _NO_URL = BrokenReason.WRONG_FORMAT, BrokenReason.MISSING_URL
_TOO_LARGE = BrokenReason.PAGE_TOO_LARGE
_PDF = nutch(binaryContent=NUTCH_HEAD.replace("text/html", "application/pdf", 1) + "%PDF")
_IMAGE_HEADERS = {b"Content-Type": [b"image/png"]}
_PAGE = {"url": URL, "html": HTML}
REFUSED = [
    *(Refused("html", HTML.encode(), _NO_URL, key=key) for key in (None, b"", b"\xff\xfe", b"42")),
    Refused("html", HTML.encode(), _ERROR, key=URL.encode(), headers=(("status", b"404"),)),
    *(
        Refused("html", value, _NOT_HTML, key=URL.encode())
        for value in (b"%PDF-1.7", b"\xff\xd8\xff\xe0", b"<?xml version='1.0'?><rss>")
    ),
    *_refused("json", _MALFORMED, b"{", b"[" * 100_000, b'{"a":' * 100_000, recognised=False),
    *_refused("json", _MALFORMED, b'{"html_base64": "<>"}', recognised=False),
    *_refused("json", _WRONG_FORMAT, b"7", b"[]", b"null", b'"text"', b"\xff", recognised=False),
    *_refused("json", _WRONG_FORMAT, {"url": URL}, {}, recognised=False),
    *_refused("json", _NO_BODY, {"url": URL, "html": None}, {"url": URL, "html_base64": None}),
    *_refused("json", _ERROR, {"url": URL, "status": 404}, recognised=False),
    *_refused("json", _NO_URL, _PAGE | {"url": None}, recognised=False),
    *_refused("json", _NO_URL, _PAGE | {"url": ""}),
    *_refused("ache", _NO_BODY, ache(content=None)),
    *_refused("ache", _NOT_HTML, ache(content_type="image/png")),
    *_refused("ache", _NO_URL, ache(url=None)),
    *_refused("ache", _MALFORMED, ache(content="%%%"), ache(content="ж")),
    *_refused("ache", _TOO_LARGE, ache(content=b64encode(b"<p>" + bytes(MAX_BYTES)).decode())),
    *_refused("ache", _WRONG_FORMAT, b"[]", b"", recognised=False),
    *_refused("cdr", _NO_BODY, scrapy_cdr(raw_content=None), scrapy_cdr(raw_content="")),
    *_refused("cdr", _NOT_HTML, scrapy_cdr(content_type="application/pdf")),
    *_refused("cdr", _NO_URL, scrapy_cdr(url=None), scrapy_cdr(url=[{}])),
    *_refused("cdr", _TOO_LARGE, scrapy_cdr(raw_content="<p>" + "x" * MAX_BYTES)),
    *_refused("cdr", _MALFORMED, b'{"raw_content": "<p>", "url": ', recognised=False),
    *_refused("cdr", _WRONG_FORMAT, b"[]", b"", b"7", recognised=False),
    *_refused("nutch", _NOT_HTML, [_PDF]),
    *_refused("nutch", _NOT_A_PAGE, b"[]", recognised=False),
    *_refused("nutch", _MALFORMED, b"[{", recognised=False),
    *_refused("norconex", _NO_BODY, norconex(content=None)),
    *_refused("scrapy-cluster", _ERROR, scrapy_cluster(status_code=404, status_msg="OK")),
    *_refused(
        "scrapy-cluster",
        _ERROR,
        *(scrapy_cluster(status_code=status) for status in ("404", "404 Not Found", 404.0, ["404"])),
    ),
    *_refused("scrapy-cluster", _NO_BODY, *(scrapy_cluster(body=body) for body in (None, "", [], {}))),
    *_refused("scrapy-cluster", _MALFORMED, b"json failed to parse", b'"json failed to parse"'),
    *_refused("frontera", _NO_BODY, packed("pc", [URL, 200, FRONTERA_OLD_META], [])),
    *_refused("frontera", _NOT_A_PAGE, packed("as", [[URL, {}, {}, {}]])),
    *_refused("frontera", _ERROR, packed(b"pc", [URL, 404, FRONTERA_META, FRONTERA_HEADERS, KOI8])),
    *_refused("frontera", _NOT_HTML, packed(b"pc", [URL, 200, FRONTERA_META, _IMAGE_HEADERS, KOI8])),
    *_refused("frontera", _NO_URL, packed(b"pc", [None, 200, {}, {}, KOI8])),
    *_refused(
        "frontera",
        _MALFORMED,
        b"\x92\xc4\x02pc",
        packed(b"pc", []),
        packed(b"pc", 5),
        packed(b"pc", [URL, 200, FRONTERA_META, KOI8]) + b"x",
        b"\x92\xa2pc\x94\xa1u\x01\x81\x90\x01\xa1b",
        b"\x92\xa2pc" + b"\x91" * 5000,
        b'["dict", [[["other", "type"]]]]',
        b'["dict", ' + b"[" * 900 + b"]" * 900 + b"]",
        b'["dict", ' + b"[" * 90000,
        b'{"type": "page_crawled", "r": {"body": "%%%"}}',
        b'{"type": "page_crawled", "r": {"body": "\xff"}}',
    ),
    *_refused(
        "warc", _NOT_A_PAGE, warc(b"20260102030405\nexample.org. 1 IN A 1.2.3.4\n", url="dns:example.org")
    ),
    *_refused("warc", _NOT_A_PAGE, warc(b"text", kind="resource", url="urn:text:http://example.org/")),
    *_refused("warc", _ERROR, warc(status="404 Not Found")),
    *_refused("warc", _NOT_HTML, warc(b"\x89PNG\r\n\x1a\n", ("Content-Type", "image/png"))),
    *_refused("warc", _NO_BODY, warc(b"")),
    *_refused("warc-pointer", _MALFORMED, b'{"url": "http://example.org/", ', recognised=False),
    *_refused("warc-pointer", _WRONG_FORMAT, b"[]", b"", b"7", recognised=False),
]
"""Messages that are refused, by format and reason."""

UNRECOGNISED = {
    "html": (
        b"",
        gzip.compress(HTML.encode(), mtime=0),
        b'{"html": "<html>"}',
        b"[<html>",
        b"text <p> ",
        b"\x00\x00\x00\x00\x07{",
        b"\x92",
    ),
    "ache": (None, b"", b"<html>", b"{}", b'{"url": "", "content": "", "fetch_time": 1}'),
    "cdr": (None, b"", b"<html>", b"{}", b'{"raw_content": "", "timestamp": 1, "url": "", "version": 2.0}'),
    "frontera": (
        *(None, b"", b"<html>", b"{}", b'["dict"]', b'{"type": "page"}'),
        *(packed(URL, b"GET"), b"\x92pc"),
    ),
    "warc": (
        *(None, b"", b"<html>", b"{}", gzip.compress(b"<html>", mtime=0)),
        *(b"\x1f\x8bWARC/", b"WARC"),
    ),
    "warc-pointer": (None, b"", b"<html>", b"{}", b'{"url": "", "status_code": 200}'),
}
"""Values that a format does not take for its own."""

CLASSES = (Html, JsonFields, ScrapyCluster, Nutch, Frontera, Cdr, Ache, Norconex, Warc)
TO_THE_SECOND = {"nutch", "warc", "warc-pointer"}
"""Formats whose times have no fractions; Frontera's have no times."""
PAGE = RawPage(
    url="http://example.org/ä%20b~*/ж",
    html=b"<!doctype html><meta charset=koi8-r><p>" + "ж".encode(),
    fetched_at=MILLISECONDS.astimezone(timezone(timedelta(hours=2))),
    language="ru",
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Each format by its name; the archive holds the page that the crawl log points to."""
    directory = tmp_path_factory.mktemp("warcs")
    (directory / ARCHIVE).write_bytes(page_record(compress=True))
    formats = [*(make(MAX_BYTES) for make in CLASSES), WarcPointer(MAX_BYTES, directory)]
    return {source.name: source for source in formats}


@pytest.mark.parametrize("written", WRITTEN, ids=str)
def test_a_message_that_a_crawler_wrote_is_a_page(written, sources):
    source = sources[written.format]
    assert source.recognises(written.message) is written.recognised
    expected = RawPage(URL, written.html.encode(), source=written.format, **written.page)
    assert source.decode(written.message) == [expected]


@pytest.mark.parametrize("refused", REFUSED, ids=str)
def test_a_message_that_is_no_page_has_its_reason(refused, sources):
    source = sources[refused.format]
    assert source.recognises(refused.message) is refused.recognised
    (outcome,) = source.decode(refused.message)
    assert type(outcome) is (Broken if isinstance(refused.reason, BrokenReason) else Skipped)
    assert outcome.reason is refused.reason
    if isinstance(outcome, Skipped) and outcome.reason is not SkipReason.NOT_A_PAGE:
        assert outcome.url == URL


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in UNRECOGNISED.items() for value in values]
)
def test_other_messages_are_not_recognised(name, value, sources):
    assert not sources[name].recognises(Message(None, value))


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_encoded_decodes_to_the_same_page(name, sources):
    record = sources[name].encode(PAGE)
    message = Message(record.key, record.value, record.headers)
    assert sources[name].recognises(message)
    (page,) = sources[name].decode(message)
    time = None if name == "frontera" else PAGE.fetched_at
    if name in TO_THE_SECOND:
        time = time.replace(microsecond=0)
    assert replace(page, id=None) == replace(PAGE, fetched_at=time, source=name)


@pytest.mark.parametrize("name", ["html", "json", "norconex", "warc"])
def test_a_page_is_keyed_by_its_url(name, sources):
    assert sources[name].encode(PAGE).key == PAGE.url.encode()


@pytest.mark.parametrize("name", ["scrapy-cluster", "nutch", "warc-pointer"])
def test_a_crawler_that_sets_no_key_has_none(name, sources):
    assert sources[name].encode(PAGE).key is None


@given(data=st.data(), written=st.sampled_from(WRITTEN))
def test_whatever_the_value_it_has_an_outcome(data, written, sources):
    value = written.message.value
    at = data.draw(st.integers(0, len(value)))
    mutated = value[:at] + data.draw(st.binary(max_size=8)) + value[at + data.draw(st.integers(0, 8)) :]
    outcomes = sources[written.format].decode(replace(written.message, value=mutated))
    assert len(outcomes) == 1 or (outcomes and written.format in {"warc", "nutch"})
