"""Values that the tests of the worker's steps share."""

import pytest

from schemas.pages import Message


@pytest.fixture
def page() -> bytes:
    paragraph = "A paragraph of some length, which is what rules and models take for content of a page."
    return f"<html><title>T</title><body><nav><a href=/>Home</a></nav><p>{paragraph}</p></body></html>".encode()


@pytest.fixture
def message(page: bytes) -> Message:
    headers = (("content-type", b"text/html"), ("traceparent", b"00-1-2-01"))
    return Message(b"https://example.org/a", page, headers, "raw", 3, 41)
