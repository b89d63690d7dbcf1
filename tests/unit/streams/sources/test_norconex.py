import orjson

from dehusk.schemas.outcomes import SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.sources.norconex import Norconex

URL = "https://example.org/page"
FIELDS = {
    "id": URL,
    "document.reference": URL,
    "document.contentType": "text/html",
    "collector.depth": ["0", "1"],
    "crawler.fetchDate": "2026-03-04T05:06:07Z",
    "content": "<html><p>é",
}
source = Norconex(max_bytes=100_000)


def decode(**changes):
    message = Message(URL.encode(), orjson.dumps(FIELDS | changes) + b"\n")
    assert source.recognises(message)
    (outcome,) = source.decode(message)
    return outcome


def test_the_page_is_the_content_where_its_markup_was_kept():
    page = decode()
    assert (page.url, page.html) == (URL, "<html><p>é".encode())
    assert page.fetched_at.isoformat() == "2026-03-04T05:06:07+00:00"


def test_plain_text_is_skipped_and_says_why():
    skipped = decode(content="é and no markup")
    assert (skipped.reason, skipped.url) == (SkipReason.NOT_HTML, URL)
    assert "importer" in skipped.detail


def test_several_values_are_an_array():
    assert decode(content=["<html><p>1", "<html><p>2"]).html == b"<html><p>1"


def test_no_content_is_skipped():
    assert decode(content=None).reason is SkipReason.NO_BODY
