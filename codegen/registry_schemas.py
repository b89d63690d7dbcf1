"""`schemas/registry/`: the schemas of documents for a schema registry, from their types.

A newer one reads what older ones wrote (BACKWARD), as long as fields are only added, each with a default: it
has it in Avro, is not required in JSON Schema, and has a number of its own in protobuf. Numbers are those of
the file, so a field that is gone leaves a gap. Descriptions are left out: a registry would take
each for a new version.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from typing import Any, get_args, get_origin, get_type_hints

from google.protobuf import descriptor_pb2

from codegen.json_schemas import OPTIONAL
from dehusk.schemas.documents import CleanedDocument
from dehusk.streams.settings import ValueFormat
from dehusk.streams.topics.protobuf import PACKAGE, field_numbers, parts_of, proto_file
from dehusk.streams.topics.value_formats import DESCRIBED, FOLDER

_AVRO = {str: "string", int: "long", float: "double", bool: "boolean", date: "string", datetime: "string"}
_JSON = {str: "string", int: "integer", float: "number", bool: "boolean", date: "string", datetime: "string"}
_TYPE = descriptor_pb2.FieldDescriptorProto


def schemas() -> dict[str, str]:
    """Return the text of each file of `FOLDER`, by its name."""
    proto = DESCRIBED[ValueFormat.PROTOBUF].file
    numbers = field_numbers(proto.read_text()) if proto.exists() else {}
    draft = {"$schema": "http://json-schema.org/draft-07/schema#", "title": CleanedDocument.__name__}
    texts: Mapping[ValueFormat, str] = {
        ValueFormat.JSON_SCHEMA: json.dumps(draft | _json_object(CleanedDocument), indent=2) + "\n",
        ValueFormat.AVRO: json.dumps(_avro_record(CleanedDocument, set()), indent=2) + "\n",
        ValueFormat.PROTOBUF: proto_text(proto_file(numbers)),
    }
    return {DESCRIBED[value_format].file.name: text for value_format, text in texts.items()}


def write() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in schemas().items():
        (FOLDER / name).write_text(text)


def _avro_record(kind: Any, known: set[str]) -> dict[str, Any]:  # noqa: ANN401 a dataclass
    known.add(kind.__name__)
    hints = get_type_hints(kind)
    named = {"type": "record", "name": kind.__name__}
    space = {"namespace": PACKAGE} if kind is CleanedDocument else {}
    return (
        named | space | {"fields": [_avro_field(field, hints[field.name], known) for field in fields(kind)]}
    )


def _avro_field(field: Field[Any], hint: Any, known: set[str]) -> dict[str, Any]:  # noqa: ANN401 of any type
    kind, is_nullable = parts_of(hint)
    if is_nullable:
        return {"name": field.name, "type": ["null", _avro_type(kind, known)], "default": None}
    default = {} if field.default is MISSING else {"default": field.default or _empty(kind, field.default)}
    return {"name": field.name, "type": _avro_type(kind, known), **default}


def _empty(kind: Any, default: Any) -> Any:  # noqa: ANN401 of any type
    return [] if get_origin(kind) is tuple else default


def _avro_type(kind: Any, known: set[str]) -> Any:  # noqa: ANN401 of any type
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _avro_type(get_args(kind)[0], known)}
    if is_dataclass(kind):
        name = getattr(kind, "__name__", "")
        return name if name in known else _avro_record(kind, known)
    return _AVRO[kind]


def _json_object(kind: Any) -> dict[str, Any]:  # noqa: ANN401 a dataclass
    """Return the schema of a dataclass, of which nothing is required that has a default."""
    hints = get_type_hints(kind)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [field.name for field in fields(kind) if field.init and field.default is MISSING],
        "properties": {
            field.name: _json_type(hints[field.name], f"{kind.__name__}.{field.name}")
            for field in fields(kind)
        },
    }


def _json_type(hint: Any, path: str = "") -> dict[str, Any]:  # noqa: ANN401 of any type
    kind, is_nullable = parts_of(hint)
    if get_origin(kind) is tuple:
        schema = {"type": "array", "items": _json_type(get_args(kind)[0])}
    elif is_dataclass(kind):
        schema = _json_object(kind)
    else:
        schema = {"type": _JSON[kind]}
    if not is_nullable or path in OPTIONAL:
        return schema
    if is_dataclass(kind):
        return {"oneOf": [{"type": "null"}, schema]}
    return schema | {"type": ["null", schema["type"]]}


def proto_text(file: Any) -> str:  # noqa: ANN401 protobuf has no types
    """Return a description of protobuf in its own language."""
    lines = [f'syntax = "{file.syntax}";', f"package {file.package};"]
    for message in file.message_type:
        lines += ["", f"message {message.name} {{", *map(_proto_line, message.field), "}"]
    return "\n".join(lines) + "\n"


def _proto_line(field: Any) -> str:  # noqa: ANN401 protobuf has no types
    kind = field.type_name.rpartition(".")[2] or _TYPE.Type.Name(field.type).removeprefix("TYPE_").lower()
    label = "repeated " if field.label == _TYPE.LABEL_REPEATED else ""
    label = "optional " if field.proto3_optional else label
    return f"  {label}{kind} {field.name} = {field.number};"
