import gzip
import io
import json
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import fastavro
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.errors import PageError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources import registry as sources
from dehusk.streams.sources.envelopes import SCHEMA_HEADER, Framed, is_framed, unframe
from dehusk.streams.sources.json_fields import JsonFields
from dehusk.streams.sources.registry import SourceSettings, open_source
from dehusk.streams.sources.schema_registry import RegisteredSchema
from dehusk.streams.sources.sniffing import other_format
from dehusk.streams.sources.source import Decoded, Source

PAGE = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Page",
        "fields": [
            {"name": "url", "type": "string"},
            {"name": "status", "type": ["null", "int"]},
            {"name": "fetched", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "html", "type": "bytes"},
        ],
    }
)
ANSWER = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Answer",
        "fields": [
            {"name": "url", "type": "string"},
            {"name": "html", "type": "bytes"},
            {"name": "content_type", "type": "string"},
            {"name": "content_encoding", "type": ["null", "string"]},
        ],
    }
)
RECORD = {
    "url": "http://example.org/",
    "status": 200,
    "fetched": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    "html": b"<meta charset=koi8-r><p>" + "Привет".encode("koi8-r"),
}
GUID = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")


class Registered:
    """A registry that holds what it is given; a schema `unavailable` is one that it cannot answer for."""

    def __init__(self, **schemas: RegisteredSchema) -> None:
        self._schemas = schemas

    def schema(self, reference: str) -> RegisteredSchema:
        if reference.endswith("/503"):
            raise UnavailableError("the schema registry is unavailable")
        try:
            return self._schemas[reference.replace("/", "")]
        except KeyError:
            raise PageError(BrokenReason.UNKNOWN_SCHEMA, reference) from None


REGISTRY = Registered(
    ids7=RegisteredSchema("AVRO", PAGE),
    ids8=RegisteredSchema("JSON", None),
    ids9=RegisteredSchema("PROTOBUF", None),
    ids10=RegisteredSchema("AVRO", fastavro.parse_schema({"type": "string"})),
    ids11=RegisteredSchema("AVRO", fastavro.parse_schema({"type": "bytes"})),
    ids12=RegisteredSchema("AVRO", ANSWER),
    **{f"guids{GUID}": RegisteredSchema("AVRO", PAGE)},
)


class Echo:
    """A source that gives the value back as a page's HTML."""

    name = "echo"

    def recognises(self, message: Message) -> bool:
        return message.value is not None and message.value.startswith(b"{")

    def decode(self, message: Message) -> Sequence[Decoded]:
        return [RawPage("http://example.org/", message.value or b"")]


def avro(record: object, schema: object = PAGE) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, record)
    return out.getvalue()


def framed(schema_id: int, payload: bytes) -> Message:
    return Message(b"key", b"\0" + schema_id.to_bytes(4) + payload)


def test_json_loses_its_frame_without_a_registry():
    assert unframe(framed(5, b' {"url": 1}\n'), None) == Message(b"key", b' {"url": 1}\n')


def test_json_that_does_not_show_itself_is_known_by_its_schema():
    assert unframe(framed(8, b"[1]"), REGISTRY).value == b"[1]"


def test_an_avro_record_becomes_a_json_object():
    value = unframe(framed(7, avro(RECORD)), REGISTRY).value
    assert json.loads(value) == {
        "url": "http://example.org/",
        "status": 200,
        "fetched": "2026-01-02T03:04:05+00:00",
        "html": "data:text/html;base64,PG1ldGEgY2hhcnNldD1rb2k4LXI+PHA+8NLJ18XU",
    }


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Source:
    """A source of JSON objects, which asks the registry for the schema of answers, too."""
    monkeypatch.setattr(sources, "SchemaRegistry", lambda _: REGISTRY)
    return open_source("json", SourceSettings(schema_registry="http://127.0.0.1:1"))


@pytest.mark.parametrize("coding", [None, "gzip", "deflate", "zstd"])
@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "iso-8859-15", "windows-1257", "gbk", "iso-2022-jp"])
def test_bytes_of_an_avro_record_are_read_by_its_charset_and_its_coding(charset, coding, answers):
    text = {"iso-8859-15": "5 €", "windows-1257": "Kėdainiai", "gbk": "中", "iso-2022-jp": "日"}.get(
        charset, "ß"
    )
    body = f"<!doctype html><p>{text}".encode(charset)
    compress = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}.get(
        coding, bytes
    )
    media_type = f"text/html; charset={charset}"
    record = {
        "url": URL.decode(),
        "html": compress(body),
        "content_type": media_type,
        "content_encoding": coding,
    }
    (page,) = answers.decode(framed(12, avro(record, ANSWER)))
    assert page.html.decode() == f"<!doctype html><p>{text}"


def test_bytes_of_an_avro_record_that_are_no_page_are_skipped(answers):
    record = {"url": URL.decode(), "html": b"\xff\xd8\xff\xe0", "content_type": "text/html"}
    (skipped,) = answers.decode(framed(12, avro(record | {"content_encoding": None}, ANSWER)))
    assert skipped == Skipped(SkipReason.NOT_HTML, "a JPEG image", URL.decode())


