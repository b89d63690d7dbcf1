import pytest

from dehusk.schemas.outcomes import SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.sources.html import Html

URL = b"https://example.org/page"
HTML = "<!doctype html><p>Grüße".encode()
html = Html(max_bytes=100_000)


def decode(value, key=URL, **headers):
    pairs = tuple((name.replace("_", "-"), text) for name, text in headers.items())
    (outcome,) = html.decode(Message(key, value, pairs))
    return outcome


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


def test_the_headers_of_a_web_servers_answer_are_recognised():
    message = Message(URL, b"User-agent: *", (("content-type", b"text/plain; charset=utf-8"),))
    assert html.recognises(message)
    assert html.decode(message)[0].reason is SkipReason.NOT_HTML
    assert not html.recognises(Message(URL, b'{"a": 1}', (("content-type", b"text/plain"),)))
    assert not html.recognises(Message(URL, b"\x92\xa2", (("content-type", b"application/octet-stream"),)))
