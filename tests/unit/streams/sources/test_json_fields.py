import codecs
import gzip
import json
from base64 import b64encode, encodebytes, urlsafe_b64encode

import orjson
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.json_fields import DEFAULT_PATHS, JsonFields
from dehusk.streams.sources.registry import SourceSettings, open_source

URL = "https://example.org/page"
HTML = "<p>é</p>"
PAGE = RawPage(URL, HTML.encode(), source="json")


def json_fields(*assignments):
    """The format with the paths of assignments such as `url=page.address`."""
    paths = dict(DEFAULT_PATHS) | dict(assignment.split("=") for assignment in assignments)
    return JsonFields(100_000, tuple(paths.items()))


def decode(content, *assignments):
    value = content if isinstance(content, bytes) else orjson.dumps(content)
    (outcome,) = json_fields(*assignments).decode(Message(None, value))
    return outcome


def test_paths_lead_to_fields_and_into_arrays():
    content = {"page": {"address": URL}, "answers": [{"status": 200, "body": HTML}]}
    assert decode(content, "url=page.address", "html=answers.0.body", "status=answers.0.status") == PAGE


LONG = "<!doctype html><title>T</title>\n<p>" + 'Grüße, >>>???ÿÿÿ "so". ' * 20
ENCODED = b64encode(LONG.encode()).decode()
WRAPPED = encodebytes(LONG.encode()).decode()


@pytest.mark.parametrize(
    "value",
    [
        LONG,
        ENCODED,
        ENCODED.rstrip("="),
        WRAPPED,
        WRAPPED.replace("\n", "\r\n"),
        urlsafe_b64encode(LONG.encode()).decode(),
        b64encode(gzip.compress(LONG.encode())).decode(),
        b64encode(LONG.encode("utf-16")).decode(),
        json.dumps(LONG),
        json.dumps(LONG, ensure_ascii=False),
        json.dumps(json.dumps(json.dumps(LONG))),
        " " + json.dumps(LONG) + "\n",
        json.dumps(LONG).replace("<", "\\u003C"),
        b64encode(json.dumps(LONG).encode()).decode(),
    ],
)
@pytest.mark.parametrize("kind", [None, "text/html"])
def test_a_page_may_be_in_base64_or_encoded_twice(value, kind):
    assert decode({"url": URL, "html": value, "content_type": kind}).html.decode() == LONG
    assert decode({"url": URL, "body": value, "content_type": kind}, "html=body").html.decode() == LONG


@pytest.mark.parametrize(
    "value",
    [
        '"<p>Words in quotation marks</p>"',
        '"<b>So</b>", he said, "<i>it is</i>"',
        '"<p class=\\"a\\">not closed',
        '"<p>line\nbreak \\n</p>"',
        "<p>" + ENCODED,
        '<script>"<html>\\n"</script><p>text',
        '["<p>"]<p>text',
    ],
)
def test_a_page_that_looks_encoded_stays_as_it_is(value):
    assert decode({"url": URL, "html": value, "content_type": "text/html"}).html.decode() == value


@pytest.mark.parametrize(
    "value", ["words", "Words and more words", "abcd" * 9, "aaaa\nbbbb", "dGVzdA==", "PHA", "a-b_c"]
)
def test_text_without_markup_is_not_taken_for_base64(value):
    page = decode({"url": URL, "html": value, "content_type": "text/html"})
    assert page.html.decode() == value


def test_another_file_in_base64_is_named():
    skipped = decode({"url": URL, "html": b64encode(b"%PDF-1.7 ...").decode(), "content_type": "text/html"})
    assert skipped == Skipped(SkipReason.NOT_HTML, "a PDF", URL)


@pytest.mark.parametrize(
    "value",
    [
        ENCODED,
        WRAPPED,
        WRAPPED.replace("\n", " "),
        WRAPPED.replace("\n", "\r\n\t"),
        f" {ENCODED[:5]} {ENCODED[5:]}\f",
        urlsafe_b64encode(LONG.encode()).decode(),
        f"data:text/html;charset=utf-8;base64,{ENCODED}",
        f"b'{ENCODED}'\n",
        f'b"{ENCODED}"',
        b64encode(ENCODED.encode()).decode(),
    ],
)
def test_bytes_are_in_base64_of_either_alphabet_and_may_have_white_space(value):
    assert decode({"url": URL, "html_base64": value}).html.decode() == LONG


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (LONG, "body is no base64, but HTML as it is: --field html=body"),
        ("no base64!", "body is no base64: "),
        ("AAAAA", "body is no base64: "),
    ],
)
def test_what_is_no_base64_is_broken(value, detail):
    broken = decode({"url": URL, "body": value}, "html_base64=body")
    assert broken.reason is BrokenReason.MALFORMED_MESSAGE
    assert broken.detail.startswith(detail)