@pytest.mark.parametrize(
    ("schema_id", "content", "schema"), [(10, "<p>ж", "string"), (11, b"<p>\xd6", "bytes")]
)
def test_a_bare_avro_string_is_the_value_itself(schema_id, content, schema):
    expected = content.encode() if isinstance(content, str) else content
    assert unframe(framed(schema_id, avro(content, {"type": schema})), REGISTRY).value == expected


@pytest.mark.parametrize("header", [b"\0\0\0\0\x07", b"\x01" + GUID.bytes])
def test_the_schema_may_stand_in_a_header_beside_the_bare_value(header):
    message = Message(None, avro(RECORD), ((SCHEMA_HEADER, header),))
    assert json.loads(unframe(message, REGISTRY).value)["status"] == 200


def test_a_bare_json_value_beside_a_header_stays_as_it_is():
    message = Message(None, b'{"url": 1}', ((SCHEMA_HEADER, b"\x01" + GUID.bytes),))
    assert unframe(message, None) == message


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\0",
        b"\0\0\0\0\x07",
        b"\0\0\0\0\0payload",
        b"<p>",
        '<!doctype html><p>"'.encode("utf-16-be"),
        "\n<html>".encode("utf-16-be"),
        "\xa0<html>".encode("utf-16-be"),
        b"\0<html><p>after a null byte",
    ],
)
def test_what_has_no_frame_is_left_alone(value):
    message = Message(b"key", value)
    assert unframe(message, REGISTRY) is message


@pytest.mark.parametrize(
    ("message", "registry", "reason", "detail"),
    [
        (framed(7, avro(RECORD)), None, BrokenReason.UNKNOWN_SCHEMA, "--schema-registry"),
        (framed(6, avro(RECORD)), REGISTRY, BrokenReason.UNKNOWN_SCHEMA, "ids/6"),
        (framed(9, b"\x0a\x03abc"), REGISTRY, BrokenReason.UNKNOWN_SCHEMA, "PROTOBUF"),
        (framed(7, avro(RECORD)[:-1]), REGISTRY, BrokenReason.MALFORMED_MESSAGE, "not of Avro schema ids/7"),
        (framed(7, avro(RECORD) + b"x"), REGISTRY, BrokenReason.MALFORMED_MESSAGE, "goes on"),
        (
            Message(None, b"x", ((SCHEMA_HEADER, b"7"),)),
            REGISTRY,
            BrokenReason.MALFORMED_MESSAGE,
            "holds b'7'",
        ),
    ],
)
def test_what_cannot_be_unframed_is_broken(message, registry, reason, detail):
    source = Framed(Echo(), registry)
    (broken,) = source.decode(message)
    assert isinstance(broken, Broken)
    assert broken.reason is reason
    assert detail in broken.detail
    assert not source.recognises(message)


URL = b"https://example.org/"
HTML_HEADERS = (("content-type", b"text/html"),)
LIKE_A_FRAME = [
    pytest.param(b"\0\0\0\x18ftypmp42" + bytes(20), id="MP4"),
    pytest.param(b"\0\0\1\0\1\0\x10\x10" + bytes(20), id="ICO"),
    pytest.param(b"\0\1\0\0\0\x0c\0\x80" + bytes(20), id="TTF"),
    *(
        pytest.param(b"\0\0\0\x18" + box + bytes(20), id=box.decode())
        for box in (b"styp", b"moof", b"sidx", b"emsg")
    ),
    pytest.param(
        bytes.fromhex("000001ba 4400040004010189c3f8 000001bb 0012") + bytes(20), id="MPEG-2 program stream"
    ),
    pytest.param(
        bytes.fromhex("000001ba 2100010001 8014b1 000001bb 0009") + bytes(20), id="MPEG-1 program stream"
    ),
    pytest.param(bytes.fromhex("000001b3 16012013ffffe018 000001b5 148a"), id="MPEG-2 video"),
    pytest.param(
        bytes.fromhex("000001b3 16012013ffffe01a") + bytes(range(64)) + bytes.fromhex("000001b8 0008"),
        id="MPEG video with a matrix",
    ),
    pytest.param(
        bytes.fromhex("00000001 6764001facd9405005bb011000000300100000030320f18319 60 00000001 68ebecb22c"),
        id="H.264 video",
    ),
    pytest.param(
        bytes.fromhex("00000001 09f0 00000001 6742c01ed900a03da1000003000100 00000168ce3880"),
        id="H.264 video with a delimiter",
    ),
    pytest.param(bytes.fromhex("00000001 40010c01ffff01600000030090000003000003005dac09"), id="H.265 video"),
    pytest.param(
        bytes.fromhex("00000100 2c01 1010000001002000 68040000 c6120000") + bytes(20), id="300 icons"
    ),
]


class Unasked:
    def schema(self, reference: str) -> RegisteredSchema:
        raise AssertionError(reference)


