"""Every format, compressed as a whole."""

import gzip
import zlib
from base64 import b64encode
from dataclasses import replace

import brotli
import pytest
import zstandard

from dehusk.schemas.outcomes import BrokenReason, SkipReason, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.registry import FORMATS, SourceSettings, open_crawler_format, open_source

PAGE = RawPage("https://example.org/", "<!doctype html><title>T</title><p>Grüße".encode())
MAX_BYTES = 100_000
CODINGS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return SourceSettings(max_bytes=MAX_BYTES, warc_directory=tmp_path_factory.mktemp("warcs"))


def compressed(value, coding="gzip", key=b"https://example.org/"):
    return Message(key, CODINGS[coding](value), (("Content-Encoding", coding.encode()),))


def only(message, settings, name="auto"):
    (outcome,) = open_source(name, settings).decode(message)
    return outcome


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("coding", CODINGS)
def test_a_message_of_any_format_may_be_compressed(name, coding, settings):
    record = open_crawler_format(name, settings).encode(PAGE)
    message = compressed(record.value, coding, record.key)
    for source in (name, "auto"):
        outcome = only(message, settings, source)
        assert (outcome.url, outcome.html, outcome.source) == (PAGE.url, PAGE.html, name)
    recognising = [other for other in FORMATS if open_source(other, settings).recognises(message)]
    assert recognising == [name]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("headers", [(), (("content-encoding", b"br"),)])
def test_gzip_and_zstd_are_known_whatever_the_header_says(name, coding, headers, settings):
    record = open_crawler_format(name, settings).encode(PAGE)
    message = Message(record.key, CODINGS[coding](record.value), record.headers + headers)
    for source in (name, "auto"):
        outcome = only(message, settings, source)
        assert (outcome.url, outcome.html, outcome.source) == (PAGE.url, PAGE.html, name)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_page_that_was_compressed_before_it_was_put_in_base64_is_read(coding, settings):
    message = replace(compressed(PAGE.html, coding), value=b64encode(CODINGS[coding](PAGE.html)))
    assert only(message, settings, "html").html == PAGE.html


@pytest.mark.parametrize(
    "value", [gzip.compress(b"\0\1\2", mtime=0), gzip.compress(b"<p>", mtime=0)[:5], b"\x1f\x8b damaged"]
)
def test_gzip_that_holds_no_page_stays_what_it_is(value, settings):
    message = Message(b"https://example.org/", value)
    assert only(message, settings).reason is BrokenReason.UNKNOWN_FORMAT
    assert only(message, settings, "html").detail == "a gzip file"


def test_a_whole_message_in_gzip_is_inflated_no_further_than_a_page_may_be(settings):
    message = Message(b"https://example.org/", gzip.compress(b"<p>" + b"x" * MAX_BYTES, mtime=0))
    assert only(message, settings).reason is BrokenReason.INFLATES_TOO_LARGE
    damaged = gzip.compress(PAGE.html, mtime=0)[:-9]
    assert only(replace(message, value=damaged), settings).reason is BrokenReason.MALFORMED_COMPRESSION


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("coding", CODINGS)
def test_a_header_that_was_kept_does_no_harm(name, coding, settings):
    record = open_crawler_format(name, settings).encode(PAGE)
    message = Message(record.key, record.value, (("content-encoding", coding.encode()),))
    assert only(message, settings).html == PAGE.html


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"of": "nobody"}', BrokenReason.UNKNOWN_FORMAT),
        (b"%PDF-1.7", SkipReason.NOT_HTML),
        (b"", SkipReason.NO_BODY),
        (b'{"url": "https://example.org/", "html"', BrokenReason.MALFORMED_MESSAGE),
        (b"<p>" + bytes(MAX_BYTES), BrokenReason.INFLATES_TOO_LARGE),
    ],
)
def test_what_it_holds_is_told_as_of_a_value_that_is_not_compressed(value, reason, settings):
    assert only(compressed(value), settings).reason is reason


def test_a_damaged_value_is_a_dead_letter(settings):
    message = compressed(PAGE.html)
    assert only(replace(message, value=message.value[:-9]), settings).reason is (
        BrokenReason.MALFORMED_COMPRESSION
    )
    assert not open_source("auto", settings).recognises(replace(message, value=message.value[:-9]))


def test_no_value_is_a_tombstone_all_the_same(settings):
    assert only(replace(compressed(b""), value=None), settings) == Tombstone(b"https://example.org/")
