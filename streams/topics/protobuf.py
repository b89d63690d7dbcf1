"""Documents in protobuf, by a schema that is made of their types."""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import Message

from dehusk.schemas.documents import OPTIONAL_FIELDS, CleanedDocument

PACKAGE = "dehusk"
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


class ProtobufDocuments:
    """Reader and writer of documents by the text of a schema."""

    def __init__(self, schema: str) -> None:
        pool = descriptor_pool.DescriptorPool()
        pool.Add(proto_file(field_numbers(schema)))
        kind = pool.FindMessageTypeByName(f"{PACKAGE}.{CleanedDocument.__name__}")
        self._message = message_factory.GetMessageClass(kind)

    def write(self, document: CleanedDocument) -> bytes:
        """Return a document as a message."""
        return bytes(json_format.ParseDict(document.to_dict(), self._message()).SerializeToString())

    def read(self, message: bytes) -> dict[str, Any]:
        """Return the fields of a document by name; those of a newer schema are left out.

        Raises:
            google.protobuf.message.DecodeError: it is no message.
        """
        return _named(self._message.FromString(message))


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


def parts_of(hint: Any) -> tuple[Any, bool]:  # noqa: ANN401 of any type
    """Return the type of a field, and True if it may be null; a day or a time is text."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [part for part in parts if part is not NoneType]
    return kinds[0], NoneType in parts


def _add_field(message: Any, name: str, number: int, hint: Any) -> Any:  # noqa: ANN401 of any type
    """Add a field to the description of a message; return the dataclass that it holds, if it does."""
    kind, is_nullable = parts_of(hint)
    field = message.field.add(name=name, number=number, label=_FIELD.LABEL_OPTIONAL)
    if get_origin(kind) is tuple:
        kind, field.label = get_args(kind)[0], _FIELD.LABEL_REPEATED
    if is_dataclass(kind):
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".{PACKAGE}.{getattr(kind, '__name__', '')}"
        return kind
    field.type = _PLAIN[kind]
    if is_nullable and field.label != _FIELD.LABEL_REPEATED:
        field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")
    return None


def _named(message: Any) -> dict[str, Any]:  # noqa: ANN401 protobuf has no types
    """Return the fields of a message by name; null stands for what is not there."""
    return {field.name: _value(message, field) for field in message.DESCRIPTOR.fields}


def _value(message: Any, field: Any) -> object:  # noqa: ANN401 protobuf has no types
    value = getattr(message, field.name)
    if not isinstance(value, str | int | float | Message):  # it is repeated
        items = [_named(item) if field.message_type else item for item in value]
        return items or (None if field.name in OPTIONAL_FIELDS else [])
    if field.has_presence and not message.HasField(field.name):
        return None
    return _named(value) if field.message_type else value