@pytest.mark.parametrize("value", LIKE_A_FRAME)
@pytest.mark.parametrize(
    ("name", "headers"),
    [
        ("html", ()),
        ("html", HTML_HEADERS),
        ("auto", ()),
        ("auto", HTML_HEADERS),
        ("auto", (("content-type", b"video/mp4"),)),
        ("auto", (("content-type", b"application/octet-stream"),)),
    ],
)
def test_a_page_that_begins_like_a_frame_asks_no_registry(name, headers, value, monkeypatch):
    monkeypatch.setattr(sources, "SchemaRegistry", lambda _: Unasked())
    source = open_source(name, SourceSettings(schema_registry="http://127.0.0.1:1"))
    (skipped,) = source.decode(Message(URL, value, headers))
    assert skipped.reason is SkipReason.NOT_HTML


@pytest.mark.parametrize("value", LIKE_A_FRAME)
def test_what_is_no_message_of_a_format_asks_no_registry(value, monkeypatch):
    monkeypatch.setattr(sources, "SchemaRegistry", lambda _: Unasked())
    source = open_source("json", SourceSettings(schema_registry="http://127.0.0.1:1"))
    (broken,) = source.decode(Message(URL, value))
    assert broken.reason is BrokenReason.WRONG_FORMAT


@pytest.mark.parametrize("number", [1, 6246, 65_536, 65_537, 65_580, 100_001, 111_382, 113_188, 131_072])
def test_a_frame_is_none_of_the_files_that_begin_like_it(number):
    for content in ("https://a.example/", ""):
        assert other_format(framed(number, avro(content, "string")).value) is None


@pytest.mark.parametrize("headers", [(), HTML_HEADERS])
def test_a_framed_page_is_read_where_every_value_is_said_to_be_framed(headers, monkeypatch):
    monkeypatch.setattr(sources, "SchemaRegistry", lambda _: REGISTRY)
    framed_settings = SourceSettings(schema_registry="http://127.0.0.1:1", framed=True)
    message = replace(framed(11, avro(b"<p>text", {"type": "bytes"})), key=URL, headers=headers)
    (page,) = open_source("html", framed_settings).decode(message)
    assert (page.url, page.html) == (URL.decode(), b"<p>text")
    (skipped,) = open_source("html", replace(framed_settings, framed=False)).decode(message)
    assert skipped.reason is SkipReason.NOT_HTML


@pytest.mark.parametrize(
    "value", [b"<html><p>", b'{"url": "https://example.org/", "html": "<p>"}', b"\0\0\0\0\7"]
)
def test_a_value_without_a_frame_is_a_dead_letter_where_every_value_is_said_to_be_framed(value):
    (broken,) = open_source("auto", SourceSettings(framed=True)).decode(Message(URL, value))
    assert broken == Broken(
        BrokenReason.WRONG_FORMAT, "it has no frame of a schema registry, despite --framed"
    )


def test_json_in_a_frame_is_read_whatever_the_headers_say():
    value = b'\0\0\0\0\7{"url": "https://example.org/", "html": "<p>text"}'
    for headers in ((), HTML_HEADERS, (("content-type", b"application/json"),)):
        (page,) = open_source("auto", SourceSettings()).decode(Message(URL, value, headers))
        assert page.html == b"<p>text"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (framed(7, avro(RECORD)), True),
        (framed(5, b'{"url": 1}'), True),
        (Message(None, b"x", ((SCHEMA_HEADER, b"\0\0\0\0\x08"),)), True),
        (framed(6, avro(RECORD)), False),
        (framed(503, avro(RECORD)), False),
        (Message(None, b"<p>"), False),
        (Message(b"key", None), False),
    ],
)
def test_a_frame_is_one_if_what_is_in_it_can_be_read(message, expected):
    assert is_framed(message, REGISTRY) is expected


def test_the_source_sees_the_bare_message():
    source = Framed(Echo(), REGISTRY)
    assert source.name == "echo"
    assert source.recognises(framed(7, avro(RECORD)))
    assert source.decode(framed(5, b"{}")) == [RawPage("http://example.org/", b"{}")]


def test_the_fields_of_an_avro_record_are_read_as_those_of_a_json_object():
    fields = (("url", "url"), ("html", "html"), ("status", "status"), ("fetched_at", "fetched"))
    source = Framed(JsonFields(1000, fields), REGISTRY)
    assert source.recognises(framed(7, avro(RECORD)))
    (page,) = source.decode(framed(7, avro(RECORD)))
    assert (page.url, page.html.decode()) == (RECORD["url"], "<meta charset=koi8-r><p>Привет")
    assert page.fetched_at == RECORD["fetched"]


def test_a_registry_that_is_away_leaves_the_message_to_be_tried_again():
    with pytest.raises(UnavailableError):
        Framed(Echo(), REGISTRY).decode(framed(503, avro(RECORD)))


@given(st.binary(max_size=60), st.integers(0, 60), st.binary(max_size=4))
def test_whatever_the_value_it_has_one_outcome(value, cut, inserted):
    source = Framed(Echo(), REGISTRY)
    good = framed(7, avro(RECORD)).value
    assert len(source.decode(Message(None, value))) == 1
    assert len(source.decode(Message(None, b"\0\0\0\0\x07" + value))) == 1
    assert len(source.decode(Message(None, good[:cut] + inserted + good[cut + len(inserted) :]))) == 1
