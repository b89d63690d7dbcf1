"""Values of documents by a schema of a registry: JSON, Avro or protobuf, in Confluent's wire format.

A frame is a zero, the number of the schema in four bytes and, for protobuf, another zero: the first message
of the schema. Schemas are the files of `schemas/registry/`. Fields and their texts are those of the JSON of
documents, so a value that is read gives the same JSON again.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import fastavro
import orjson
from fastavro.types import Schema as AvroSchema
from google.protobuf.message import DecodeError

import dehusk.schemas
from dehusk.schemas.documents import OPTIONAL_FIELDS, CleanedDocument, origin_of
from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.settings import ValueFormat
from dehusk.streams.sources.envelopes import unframe
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.topics.formats import Format
from dehusk.streams.topics.protobuf import ProtobufDocuments

NO_REGISTRY = "--value-format needs --schema-registry, the address of the registry that its schema is kept in"
NO_SCHEMA = "--value-format is for --format document, as other formats have no schema"
FOLDER = Path(dehusk.schemas.__file__).parent / "registry"
_PROTOBUF = "application/x-protobuf"
_PROTOBUF_FRAME_BYTES = 6


@dataclass(frozen=True, slots=True)
class Described:
    """A value format that has a schema."""

    language: str
    """Language of the schema, as registries name it."""
    content_type: str
    file: Path

    @property
    def schema(self) -> str:
        """The schema, as it is registered."""
        return self.file.read_text()


DESCRIBED: Mapping[ValueFormat, Described] = {
    ValueFormat.JSON_SCHEMA: Described(
        "JSON", "application/schema-instance+json", FOLDER / "cleaned-document.json"
    ),
    ValueFormat.AVRO: Described("AVRO", "application/avro", FOLDER / "cleaned-document.avsc"),
    ValueFormat.PROTOBUF: Described("PROTOBUF", _PROTOBUF, FOLDER / "cleaned-document.proto"),
}


@dataclass(frozen=True, slots=True)
class FramedWriter:
    """Writer of documents by a registered schema."""

    value_format: ValueFormat
    schema_id: int

    def __call__(self, document: CleanedDocument) -> bytes:
        """Return the framed value."""
        frame = b"\0" + self.schema_id.to_bytes(4)
        if self.value_format is ValueFormat.AVRO:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, _avro_schema(), document.to_dict())
            return frame + out.getvalue()
        if self.value_format is ValueFormat.PROTOBUF:
            return frame + b"\0" + _protobuf().write(document)
        return frame + document.to_json_bytes()


def framed_format(value_format: ValueFormat, schema_id: int) -> Format:
    """Return the format of documents by the schema that a registry knows by a number."""
    return Format(DESCRIBED[value_format].content_type, FramedWriter(value_format, schema_id))


def in_json(document: Message, registry: SchemaRegistry | None) -> Message:
    """Return the message of a document with its value in JSON, whatever the format that a worker wrote it in.

    Avro's values alone need the registry. A value that has no frame stays as it is.

    Raises:
        PageError: the value cannot be read, or needs a registry and has none.
        UnavailableError: the registry is unavailable.
    """
    value = document.value
    if not value or not value.startswith(b"\0"):
        return document
    try:
        if document.header("content-type") == _PROTOBUF.encode():
            return replace(document, value=_in_json(_read_protobuf(value)))
        bare = unframe(document, registry)
        if document.header("content-type") != DESCRIBED[ValueFormat.AVRO].content_type.encode():
            return bare
        return replace(document, value=_in_json(orjson.loads(bare.value or b"")))
    except PageError as error:
        raise PageError(error.reason, f"{origin_of(document)}: {error}") from error
    except (ValueError, AttributeError) as error:  # the value of another schema
        detail = f"{origin_of(document)}: the value is no document in Avro"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error


def _in_json(named: dict[str, Any]) -> bytes:
    """Return the JSON of a document as `CleanedDocument` writes it."""
    for name in OPTIONAL_FIELDS:
        if named.get(name) is None:
            named.pop(name, None)
    return orjson.dumps(named)


@cache
def _avro_schema() -> AvroSchema:
    return fastavro.parse_schema(orjson.loads(DESCRIBED[ValueFormat.AVRO].schema))


@cache
def _protobuf() -> ProtobufDocuments:
    return ProtobufDocuments(DESCRIBED[ValueFormat.PROTOBUF].schema)


def _read_protobuf(value: bytes) -> dict[str, Any]:
    """Return the fields of a document by name.

    Raises:
        PageError: it is none.
    """
    try:
        if value[_PROTOBUF_FRAME_BYTES - 1 : _PROTOBUF_FRAME_BYTES] != b"\0":
            raise ValueError("it is not the first message of its schema")  # noqa: TRY301
        return _protobuf().read(value[_PROTOBUF_FRAME_BYTES:])
    except (DecodeError, ValueError) as error:
        detail = f"the value is no document in protobuf: {error}"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error
