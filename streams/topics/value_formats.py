"""Values of documents by a schema of a registry: JSON, Avro or protobuf, in Confluent's wire format.

A frame is a zero, the number of the schema in four bytes and, for protobuf, another zero: the first message
of the schema. Schemas are the files of `schemas/registry/`. Fields and their texts are those of the JSON of
documents, so a value that is read gives the same JSON again.
"""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, datetime
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import fastavro
import orjson
from fastavro.types import Schema as AvroSchema
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as ProtobufMessage

import dehusk.schemas
from dehusk.schemas.documents import OPTIONAL_FIELDS, CleanedDocument, origin_of
from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.settings import ValueFormat
from dehusk.streams.sources.envelopes import unframe
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.topics.formats import Format

NO_REGISTRY = "--value-format needs --schema-registry, the address of the registry that its schema is kept in"
NO_SCHEMA = "--value-format is for --format document, as other formats have no schema"
FOLDER = Path(dehusk.schemas.__file__).parent / "registry"
PACKAGE = "dehusk"
_PROTOBUF = "application/x-protobuf"
_PROTOBUF_FRAME_BYTES = 6
_FIELD = descriptor_pb2.FieldDescriptorProto
_PLAIN = {
    str: _FIELD.TYPE_STRING,
    date: _FIELD.TYPE_STRING,
    datetime: _FIELD.TYPE_STRING,
    int: _FIELD.TYPE_INT64,
    float: _FIELD.TYPE_DOUBLE,
    bool: _FIELD.TYPE_BOOL,
}
"""Types of fields; times are text, as in JSON."""
_LINE = re.compile(r"^message (\w+) \{$|^  .*?(\w+) = (\d+);$", re.MULTILINE)
Numbers = Mapping[tuple[str, str], int]
"""Numbers of protobuf's fields, by message and name."""


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
            message = json_format.ParseDict(document.to_dict(), _protobuf_message()())
            return frame + b"\0" + bytes(message.SerializeToString())
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


def field_numbers(text: str) -> dict[tuple[str, str], int]:
    """Return the numbers of the fields in the text of a schema, as `proto_text` writes it."""
    numbers, message = {}, ""
    for name, field, number in _LINE.findall(text):
        if name:
            message = name
        else:
            numbers[message, field] = int(number)
    return numbers


def proto_file(numbers: Numbers) -> Any:  # noqa: ANN401 protobuf has no types
    """Return protobuf's description of documents, by their types; fields without a number get the next."""
    file = descriptor_pb2.FileDescriptorProto(name="cleaned-document.proto", package=PACKAGE, syntax="proto3")
    kinds = [CleanedDocument]
    for kind in kinds:  # which grows meanwhile
        message = file.message_type.add(name=kind.__name__)
        hints = get_type_hints(kind)
        used = {number for (name, _), number in numbers.items() if name == kind.__name__}
        for field in fields(kind):
            number = numbers.get((kind.__name__, field.name)) or max(used, default=0) + 1
            used.add(number)
            nested = _add_field(message, field.name, number, hints[field.name])
            if nested is not None and nested not in kinds:
                kinds.append(nested)
    return file


def _add_field(message: Any, name: str, number: int, hint: Any) -> Any:  # noqa: ANN401 of any type
    """Add a field to the description of a message; return the dataclass that it holds, if it does."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [part for part in parts if part is not NoneType]
    kind = datetime if datetime in kinds else kinds[0]
    field = message.field.add(name=name, number=number, label=_FIELD.LABEL_OPTIONAL)
    if get_origin(kind) is tuple:
        kind, field.label = get_args(kind)[0], _FIELD.LABEL_REPEATED
    if is_dataclass(kind):
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".{PACKAGE}.{getattr(kind, '__name__', '')}"
        return kind
    field.type = _PLAIN[kind]
    if NoneType in parts and field.label != _FIELD.LABEL_REPEATED:
        field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")
    return None


@cache
def _protobuf_message() -> Any:  # noqa: ANN401 protobuf has no types
    """Return the class of documents as messages of protobuf."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto_file(field_numbers(DESCRIBED[ValueFormat.PROTOBUF].schema)))
    kind = pool.FindMessageTypeByName(f"{PACKAGE}.{CleanedDocument.__name__}")
    return message_factory.GetMessageClass(kind)


def _read_protobuf(value: bytes) -> dict[str, Any]:
    """Read a document; fields of a newer schema are left out.

    Raises:
        PageError: it is none.
    """
    try:
        if value[_PROTOBUF_FRAME_BYTES - 1 : _PROTOBUF_FRAME_BYTES] != b"\0":
            raise ValueError("it is not the first message of its schema")  # noqa: TRY301
        return _named(_protobuf_message().FromString(value[_PROTOBUF_FRAME_BYTES:]))
    except (DecodeError, ValueError) as error:
        detail = f"the value is no document in protobuf: {error}"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error


def _named(message: Any) -> dict[str, Any]:  # noqa: ANN401 protobuf has no types
    """Return the fields of a message by name; null stands for what is not there."""
    return {field.name: _value(message, field) for field in message.DESCRIPTOR.fields}


def _value(message: Any, field: Any) -> object:  # noqa: ANN401 protobuf has no types
    value = getattr(message, field.name)
    if not isinstance(value, str | int | float | ProtobufMessage):  # it is repeated
        items = [_named(item) if field.message_type else item for item in value]
        return items or (None if field.name in OPTIONAL_FIELDS else [])
    if field.has_presence and not message.HasField(field.name):
        return None
    return _named(value) if field.message_type else value
