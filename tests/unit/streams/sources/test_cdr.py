import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import HtmlResponse
from scrapy_cdr.utils import format_id, text_cdr_item

from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.cdr import Cdr

URL = "http://example.org/a"
HTML = '<!doctype html><meta charset="koi8-r"><title>Ж</title><p>Привет'
SOURCE = Cdr(100_000)


def item(**more):
    """A document as scrapy-cdr builds it from Scrapy's response."""
    headers = {"Content-Type": "text/html; charset=koi8-r", "Content-Language": "ru"}
    response = HtmlResponse(URL, headers=headers, body=HTML.encode("koi8-r"))
    return {**text_cdr_item(response, crawler_name="spider", team_name="team"), **more}


def ache_document(**more):
    """A document as ACHE builds it; it leaves out what is null."""
    return {
        "_id": "E4D1A5E5C0A0F0B5A2F4C0C9A0B1C2D3E4F5061728394A5B6C7D8E9F00112233",
        "content_type": "text/html; charset=koi8-r",
        "crawler": "ache",
        "objects": [],
        "raw_content": HTML,
        "response_headers": {"content-type": "text/html; charset=koi8-r", "content-language": "ru"},
        "timestamp_crawl": "2026-01-02T03:04:05Z",
        "timestamp_index": "2026-01-02T03:04:06Z",
        "url": URL,
        "version": 3.1,
        **more,
    }


def decode(document, source=SOURCE):
    value = document if isinstance(document, bytes) else json.dumps(document, default=dict).encode()
    message = Message(b"key", value)
    assert source.recognises(message)
    (outcome,) = source.decode(message)
    return outcome


def test_a_document_of_scrapy_cdr_is_a_page_whose_text_is_unicode_already():
    document = item()
    page = decode(document)
    assert (page.url, page.html, page.id, page.encoding) == (URL, HTML.encode(), document["_id"], "utf-8")
    assert (page.language, page.source) == ("ru", "cdr")
    assert f"{page.fetched_at.replace(tzinfo=None).isoformat()}Z" == document["timestamp_crawl"]


def test_a_document_of_ache_is_a_page():
    page = decode(ache_document())
    assert (page.url, page.html, page.language) == (URL, HTML.encode(), "ru")
    assert page.fetched_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_address_and_content_type_may_be_lists():
    assert decode(item(url=[URL, URL + "b"], content_type=["text/html", "text/plain"])).url == URL


def test_a_lone_surrogate_becomes_a_replacement_character():
    assert decode(item(raw_content="<p>\ud800")).html == "<p>\ufffd".encode()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"raw_content": None}, SkipReason.NO_BODY),
        ({"raw_content": ""}, SkipReason.NO_BODY),
        ({"content_type": "application/pdf"}, SkipReason.NOT_HTML),
        ({"url": None}, BrokenReason.MISSING_URL),
        ({"url": [{}]}, BrokenReason.MISSING_URL),
        ({"raw_content": "<p>" + "x" * 100_000}, BrokenReason.PAGE_TOO_LARGE),
    ],
)
def test_what_is_no_page_has_its_reason(more, reason):
    assert decode(item(**more)).reason is reason


def test_a_damaged_object_is_malformed():
    (broken,) = SOURCE.decode(Message(None, b'{"raw_content": "<p>", "url": '))
    assert broken.reason is BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize("value", [b"[]", b"", b"7"])
def test_what_is_no_object_is_of_another_format(value):
    (broken,) = SOURCE.decode(Message(None, value))
    assert broken.reason is BrokenReason.WRONG_FORMAT


@pytest.mark.parametrize(
    "value", [None, b"", b"<html>", b"{}", b'{"raw_content": "", "timestamp": 1, "url": "", "version": 2.0}']
)
def test_other_messages_are_not_recognised(value):
    assert not SOURCE.recognises(Message(None, value))


def test_what_is_encoded_is_what_scrapy_cdr_writes_and_decodes_to_the_same_page():
    page = RawPage(
        URL, HTML.encode(), fetched_at=datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), language="ru"
    )
    record = SOURCE.encode(page)
    document = json.loads(record.value)
    assert record.key == format_id(URL, "2026-01-02T03:04:05.000678Z").encode() == document["_id"].encode()
    assert document.keys() == item().keys()
    read = decode(record.value)
    assert (read.url, read.html, read.fetched_at, read.language) == (URL, page.html, page.fetched_at, "ru")


@given(st.data())
def test_whatever_the_value_it_has_one_outcome(data):
    value = json.dumps(ache_document()).encode()
    at = data.draw(st.integers(0, len(value)))
    mutated = value[:at] + data.draw(st.binary(max_size=6)) + value[at + data.draw(st.integers(0, 6)) :]
    assert len(SOURCE.decode(Message(None, mutated))) == 1
