import gzip
from base64 import b64encode, encodebytes
from datetime import datetime, timedelta, timezone

import orjson

from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.indexers import Norconex, Nutch
from tests.unit.streams.sources.crawler_messages import MAX_BYTES, URL, norconex, nutch
from tests.unit.streams.sources.crawler_messages import NUTCH_HTML as HTML

NUTCH, NORCONEX = Nutch(MAX_BYTES), Norconex(MAX_BYTES)


def decode(content, source=NUTCH):
    message = Message(None, orjson.dumps(content))
    assert source.recognises(message)
    return source.decode(message)


def test_an_array_may_hold_several_documents():
    first, second, third, fourth = decode([nutch(), nutch(id=URL + "b"), nutch(id=None, url=None), 7])
    assert (first.url, second.url) == (URL, URL + "b")
    assert third.reason is BrokenReason.MISSING_URL
    assert fourth.reason is BrokenReason.WRONG_FORMAT


def test_base64_holds_bytes_without_any_charset():
    body = b64encode(b"<meta charset=koi8-r><p>\xcf").decode()
    (page,) = decode([nutch(binaryContent=body)])
    assert page.html.decode() == "<meta charset=koi8-r><p>о"


def test_base64_may_hold_a_page_in_gzip():
    body = b64encode(gzip.compress(HTML.encode(), 9, mtime=0)).decode()
    (page,) = decode([nutch(binaryContent=body)])
    assert page.html == HTML.encode()


def test_base64_may_be_wrapped():
    (page,) = decode(nutch(binaryContent=encodebytes(HTML.encode() * 9).decode()))
    assert page.html == HTML.encode() * 9


def test_a_word_that_could_be_base64_is_text():
    (page,) = decode(nutch(binaryContent="test", type="text/html"))
    assert page.html == b"test"


def test_a_document_is_written_as_the_index_writer_sends_it():
    fetched_at = datetime(2026, 3, 4, 7, 6, 7, tzinfo=timezone(timedelta(hours=2)))
    document = orjson.loads(NUTCH.encode(RawPage(URL, HTML.encode(), fetched_at=fetched_at)).value)
    assert all(isinstance(value, list) and len(value) == 1 for value in document.values())
    assert document["tstamp"] == ["Wed Mar 04 05:06:07 UTC 2026"]
    head = f"Version: -1\nurl: {URL}\nbase: {URL}\ncontentType: text/html\n"
    assert document["binaryContent"][0].startswith(head)


def test_without_binary_content_there_is_no_page():
    (skipped,) = decode([{name: value for name, value in nutch().items() if name != "binaryContent"}])
    assert (skipped.reason, skipped.url) == (SkipReason.NO_BODY, URL)
    assert "-addBinaryContent" in skipped.detail


def test_plain_text_of_norconex_is_skipped_and_says_why():
    (skipped,) = decode(norconex(content="é and no markup"), NORCONEX)
    assert (skipped.reason, skipped.url) == (SkipReason.NOT_HTML, URL)
    assert "importer" in skipped.detail


def test_the_scheme_of_a_url_of_norconex_may_be_in_capitals():
    (page,) = decode(norconex(id="HTTPS://example.org/page"), NORCONEX)
    assert page.url == "HTTPS://example.org/page"


def test_several_values_of_a_field_of_norconex_are_an_array():
    (page,) = decode(norconex(content=["<html><p>1", "<html><p>2"]), NORCONEX)
    assert page.html == b"<html><p>1"
