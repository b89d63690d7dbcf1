"""The Confluent wire format: a schema id before the value, or in a header beside a bare value.

It frames a value of any format: a framed message is unframed first and then recognised and read
like any other. An Avro record goes on as the JSON object of the same fields.
"""

import io
import uuid
from collections.abc import Sequence
from dataclasses import replace

import fastavro
import orjson
from fastavro.types import Schema as AvroSchema

from dehusk.schemas.errors import PageError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.encoding import decode_html
from dehusk.streams.sources.html import is_answer
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.sources.source import Decoded, Record, Source, without_value

HEADER = "__value_schema_id"
_FRAME_BYTES = 5
MAX_ID = 0x09000000
"""Registries count schemas from 1; a larger number is text: a page in UTF-16BE, or one after a NUL."""


class Framed:
    """A source whose messages may be framed.

    Where the schema registry does not answer, `decode` raises UnavailableError: nothing is wrong
    with the message, and decoding it again later gives the page.
    """

    def __init__(
        self, source: Source, registry: SchemaRegistry | None, *, every: bool = False, guesses: bool = True
    ) -> None:
        """A source whose `every` value is framed, or which `guesses` from the first bytes that one is."""
        self._source = source
        self._registry = registry
        self._every = every
        self._guesses = guesses
        self.name = source.name

    def recognises(self, message: Message) -> bool:
        """Whether the source recognises the unframed message."""
        try:
            return self._source.recognises(self._bare(message))
        except PageError:
            return False

    def decode(self, message: Message) -> Sequence[Decoded]:
        """What the source makes of the unframed message; what a message without a value says."""
        nothing = without_value(message)
        if nothing is not None:
            return [nothing]
        try:
            bare = self._bare(message)
        except PageError as error:
            return [Broken(error.reason, str(error))]
        return self._source.decode(bare)

    def encode(self, page: RawPage) -> Record:
        """The record of the source, without a frame."""
        return self._source.encode(page)

    def _bare(self, message: Message) -> Message:
        """The message without its frame; a page that only begins like one stays as it is."""
        if not self._every:
            return unframe(message, self._registry) if self._may_be_framed(message) else message
        bare = unframe(message, self._registry)
        if bare is message:
            raise PageError(
                BrokenReason.WRONG_FORMAT, "it has no frame of a schema registry, despite --framed"
            )
        return bare

    def _may_be_framed(self, message: Message) -> bool:
        """Whether a header tells so, or JSON behind the first bytes, or nothing tells of another value."""
        value = message.value or b""
        if message.header(HEADER) is not None:
            return True
        if not value.startswith(b"\0"):
            return False
        is_page = is_answer(message) or self._source.recognises(message)
        return _is_json_object(value[_FRAME_BYTES:]) or (self._guesses and not is_page)


def is_framed(message: Message, registry: SchemaRegistry | None) -> bool:
    """Whether the message has a frame, and what is in it can be read."""
    try:
        return unframe(message, registry) is not message
    except (PageError, UnavailableError):
        return False


def unframe(message: Message, registry: SchemaRegistry | None) -> Message:
    """The message with its bare value; the message itself where it has no frame.

    Raises PageError where the value cannot be read, UnavailableError where the registry is unavailable.
    """
    if message.value is None:
        return message
    reference, value = _frame(message.header(HEADER), message.value)
    if reference is None:
        return message
    return replace(message, value=value if _is_json_object(value) else _read(value, reference, registry))


def _frame(header: bytes | None, value: bytes) -> tuple[str | None, bytes]:
    """The registry's name of the schema (None without a frame) and the value without it."""
    if header is not None:
        return _reference(header), value
    number = int.from_bytes(value[1:5])
    if value[:1] == b"\0" and len(value) > _FRAME_BYTES and 0 < number < MAX_ID:
        return f"ids/{number}", value[_FRAME_BYTES:]
    return None, value


def _reference(header: bytes) -> str:
    if len(header) == 5 and header[0] == 0:
        return f"ids/{int.from_bytes(header[1:])}"
    if len(header) == 17 and header[0] == 1:
        return f"guids/{uuid.UUID(bytes=header[1:])}"
    raise PageError(BrokenReason.MALFORMED_MESSAGE, f"header {HEADER} holds {header[:20]!r}")


def _is_json_object(value: bytes) -> bool:
    """Whether the value tells by itself what it is, so that the registry need not be asked.

    No Avro record both begins with `{` (as a length or a branch of a union, a negative number)
    and ends with `}` by anything but a rare chance.
    """
    return value.lstrip()[:1] == b"{" and value.rstrip()[-1:] == b"}"


def _read(value: bytes, reference: str, registry: SchemaRegistry | None) -> bytes:
    if registry is None:
        message = f"the value needs schema {reference}: give --schema-registry"
        raise PageError(BrokenReason.UNKNOWN_SCHEMA, message)
    schema = registry.schema(reference)
    if schema.language == "JSON":
        return value
    if schema.avro is None:
        message = f"schema {reference} is {schema.language}; Avro and JSON are read"
        raise PageError(BrokenReason.UNKNOWN_SCHEMA, message)
    return _read_avro(value, schema.avro, reference)


def _read_avro(value: bytes, schema: AvroSchema, reference: str) -> bytes:
    stream = io.BytesIO(value)
    try:
        content = fastavro.schemaless_reader(stream, schema, None)
        bare = _bare(content)
    except Exception as error:  # fastavro documents no common base of what bad bytes raise
        message = f"the value is not of Avro schema {reference}: {error}"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, message) from error
    if stream.read(1):
        message = f"the value goes on after a record of Avro schema {reference}"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, message)
    return bare


def _bare(content: object) -> bytes:
    """Bytes and strings are the value itself, everything else becomes JSON."""
    if isinstance(content, str):
        return content.encode()
    return content if isinstance(content, bytes) else orjson.dumps(content, default=_json_form)


def _json_form(value: object) -> str:
    """What JSON has no type for: bytes are read as HTML's own rules read a page, the rest is printed."""
    return decode_html(value).html.decode() if isinstance(value, bytes) else str(value)
