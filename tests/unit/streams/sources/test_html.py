import gzip
from datetime import UTC, datetime

import pytest

from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.html import Html

URL = b"https://example.org/page"
HTML = "<!doctype html><p>Grüße".encode()
html = Html(max_bytes=100_000)


def decode(value, key=URL, **headers):
    pairs = tuple((name.replace("_", "-"), text) for name, text in headers.items())
    (outcome,) = html.decode(Message(key, value, pairs))
    return outcome


def test_the_key_is_the_url_and_the_value_the_page():
    assert decode(HTML) == RawPage(URL.decode(), HTML, source="html")


def test_headers_say_what_the_value_does_not():
    page = decode(
        b"<p>\xcf",
        key=b"7",
        url=URL,
        content_type=b"text/html; charset=koi8-r",
        status=b"200",
        fetched_at=b"2026-03-04T05:06:07Z",
        Content_Language=b"ru",
    )
    assert page == RawPage(
        URL.decode(),
        "<p>о".encode(),
        fetched_at=datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
        language="ru",
        encoding="koi8-r",
        source="html",
    )


def test_an_error_status_in_the_headers_is_skipped():
    assert decode(HTML, status=b"404").reason is SkipReason.ERROR_STATUS


@pytest.mark.parametrize("key", [None, b"", b"\xff\xfe", b"42"])
def test_a_page_without_a_url_is_broken(key):
    assert decode(HTML, key=key).reason is BrokenReason.MISSING_URL


@pytest.mark.parametrize(
    "value",
    [
        HTML,
        b"\xef\xbb\xbf\r\n <HTML>",
        "<html><p>".encode("utf-16-le"),
        "<html><p>".encode("utf-16-be"),
        "\ufeff<html>".encode("utf-16-be"),
        b"<?xml version='1.0'?>\n<!DOCTYPE html>\n<html>",
        b"<!-- a comment --><div>",
    ],
)
def test_markup_is_recognised_in_any_encoding(value):
    assert html.recognises(Message(None, value))


@pytest.mark.parametrize("value", [b"%PDF-1.7", b"\xff\xd8\xff\xe0", b"<?xml version='1.0'?><rss>"])
def test_what_else_such_a_crawler_sends_is_recognised_and_skipped(value):
    assert html.recognises(Message(URL, value))
    assert decode(value).reason is SkipReason.NOT_HTML


def test_a_header_may_say_that_the_value_is_a_page():
    message = Message(
        URL, gzip.compress(HTML, mtime=0), (("content-type", b"text/html"), ("content-encoding", b"gzip"))
    )
    assert html.recognises(message)
    assert html.decode(message) == [RawPage(URL.decode(), HTML, source="html")]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        gzip.compress(HTML, mtime=0),
        b'{"html": "<html>"}',
        b"[<html>",
        b"text <p> ",
        b"\x00\x00\x00\x00\x07{",
        b"\x92",
    ],
)
def test_other_values_are_not_recognised(value):
    assert not html.recognises(Message(None, value))


def test_the_headers_of_a_web_servers_answer_are_recognised():
    message = Message(URL, b"User-agent: *", (("content-type", b"text/plain; charset=utf-8"),))
    assert html.recognises(message)
    assert html.decode(message)[0].reason is SkipReason.NOT_HTML
    assert not html.recognises(Message(URL, b'{"a": 1}', (("content-type", b"text/plain"),)))
    assert not html.recognises(Message(URL, b"\x92\xa2", (("content-type", b"application/octet-stream"),)))
