"""Documents by the schemas of a registry, written and read again."""

import io
import json
from dataclasses import dataclass, replace
from typing import Any

import fastavro
import pytest
from jsonschema import Draft7Validator

from codegen import registry_schemas
from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.errors import PageError
from dehusk.schemas.pages import Message
from dehusk.streams.settings import ValueFormat
from dehusk.streams.sources.schema_registry import RegisteredSchema, SchemaRegistry
from dehusk.streams.topics.protobuf import field_numbers, proto_file
from dehusk.streams.topics.value_formats import (
    DESCRIBED,
    FOLDER,
    FramedWriter,
    framed_format,
    in_json,
)
from tests.documents import BARE, FULL

NUMBER = 300
DOCUMENTS = {"full": FULL, "bare": BARE}


@dataclass
class Registry:
    """Holds the schema of documents in Avro, and counts what it is asked."""

    asked: int = 0

    def schema(self, reference: str) -> RegisteredSchema:
        assert reference == f"ids/{NUMBER}"
        self.asked += 1
        return RegisteredSchema("AVRO", fastavro.parse_schema(json.loads(DESCRIBED[ValueFormat.AVRO].schema)))


def registry() -> SchemaRegistry:
    held: Any = Registry()
    return held


def written(value_format: ValueFormat, document: CleanedDocument) -> Message:
    form = framed_format(value_format, NUMBER)
    headers = (("content-type", form.content_type.encode()),)
    return Message(b"key", form.write(document), headers, "cleaned", 0, 7)


def test_the_schemas_are_those_of_the_types() -> None:
    assert {file.name: file.read_text() for file in FOLDER.iterdir()} == registry_schemas.schemas()


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("value_format", DESCRIBED)
def test_what_is_written_is_read_as_the_same_json(value_format: ValueFormat, name: str) -> None:
    document = DOCUMENTS[name]
    message = written(value_format, document)
    assert message.value is not None
    assert message.value[:5] == b"\0" + NUMBER.to_bytes(4)
    expected = document.to_json_bytes()
    if value_format is ValueFormat.PROTOBUF and document.links == ():
        expected = replace(document, links=None).to_json_bytes()  # protobuf tells no empty list from none
    assert in_json(message, registry()).value == expected


def test_only_avro_needs_the_registry() -> None:
    for value_format in (ValueFormat.JSON_SCHEMA, ValueFormat.PROTOBUF):
        assert in_json(written(value_format, FULL), None).value == FULL.to_json_bytes()
    with pytest.raises(PageError, match=r"cleaned/0/7: .*give --schema-registry"):
        in_json(written(ValueFormat.AVRO, FULL), None)


def test_what_has_no_frame_stays_as_it_is() -> None:
    for value in (None, b"", b"{}", b"# Markdown"):
        message = Message(b"key", value)
        assert in_json(message, None) is message


@pytest.mark.parametrize("value_format", [ValueFormat.AVRO, ValueFormat.PROTOBUF])
@pytest.mark.parametrize("keep", [1, 5, 6, 40])
def test_what_is_cut_short_is_no_document(value_format: ValueFormat, keep: int) -> None:
    message = written(value_format, FULL)
    assert message.value is not None
    with pytest.raises(PageError, match="cleaned/0/7"):
        in_json(replace(message, value=message.value[:keep] + b"\xff"), registry())


def test_a_document_is_valid_by_its_json_schema() -> None:
    schema = json.loads(DESCRIBED[ValueFormat.JSON_SCHEMA].schema)
    Draft7Validator.check_schema(schema)
    for document in DOCUMENTS.values():
        Draft7Validator(schema).validate(document.to_dict())


def test_fields_of_older_schemas_keep_their_numbers() -> None:
    numbers = field_numbers(DESCRIBED[ValueFormat.PROTOBUF].schema)
    assert numbers["CleanedDocument", "text"] == 6
    gone = {("CleanedDocument", "gone"): 99, **numbers}
    del gone["CleanedDocument", "text"]
    (document, *_) = proto_file(gone).message_type
    found = {field.name: field.number for field in document.field}
    assert found.pop("text") == 100
    assert (
        found.items()
        <= {name: number for (kind, name), number in numbers.items() if kind == "CleanedDocument"}.items()
    )


def test_a_newer_avro_schema_reads_what_an_older_one_wrote() -> None:
    """All that has a default may be missing in what an older release wrote."""
    newer = json.loads(DESCRIBED[ValueFormat.AVRO].schema)
    older = newer | {"fields": [field for field in newer["fields"] if "default" not in field]}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(older), FULL.to_dict())
    read = fastavro.schemaless_reader(io.BytesIO(out.getvalue()), older, newer)
    assert isinstance(read, dict)
    assert read["text"] == FULL.text
    assert (read["revision"], read["headline"]) == (1, None)


def test_writers_go_to_other_processes() -> None:
    import pickle

    writer = pickle.loads(pickle.dumps(FramedWriter(ValueFormat.AVRO, NUMBER)))
    assert writer(FULL) == FramedWriter(ValueFormat.AVRO, NUMBER)(FULL)
