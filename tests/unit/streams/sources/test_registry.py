"""Every format against every other: none takes a message of another for its own."""

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.registry import FORMATS, SourceSettings, open_crawler_format, open_source

GZIPPED = gzip.compress(b"\x00\xff\x00", mtime=0)
PAGE = RawPage(
    "https://example.org/a?b=c",
    '<!doctype html><title>"url" "html" "content" "id"</title><p>Grüße {"response_url": 1}</p>'.encode(),
    fetched_at=datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
    language="de",
)


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return SourceSettings(max_bytes=100_000, warc_directory=tmp_path_factory.mktemp("warcs"))


@pytest.fixture(scope="module")
def messages(settings):
    records = {name: open_crawler_format(name, settings).encode(PAGE) for name in FORMATS}
    return {name: Message(record.key, record.value, record.headers) for name, record in records.items()}


@pytest.mark.parametrize("name", FORMATS)
def test_only_its_own_format_recognises_a_message(name, settings, messages):
    recognising = [other for other in FORMATS if open_source(other, settings).recognises(messages[name])]
    assert recognising == [name]


def test_auto_reads_every_format_in_any_order(settings, messages):
    auto = open_source("auto", settings)
    for name in [*FORMATS, *reversed(FORMATS)]:
        (page,) = auto.decode(messages[name])
        assert page.source == name


@pytest.mark.parametrize(
    "value",
    [
        b"some text",
        b"{}",
        b"[]",
        b"7",
        b'{"url": "https://example.org/"}',
        b"\x00",
        b"\x92\xa2xx\xc0",
        b"{" * 50_000,
    ],
)
def test_a_message_of_no_format_is_broken_and_shown(value, settings):
    (broken,) = open_source("auto", settings).decode(Message(b"https://example.org/", value))
    assert isinstance(broken, Broken)
    assert broken.reason is BrokenReason.UNKNOWN_FORMAT
    assert "--source" in broken.detail


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"nothing known", "begins with b'nothing known': "),
        (GZIPPED, f"begins with {GZIPPED[:8].hex(' ')} (a gzip file, {len(GZIPPED)} bytes): "),
        (b"\x00\xff\x00" * 500, "begins with 00 ff 00 00 ff 00 00 ff (no text, 1,500 bytes): "),
    ],
)
def test_what_was_seen_of_an_unknown_value_is_its_beginning(value, shown, settings):
    (broken,) = open_source("auto", settings).decode(Message(None, value))
    assert broken.reason is BrokenReason.UNKNOWN_FORMAT
    assert shown in broken.detail


def test_what_was_seen_of_an_unknown_object_are_its_fields(settings):
    (broken,) = open_source("auto", settings).decode(Message(None, b'[{"address": 1, "markup": "<p>"}]'))
    assert broken.reason is BrokenReason.UNKNOWN_FORMAT
    assert "address, markup" in broken.detail


@pytest.mark.parametrize("fields", [{"url": 7, "html": "<p>"}, {"url": "http://a.b/", "html": 7}])
def test_an_object_with_a_field_of_a_wrong_type_is_told_which(fields, settings):
    (broken,) = open_source("auto", settings).decode(Message(None, orjson.dumps(fields)))
    (name,) = (name for name, value in fields.items() if value == 7)
    assert broken.reason is BrokenReason.MALFORMED_MESSAGE
    assert broken.detail == f"field '{name}': a JSON number where a string is expected"


def test_a_damaged_object_is_malformed_and_says_where(settings):
    (broken,) = open_source("auto", settings).decode(Message(None, b'{"url": "http://a.b/", "html": "<p>'))
    assert broken.reason is BrokenReason.MALFORMED_MESSAGE
    assert "column" in broken.detail


def test_a_message_of_two_formats_is_of_none(settings, messages):
    both = {**orjson.loads(messages["json"].value), **orjson.loads(messages["cdr"].value)}
    (broken,) = open_source("auto", settings).decode(Message(None, orjson.dumps(both)))
    assert broken.reason is BrokenReason.UNKNOWN_FORMAT
    assert "json and cdr" in broken.detail


@pytest.mark.parametrize("name", ["auto", *FORMATS])
def test_a_null_value_is_a_tombstone_in_every_format(name, settings):
    source = open_source(name, settings)
    assert source.decode(Message(b"https://a.b/", None)) == [Tombstone(b"https://a.b/")]
    assert source.decode(Message(None, None))[0].reason is BrokenReason.MALFORMED_MESSAGE
    assert source.decode(Message(b"key", b""))[0].reason is SkipReason.NO_BODY


ODD = [
    None,
    True,
    1.5,
    10**400,
    -1,
    "",
    "x",
    "\ud800",
    "javascript:x",
    [],
    [None],
    [[]],
    {},
    {"a": 1},
    "http://[::1",
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    "name", ["json", "scrapy-cluster", "nutch", "cdr", "ache", "norconex", "warc-pointer"]
)
def test_a_field_of_a_wrong_type_ends_as_an_outcome_that_can_be_written_down(name, odd, settings, messages):
    fields = orjson.loads(messages[name].value)
    for field in fields:
        message = replace(messages[name], value=json.dumps(fields | {field: odd}).encode())
        for source in (open_source(name, settings), open_source("auto", settings)):
            (outcome,) = source.decode(message)
            assert repr(outcome).isprintable()
            if isinstance(outcome, RawPage):
                "".join((outcome.url, outcome.id or "", outcome.language or "")).encode()


@pytest.mark.parametrize(("odd", "kind"), [(5, "number"), (True, "boolean"), ({"a": "<p>"}, "object")])
@pytest.mark.parametrize(
    ("name", "field"),
    [
        *(("json", field) for field in ("url", "html", "html_base64")),
        *(("scrapy-cluster", field) for field in ("url", "body")),
        *(("nutch", field) for field in ("url", "binaryContent")),
        *(("cdr", field) for field in ("url", "raw_content")),
        *(("ache", field) for field in ("url", "content")),
        *(("norconex", field) for field in ("id", "content")),
        ("warc-pointer", "url"),
    ],
)
def test_a_url_or_page_of_a_wrong_type_is_malformed_and_says_so(name, field, odd, kind, messages):
    fields = orjson.loads(messages[name].value)
    others = {"scrapy-cluster": "response_url", "nutch": "id"}
    if field == "url":
        fields.pop(others.get(name), None)
    message = replace(messages[name], value=orjson.dumps(fields | {field: odd}))
    (broken,) = open_source(name, SourceSettings()).decode(message)
    assert isinstance(broken, Broken)
    assert broken.reason is BrokenReason.MALFORMED_MESSAGE
    assert f"a JSON {kind} where a string is expected" in broken.detail


@given(data=st.data(), name=st.sampled_from(FORMATS))
def test_no_damage_makes_a_format_raise(data, name, settings, messages):
    message = messages[name]
    damaged = bytearray(message.value)
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(damaged)))
        length = data.draw(st.integers(0, 12))
        damaged[start : start + length] = data.draw(st.binary(max_size=8))
    for source in (open_source(name, settings), open_source("auto", settings)):
        outcomes = source.decode(replace(message, value=bytes(damaged)))
        assert outcomes
        assert all(isinstance(each, RawPage | Skipped | Broken) or not damaged for each in outcomes)


@given(
    value=st.binary(max_size=200),
    key=st.none() | st.binary(max_size=20),
    name=st.sampled_from(["auto", *FORMATS]),
)
def test_no_value_makes_a_format_raise(value, key, name, settings):
    assert open_source(name, settings).decode(Message(key, value))
