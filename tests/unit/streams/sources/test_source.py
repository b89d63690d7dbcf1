"""The URL that a message has beside its value, of pages and of tombstones."""

import pytest

from dehusk.schemas.outcomes import BrokenReason, Tombstone
from dehusk.schemas.pages import Message
from dehusk.streams.sources.registry import FORMATS, SourceSettings, open_crawler_format, open_source
from dehusk.streams.sources.source import named_url

URL = "https://example.org/a?b=c+d&e=%C3%A9"
LEGACY = ["кот".encode("koi8-r"), "кит".encode("koi8-r"), b"%CB"]


def gone(key, *headers):
    (outcome,) = open_source("auto", SourceSettings()).decode(Message(key, None, headers))
    return outcome


def test_the_header_counts_before_the_key():
    assert named_url(Message(b"https://example.org/", None, (("url", URL.encode()),))) == URL
    assert named_url(Message(URL.encode(), None, (("url", b"7"),))) == URL


def test_names_that_are_no_utf8_stay_apart():
    urls = [named_url(Message(b"https://example.org/" + name, None)) for name in LEGACY]
    assert urls == [f"https://example.org/{name}" for name in ("%CB%CF%D4", "%CB%C9%D4", "%CB")]


@pytest.mark.parametrize("key", [LEGACY[0], b"\xc3\xa9", b"a b"])
def test_a_tombstone_has_the_key_of_the_document(key):
    key = b"https://example.org/" + key
    (page,) = open_source("html", SourceSettings()).decode(Message(key, b"<!doctype html><p>text"))
    assert gone(key) == Tombstone(page.url.encode())


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in {"cdr", "frontera"}])
@pytest.mark.parametrize("source", ["auto", "itself"])
def test_the_key_that_a_format_writes_names_the_page_that_is_gone(name, source, tmp_path):
    settings = SourceSettings(warc_directory=tmp_path)
    page = open_source("html", settings).decode(Message(URL.encode(), b"<!doctype html><p>text"))[0]
    record = open_crawler_format(name, settings).encode(page)
    if record.key is not None:
        opened = open_source(name if source == "itself" else source, settings)
        assert opened.decode(Message(record.key, None)) == [Tombstone(URL.encode())]


def test_a_tombstone_may_be_named_by_a_header():
    assert gone(b"0123456789ABCDEF", ("url", URL.encode())) == Tombstone(URL.encode())
    assert gone(None, ("url", URL.encode())) == Tombstone(URL.encode())


@pytest.mark.parametrize("key", [b"0123456789ABCDEF", b"", b"\xff", b"mailto:a@example.org"])
def test_a_tombstone_that_names_no_page_is_told_and_not_passed_on(key):
    assert gone(key).reason is BrokenReason.MISSING_URL


def test_a_key_that_is_percent_encoded_as_a_whole_may_hold_any_bytes():
    assert named_url(Message(b"http%3A%2F%2Fexample.org%2F%CB+%CF", None)) == "http://example.org/%CB%20%CF"
