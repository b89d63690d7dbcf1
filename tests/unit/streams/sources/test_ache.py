import json
from base64 import b64encode
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.ache import Ache
from dehusk.streams.sources.cdr import Cdr

URL = "http://example.org/a"
HTML = "<!doctype html><title>Ж</title><p>Привет"
SOURCE = Ache(100_000)


def target(**more):
    """A page in the sink's format JSON."""
    return {
        "url": URL,
        "redirected_url": None,
        "content": b64encode(HTML.encode("koi8-r")).decode(),
        "content_type": "text/html; charset=koi8-r",
        "response_headers": {"Content-Type": ["text/html; charset=koi8-r"], "Content-Language": ["ru", "en"]},
        "fetch_time": 1767323045678,
        "relevance": {"relevance": 1.0, "isRelevant": True},
        "crawler_id": "crawl",
        **more,
    }


def decode(fields):
    value = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    (outcome,) = SOURCE.decode(Message(b"http%3A%2F%2Fexample.org%2Fa", value))
    return outcome


def test_a_page_of_format_json():
    fields = target()
    assert SOURCE.recognises(Message(None, json.dumps(fields).encode()))
    assert decode(fields) == RawPage(
        url=URL,
        html=HTML.encode(),
        fetched_at=datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
        language="ru",
        encoding="koi8-r",
        source="ache",
    )


def test_the_address_after_redirection_counts():
    assert decode(target(redirected_url=URL + "b")).url == URL + "b"


def test_the_content_type_may_stand_in_the_headers_only():
    assert decode(target(content_type=None)).encoding == "koi8-r"


def test_a_page_without_a_time_has_none():
    assert decode(target(fetch_time=0)).fetched_at is None


def test_a_page_of_the_time_before_content_is_text():
    fields = target(response_body=HTML)
    del fields["content"]
    page = decode(fields)
    assert (page.html, page.encoding) == (HTML.encode(), "utf-8")


def test_a_page_of_format_elastic_is_text():
    fields = {
        "domain": "example.org",
        "url": URL,
        "title": "Ж",
        "text": "Привет",
        "retrieved": "2026-01-02T03:04:05.000+00:00",
        "words": ["Привет"],
        "wordsMeta": [],
        "topPrivateDomain": "example.org",
        "html": HTML,
        "responseHeaders": {"Content-Type": ["text/html; charset=koi8-r"], "Content-Language": ["ru"]},
        "isRelevant": "relevant",
        "relevance": 1.0,
        "crawlerId": "crawl",
    }
    page = decode(fields)
    assert (page.url, page.html, page.language) == (URL, HTML.encode(), "ru")
    assert page.fetched_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_document_of_format_cdr31_is_read_too_and_left_to_cdr_to_recognise():
    document = {
        "_id": "E4D1",
        "content_type": "text/html",
        "crawler": "ache",
        "objects": [],
        "raw_content": HTML,
        "response_headers": {"content-type": "text/html"},
        "timestamp_crawl": "2026-01-02T03:04:05Z",
        "timestamp_index": "2026-01-02T03:04:05Z",
        "url": URL,
        "version": 3.1,
    }
    message = Message(None, json.dumps(document).encode())
    assert (decode(document).html, decode(document).source) == (HTML.encode(), "ache")
    assert Cdr(1).recognises(message)
    assert not SOURCE.recognises(message)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (target(content=None), SkipReason.NO_BODY),
        (target(content_type="image/png"), SkipReason.NOT_HTML),
        (target(url=None), BrokenReason.MISSING_URL),
        (target(content="%%%"), BrokenReason.MALFORMED_MESSAGE),
        (target(content="ж"), BrokenReason.MALFORMED_MESSAGE),
        (target(content=b64encode(b"<p>" + bytes(100_000)).decode()), BrokenReason.PAGE_TOO_LARGE),
        (b"[]", BrokenReason.WRONG_FORMAT),
        (b"", BrokenReason.WRONG_FORMAT),
    ],
)
def test_what_is_no_page_has_its_reason(fields, reason):
    assert decode(fields).reason is reason


def test_content_that_cannot_be_read_has_its_url():
    assert decode(target(content="%%%")).url == URL


@pytest.mark.parametrize(
    "value", [None, b"", b"<html>", b"{}", b'{"url": "", "content": "", "fetch_time": 1}']
)
def test_other_messages_are_not_recognised(value):
    assert not SOURCE.recognises(Message(None, value))


def test_what_is_encoded_has_the_fields_of_ache_and_decodes_to_the_same_page():
    time = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    page = RawPage("http://example.org/a b~*/ж", HTML.encode(), fetched_at=time, language="ru")
    record = SOURCE.encode(page)
    assert record.key == b"http%3A%2F%2Fexample.org%2Fa+b%7E*%2F%D0%B6"
    assert json.loads(record.value).keys() == target().keys()
    read = decode(record.value)
    assert (read.url, read.html) == ("http://example.org/a%20b~*/ж", page.html)
    assert (read.fetched_at, read.language) == (time, "ru")


@given(st.data())
def test_whatever_the_value_it_has_one_outcome(data):
    value = json.dumps(target()).encode()
    at = data.draw(st.integers(0, len(value)))
    mutated = value[:at] + data.draw(st.binary(max_size=6)) + value[at + data.draw(st.integers(0, 6)) :]
    assert len(SOURCE.decode(Message(None, mutated))) == 1
