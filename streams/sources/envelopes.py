"""Envelopes, in which a message of any format may come: compression and frames of a schema registry.

An envelope is opened first, then the message is recognised and read like any other. Compression of a whole
message is told by its header `content-encoding`, or by the mark of gzip or zstd. A frame is Confluent's wire
format: a schema id before the value, or in a header beside a bare value. An Avro record goes on as the JSON
object of the same fields.
"""

import uuid
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from dehusk.schemas.errors import PageError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.sources.avro import read_avro
from dehusk.streams.sources.compression import coding_of, inflate, is_binary, start_of
from dehusk.streams.sources.html import is_answer
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.sources.sniffing import other_format
from dehusk.streams.sources.source import Decoded, Source, outcome_without_value

_ENCODING_HEADER = "content-encoding"
SCHEMA_HEADER = "__value_schema_id"
_FRAME_BYTES = 5
MAX_ID = 0x09000000
"""Registries count schemas from 1; a larger number is text: a page in UTF-16BE, or one after a NUL."""


class _Envelope(Source):
    """A source whose messages may come in an envelope."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name = source.name

    def recognises(self, message: Message) -> bool:
        """Return True if the source recognises the opened message."""
        try:
            return self._source.recognises(self._open(message))
        except PageError:
            return False

    def decode(self, message: Message) -> Sequence[Decoded]:
        """Decode the opened message by the source; one without a value means the same in any format."""
        outcome = outcome_without_value(message)
        if outcome is not None:
            return [outcome]
        try:
            opened = self._open(message)
        except PageError as error:
            return [Broken(error.reason, str(error))]
        return self._source.decode(opened)

    @abstractmethod
    def _open(self, message: Message) -> Message:
        """Return the message without its envelope, or as it is if it has none.

        Raises:
            PageError: the envelope cannot be opened.
        """


class Compressed(_Envelope):
    """A source whose messages may be compressed as a whole.

    A message that is recognised as it is stays as it is: crawlers also copy the header of an answer whose
    body they inflated.
    """

    def __init__(self, source: Source, max_bytes: int) -> None:
        super().__init__(source)
        self._max_bytes = max_bytes

    def _open(self, message: Message) -> Message:
        encoding = self._encoding(message)
        if encoding is None or not message.value or self._source.recognises(message):
            return message
        value = inflate(message.value, encoding, self._max_bytes)
        if value is message.value:
            return message  # what is compressed may be in base64
        others = tuple(header for header in message.headers if header[0].lower() != _ENCODING_HEADER)
        return replace(message, value=value, headers=others)

    def _encoding(self, message: Message) -> str | None:
        """Return the coding of the header; without one, that of the mark before text or a known format."""
        header = message.header(_ENCODING_HEADER)
        if header is not None:
            return header.decode("utf-8", "replace")
        value = message.value or b""
        start = start_of(value)
        if not start or (is_binary(start) and not self._source.recognises(replace(message, value=start))):
            return None
        return coding_of(value)


class Framed(_Envelope):
    """A source whose messages may be framed.

    If the schema registry does not answer, `decode` raises UnavailableError: nothing is wrong with the
    message, and decoding it again later gives the page.
    """

    def __init__(
        self, source: Source, registry: SchemaRegistry | None, *, every: bool = False, guesses: bool = True
    ) -> None:
        """Take a source whose `every` value is framed, or which `guesses` it from the first bytes."""
        super().__init__(source)
        self._registry = registry
        self._every = every
        self._guesses = guesses

    def _open(self, message: Message) -> Message:
        """Return the message without its frame; a page that only begins like one stays as it is."""
        if not self._every:
            return unframe(message, self._registry) if self._may_be_framed(message) else message
        bare = unframe(message, self._registry)
        if bare is message:
            raise PageError(
                BrokenReason.WRONG_FORMAT, "it has no frame of a schema registry, despite --framed"
            )
        return bare

    def _may_be_framed(self, message: Message) -> bool:
        """Return True if a header or JSON after the first bytes tells so, or the value is nothing else."""
        value = message.value or b""
        if message.header(SCHEMA_HEADER) is not None:
            return True
        if not value.startswith(b"\0"):
            return False
        is_bare = is_answer(message) or other_format(value) or self._source.recognises(message)
        return _is_json_object(value[_FRAME_BYTES:]) or (self._guesses and not is_bare)


def is_framed(message: Message, registry: SchemaRegistry | None) -> bool:
    """Return True if the message has a frame, and what is in it can be read."""
    try:
        return unframe(message, registry) is not message
    except (PageError, UnavailableError):
        return False


def unframe(message: Message, registry: SchemaRegistry | None) -> Message:
    """Return the message with its bare value; the message itself if it has no frame.

    Raises:
        PageError: the value cannot be read.
        UnavailableError: the registry is unavailable.
    """
    if message.value is None:
        return message
    reference, value = _frame(message.header(SCHEMA_HEADER), message.value)
    if reference is None:
        return message
    return replace(message, value=value if _is_json_object(value) else _read(value, reference, registry))


def _frame(header: bytes | None, value: bytes) -> tuple[str | None, bytes]:
    """Return the registry's name of the schema (None without a frame), and the value without it."""
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
    raise PageError(BrokenReason.MALFORMED_MESSAGE, f"header {SCHEMA_HEADER} holds {header[:20]!r}")


def _is_json_object(value: bytes) -> bool:
    """Return True if the value tells by itself what it is, so that the registry need not be asked.

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
    return read_avro(value, schema.avro, reference)
