import json

import pytest
from scrapy_cdr.utils import format_id

from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.memex import Ache, Cdr
from tests.unit.streams.sources.crawler_messages import (
    HTML,
    MAX_BYTES,
    MILLISECONDS,
    URL,
    ache,
    ache_cdr,
    as_json,
    scrapy_cdr,
)

ACHE, CDR = Ache(MAX_BYTES), Cdr(MAX_BYTES)


def decode(fields, source=ACHE):
    (outcome,) = source.decode(Message(b"key", as_json(fields)))
    return outcome


def test_the_address_after_redirection_counts():
    assert decode(ache(redirected_url=URL + "b")).url == URL + "b"


def test_the_content_type_may_stand_in_the_headers_only():
    assert decode(ache(content_type=None)).encoding == "koi8-r"


def test_a_page_without_a_time_has_none():
    assert decode(ache(fetch_time=0)).fetched_at is None


def test_a_document_of_ache_is_left_to_cdr_to_recognise():
    message = Message(None, as_json(ache_cdr()))
    assert CDR.recognises(message)
    assert not ACHE.recognises(message)


def test_content_that_cannot_be_read_has_its_url():
    assert decode(ache(content="%%%")).url == URL


def test_what_is_encoded_has_the_fields_and_the_key_of_ache():
    record = ACHE.encode(RawPage("http://example.org/a b~*/ж", HTML.encode(), language="ru"))
    assert record.key == b"http%3A%2F%2Fexample.org%2Fa+b%7E*%2F%D0%B6"
    assert json.loads(record.value).keys() == ache().keys()
    assert decode(record.value).url == "http://example.org/a%20b~*/ж"


def test_address_and_content_type_of_a_document_may_be_lists():
    document = scrapy_cdr(url=[URL, URL + "b"], content_type=["text/html", "text/plain"])
    assert decode(document, CDR).url == URL


def test_a_lone_surrogate_becomes_a_replacement_character():
    assert decode(scrapy_cdr(raw_content="<p>\ud800"), CDR).html == "<p>\ufffd".encode()


@pytest.mark.parametrize("microsecond", [678, 678000])
def test_a_document_is_written_as_scrapy_cdr_writes_it(microsecond):
    time = MILLISECONDS.replace(microsecond=microsecond)
    record = CDR.encode(RawPage(URL, HTML.encode(), fetched_at=time, language="ru"))
    document = json.loads(record.value)
    key = format_id(URL, f"2026-01-02T03:04:05.{microsecond:06}Z").encode()
    assert record.key == key == document["_id"].encode()
    assert document.keys() == scrapy_cdr().keys()
    assert decode(record.value, CDR).fetched_at == time
