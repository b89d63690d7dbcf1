"""Avro values, checked by their schema before they are read: a few bytes can claim billions of items."""

import io
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, repeat
from typing import Any

import fastavro
import orjson
from fastavro.types import Schema as AvroSchema

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason

_MAX_DEPTH = 100
"""Values within each other; the compiled reader knows no limit, and dies of too many."""
_MAX_VARINT = 10
"""Bytes of a number of 64 bits."""
_FREE = 1_000
"""Values without bytes that any record may have; of more, each has to be paid for by a byte."""
_OF_CHARSETS = b"\0\x1b"
"""Bytes that UTF-16 and ISO-2022-JP are told by, which can be valid UTF-8."""
_FIXED_BYTES = {"null": 0, "boolean": 1, "float": 4, "double": 8}


def read_avro(value: bytes, schema: AvroSchema, reference: str) -> bytes:
    """Return the bare value of an Avro record: bytes and strings as they are, everything else as JSON.

    Raises:
        PageError: the value is not of the schema, or claims to hold more than it does.
    """
    try:
        end = _Checker(value, schema).skip(schema)
        if end < len(value):
            raise ValueError(f"it goes on after a record, for {len(value) - end:,} bytes")  # noqa: TRY301
        bare = _bare(fastavro.schemaless_reader(io.BytesIO(value), schema, None))
    except MemoryError:
        raise
    except Exception as error:  # fastavro documents no common base of what bad bytes raise
        detail = f"the value is not of Avro schema {reference}: {error or type(error).__name__}"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error
    return bare


class _Checker:
    """Validator of a value's length: arrays may not claim more items than the value has bytes."""

    def __init__(self, value: bytes, schema: AvroSchema) -> None:
        self._value = value
        self._at = 0
        self._items = len(value)
        """Number of items that arrays and maps may still have."""
        self._empty = len(value) + _FREE
        """Number of values without bytes that may still come, as nulls are."""
        self._named = dict(_definitions(schema))

    def skip(self, schema: AvroSchema, depth: int = 0) -> int:
        """Return the place after the value of a schema.

        Raises:
            ValueError: the value cannot be of the schema.
        """
        if depth > _MAX_DEPTH:
            raise ValueError(f"it nests deeper than {_MAX_DEPTH} values")
        if isinstance(schema, list):
            branch = self._number()
            if not 0 <= branch < len(schema):
                raise ValueError(f"branch {branch} of a union of {len(schema)}")
            return self.skip(schema[branch], depth + 1)
        full = {"type": schema} if isinstance(schema, str) else schema
        if not isinstance(full["type"], str):
            return self.skip(full["type"], depth + 1)
        begin = self._at
        self._skip_type(full, depth)
        if self._at == begin:
            self._empty -= 1
            if self._empty < 0:
                raise ValueError(f"more values without bytes than a value of {len(self._value):,} bytes has")
        return self._at

    def _skip_type(self, schema: dict[str, Any], depth: int) -> None:
        match schema["type"]:
            case "int" | "long" | "enum":
                self._number()
            case "bytes" | "string" as kind:
                self._skip_bytes(self._number(), kind)
            case "fixed":
                self._skip_bytes(schema["size"], "fixed")
            case "array":
                self._skip_items((schema["items"],), depth + 1)
            case "map":
                self._skip_items(("string", schema["values"]), depth + 1)
            case "record" | "error":
                for field in schema["fields"]:
                    self.skip(field["type"], depth + 1)
            case kind if kind in _FIXED_BYTES:
                self._skip_bytes(_FIXED_BYTES[kind], kind)
            case name:
                self.skip(self._named[name], depth + 1)

    def _skip_items(self, parts: Sequence[AvroSchema], depth: int) -> None:
        while count := self._number():
            if count < 0:
                self._number()
            count = abs(count)
            if count > self._items:
                raise ValueError(f"{count:,} items in a value of {len(self._value):,} bytes")
            self._items -= count
            for part in chain.from_iterable(repeat(parts, count)):
                self.skip(part, depth)

    def _skip_bytes(self, count: int, kind: str) -> None:
        left = len(self._value) - self._at
        if not 0 <= count <= left:
            raise ValueError(f"{count:,} bytes of {kind} where {left:,} are left")
        self._at += count

    def _number(self) -> int:
        """Read a number in zig-zag encoding."""
        number = 0
        for place, byte in enumerate(self._value[self._at : self._at + _MAX_VARINT]):
            number |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                self._at += place + 1
                return (number >> 1) ^ -(number & 1)
        raise ValueError("it ends within a number")


def _definitions(schema: AvroSchema) -> Iterator[tuple[str, AvroSchema]]:
    """Yield the types that a parsed schema names, with their names."""
    if isinstance(schema, list):
        for branch in schema:
            yield from _definitions(branch)
    elif isinstance(schema, dict):
        yield from schema.get("__named_schemas", {}).items()
        if schema["type"] in ("record", "error", "enum", "fixed"):
            yield schema["name"], schema
        for part in (*schema.get("fields", ()), schema.get("items"), schema.get("values"), schema["type"]):
            yield from _definitions(part)


def _bare(content: object) -> bytes:
    if isinstance(content, str):
        return content.encode()
    return content if isinstance(content, bytes) else orjson.dumps(content, default=_json_form)


def _json_form(value: object) -> str:
    """Convert a value JSON cannot hold: bytes of UTF-8 to text, others to a `data:` URL, all else by `str`.

    A page in another charset, or compressed, is read by what the fields beside it say.
    """
    if not isinstance(value, bytes):
        return str(value)
    if not any(byte in value for byte in _OF_CHARSETS):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return f"data:text/html;base64,{b64encode(value).decode()}"
