"""A page and its message, which the tests of several steps share."""

import pytest

from dehusk.inference.cleaning import PreparedPage, prepare
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.preparation.preparation import PackedPage, pack

URL = "https://example.org/a"


@pytest.fixture
def html() -> bytes:
    paragraph = "A paragraph of some length, which is what rules and models take for the content of a page. "
    navigation = "<nav><a href=/>Home</a></nav>"
    return f"<html><title>T</title><body>{navigation}<p>{paragraph * 3}</p></body></html>".encode()


@pytest.fixture
def page(html: bytes) -> PackedPage:
    prepared = prepare(RawPage(URL, html))
    assert isinstance(prepared, PreparedPage)
    return pack(prepared)


@pytest.fixture
def message(html: bytes) -> Message:
    headers = (("content-type", b"text/html"), ("traceparent", b"00-1-2-01"))
    return Message(URL.encode(), html, headers, "raw", 3, 41)
