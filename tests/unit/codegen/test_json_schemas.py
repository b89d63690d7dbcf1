import json
from dataclasses import dataclass

import pytest
from jsonschema import Draft202012Validator

from codegen import json_schemas
from codegen.json_schemas import FOLDER, KEYWORDS, OPTIONAL, schemas
from dehusk.schemas.documents import CleanedBlock, CleanedDocument, DocumentLink, Origin, Template
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.pages import ModelVersion
from dehusk.streams.topics.audit import AuditedBatch, AuditedPage, AuditRecord

TYPES = (
    *(CleanedDocument, CleanedBlock, DocumentLink, Template, Origin, Metadata, ModelVersion),
    *(AuditRecord, AuditedPage, AuditedBatch),
)
PUBLISHED = schemas()


def test_the_published_schemas_are_those_of_the_types() -> None:
    assert {file.name: file.read_text() for file in FOLDER.iterdir()} == PUBLISHED


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_schema_is_one_of_the_standard(name: str) -> None:
    Draft202012Validator.check_schema(json.loads(PUBLISHED[name]))


def test_keywords_are_of_fields_that_exist() -> None:
    names = {f"{kind.__name__}.{name}" for kind in TYPES for name in kind.__dataclass_fields__}
    assert {*KEYWORDS, *OPTIONAL} <= names


def test_a_type_that_json_has_not_is_refused() -> None:
    @dataclass
    class Odd:
        value: complex

    with pytest.raises(TypeError, match="complex"):
        json_schemas._typed(Odd.__annotations__["value"])