@pytest.mark.parametrize("path", ["html=payload.page.0", "html=payload.text.page.0"])
def test_a_path_leads_into_json_in_a_string(path):
    inner = {"page": [HTML]}
    content = {"url": URL, "payload": json.dumps(inner | {"text": json.dumps(inner)})}
    assert decode(content, path) == PAGE


def test_a_page_that_is_json_is_none_and_its_fields_are_named():
    skipped = decode({"url": URL, "body": json.dumps({"title": "T", "markup": HTML})}, "html=body")
    assert skipped.reason is SkipReason.NOT_HTML
    assert skipped.detail == "JSON with the fields 'title, markup': --field html=body.NAME reads one of them"
    assert decode({"url": URL, "html": "{}", "status": 404}).reason is SkipReason.ERROR_STATUS


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.encode("utf-16"),
        lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
        lambda text: codecs.BOM_UTF16_LE + ("\n " + text).encode("utf-16-le"),
        lambda text: codecs.BOM_UTF8 + text.encode(),
        lambda text: json.dumps(text).encode(),
    ],
)
def test_an_object_may_be_in_utf_16_or_within_a_string(encode):
    value = encode(json.dumps({"url": URL, "html": HTML}, ensure_ascii=False))
    message = Message(None, value)
    assert json_fields().recognises(message)
    assert [decode(value), *open_source("auto", SourceSettings()).decode(message)] == [PAGE, PAGE]


def test_utf_16_that_is_cut_off_is_no_json():
    value = json.dumps({"url": URL, "html": HTML}).encode("utf-16")[:-1]
    assert decode(value).reason is BrokenReason.MALFORMED_MESSAGE


def test_lone_surrogates_are_let_through():
    value = b'{"url": "' + URL.encode() + b'", "html": "<p>\\ud800</p>"}'
    assert decode(value).html.decode() == "<p>\ufffd</p>"


@pytest.mark.parametrize("url", [None, ""])
def test_a_page_without_a_url_is_broken(url):
    broken = decode({"url": url, "html": HTML})
    assert broken.detail == "it gives no URL, which tells the document's key and site"


@pytest.mark.parametrize("field", ["url", "html", "html_base64"])
@pytest.mark.parametrize(
    ("value", "kind"), [(7, "number"), (True, "boolean"), ([HTML], "array"), ({"a": HTML}, "object")]
)
def test_a_field_of_a_wrong_type_is_named_by_its_path(field, value, kind):
    content = {"url": URL, "html": HTML, "page": {"it": value}}
    detail = f"field 'page.it': a JSON {kind} where a string is expected"
    url = None if field == "url" else URL
    assert decode(content, f"{field}=page.it") == Broken(BrokenReason.MALFORMED_MESSAGE, detail, url)


@pytest.mark.parametrize(("value", "id_"), [("7", "7"), (7, "7"), (True, None), ([7], None), (7.5, None)])
def test_an_id_may_be_a_number(value, id_):
    assert decode({"url": URL, "html": HTML, "id": value}).id == id_


def test_it_writes_where_its_paths_say():
    source = json_fields("url=page.address", "html=page.body")
    record = source.encode(PAGE)
    expected = {"page": {"address": URL, "body": HTML}, "content_type": "text/html"}
    assert orjson.loads(record.value) == expected
    assert source.decode(Message(record.key, record.value)) == [PAGE]


@pytest.mark.parametrize("html", [b"  ", b"words alone"])
def test_a_page_without_markup_is_written_as_one(html):
    page, source = RawPage(URL, html, source="json"), json_fields()
    record = source.encode(page)
    assert source.decode(Message(record.key, record.value)) == [page]


def test_two_fields_cannot_share_a_place():
    with pytest.raises(ConfigurationError, match="meet"):
        json_fields("url=page", "html=page.body").encode(PAGE)
