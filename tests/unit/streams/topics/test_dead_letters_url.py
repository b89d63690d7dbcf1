"""The URL of a page that is not read, in every format."""

import gzip
from dataclasses import replace

import orjson
import pytest

from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.registry import FORMATS, SourceSettings, open_crawler_format
from dehusk.streams.topics.dead_letters import url_in

URL = "https://example.org/a?b=c"
PAGE = RawPage(URL, b"<!doctype html><title>t</title><p>" + b"text " * 1000)


@pytest.fixture(scope="module")
def messages(tmp_path_factory) -> dict[str, Message]:
    """The page as each format writes it, without a key."""
    settings = SourceSettings(warc_directory=tmp_path_factory.mktemp("warcs"))
    records = {name: open_crawler_format(name, settings).encode(PAGE) for name in FORMATS}
    return {name: Message(None, record.value, record.headers) for name, record in records.items()}


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "html"])
def test_a_format_has_it_in_the_value(name, messages):
    assert url_in(messages[name]) == URL


@pytest.mark.parametrize("name", FORMATS)
def test_the_key_tells_it_or_a_header(name, messages):
    message = replace(messages[name], value=messages[name].value[:40])
    assert url_in(message) is None
    assert url_in(replace(message, key=URL.encode())) == URL
    assert url_in(replace(message, headers=(("url", URL.encode()),))) == URL


def test_what_the_format_says_counts_before_the_key():
    assert url_in(Message(b"https://example.org/", orjson.dumps({"url": URL, "html": "<p>"}))) == URL


def test_of_several_pages_the_first_that_has_one_counts():
    documents = [{"segment": ["0"], "digest": [""], "boost": [1], **more} for more in ({}, {"id": [URL]})]
    assert url_in(Message(None, orjson.dumps(documents))) == URL


def test_a_field_of_a_wrong_type_does_not_hide_it():
    assert url_in(Message(b"key", orjson.dumps({"url": URL, "html": 5}))) == URL


@pytest.mark.parametrize(
    "message",
    [
        Message(None, None),
        Message(b"\xff", b""),
        Message(b"example.org", b"<p>page"),
        Message(None, b"[" * 100_000),
        Message(None, orjson.dumps({"url": 5, "html": "<p>"})),
        Message(None, gzip.compress(b"{}", mtime=0), (("content-encoding", b"gzip"),)),
        Message(None, b"\0\0\0\0\7record", (("url", None),)),
    ],
)
def test_where_there_is_none_none_is_told(message):
    assert url_in(message) is None
