import gzip
from base64 import b64encode, encodebytes
from datetime import datetime, timedelta, timezone

import orjson
import pytest

from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.nutch import Nutch

URL = "https://example.org/page"
HEAD = (
    "Version: -1\nurl: https://example.org/page\nbase: https://example.org/page\n"
    "contentType: text/html\nmetadata: Content-Type=text/html; charset=x nutch.crawl.score=1.0\nContent:\n"
)
HTML = "<html>\nContent:\n<p>é</p>"
DOCUMENT = {
    "id": URL,
    "title": "t",
    "content": "é",
    "tstamp": "Wed Mar 04 05:06:07 UTC 2026",
    "digest": "d41d8cd98f00b204e9800998ecf8427e",
    "boost": "1.0",
    "segment": "20260304050607",
    "binaryContent": HEAD + HTML,
}
source = Nutch(max_bytes=100_000)


def decode(content):
    message = Message(None, orjson.dumps(content))
    assert source.recognises(message)
    return list(source.decode(message))


def test_the_page_stands_behind_its_head():
    (page,) = decode([DOCUMENT])
    assert (page.url, page.html) == (URL, HTML.encode())
    assert page.fetched_at.isoformat() == "2026-03-04T05:06:07+00:00"


def test_an_array_may_hold_several_documents():
    other = DOCUMENT | {"id": "https://example.org/other"}
    broken = DOCUMENT | {"id": None, "url": None}
    first, second, third, fourth = decode([DOCUMENT, other, broken, 7])
    assert (first.url, second.url) == (URL, "https://example.org/other")
    assert third.reason is BrokenReason.MISSING_URL
    assert fourth.reason is BrokenReason.WRONG_FORMAT


def test_base64_holds_bytes_without_any_charset():
    body = b64encode(b"<meta charset=koi8-r><p>\xcf").decode()
    (page,) = decode([DOCUMENT | {"binaryContent": body}])
    assert page.html.decode() == "<meta charset=koi8-r><p>о"


def test_base64_may_hold_a_page_in_gzip():
    body = b64encode(gzip.compress(HTML.encode(), 9, mtime=0)).decode()
    (page,) = decode([DOCUMENT | {"binaryContent": body}])
    assert page.html == HTML.encode()


def test_base64_may_be_wrapped():
    (page,) = decode(DOCUMENT | {"binaryContent": encodebytes(HTML.encode() * 9).decode()})
    assert page.html == HTML.encode() * 9


def test_a_word_that_could_be_base64_is_text():
    (page,) = decode(DOCUMENT | {"binaryContent": "test", "type": "text/html"})
    assert page.html == b"test"


def test_every_field_is_an_array_as_the_index_writer_sends_it():
    (page,) = decode({name: [value] for name, value in DOCUMENT.items()})
    assert page.html == HTML.encode()


def test_a_document_is_written_as_the_index_writer_sends_it():
    fetched_at = datetime(2026, 3, 4, 7, 6, 7, tzinfo=timezone(timedelta(hours=2)))
    record = source.encode(RawPage(URL, HTML.encode(), fetched_at=fetched_at))
    document = orjson.loads(record.value)
    assert record.key is None
    assert all(isinstance(value, list) and len(value) == 1 for value in document.values())
    assert document["tstamp"] == ["Wed Mar 04 05:06:07 UTC 2026"]
    assert document["binaryContent"][0].startswith(
        f"Version: -1\nurl: {URL}\nbase: {URL}\ncontentType: text/html\n"
    )


def test_without_binary_content_there_is_no_page():
    (skipped,) = decode([{name: value for name, value in DOCUMENT.items() if name != "binaryContent"}])
    assert (skipped.reason, skipped.url) == (SkipReason.NO_BODY, URL)
    assert "-addBinaryContent" in skipped.detail


def test_the_content_type_of_the_head_counts():
    (skipped,) = decode(
        [DOCUMENT | {"binaryContent": HEAD.replace("text/html", "application/pdf", 1) + "%PDF"}]
    )
    assert skipped.reason is SkipReason.NOT_HTML


@pytest.mark.parametrize(
    ("value", "reason"), [(b"[]", SkipReason.NOT_A_PAGE), (b"[{", BrokenReason.MALFORMED_MESSAGE)]
)
def test_arrays_without_documents(value, reason):
    (outcome,) = source.decode(Message(None, value))
    assert outcome.reason is reason
