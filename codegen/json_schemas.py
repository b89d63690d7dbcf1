"""`schemas/json/*.schema.json`: the published JSON Schemas of what workers and `clean` write, from its types.

Types give the fields, docstrings of attributes their descriptions, and `KEYWORDS` patterns and limits. The
names of headers are those of real dead letters.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dehusk.inference.labelers.labeler import LABELERS
from dehusk.schemas import documents
from dehusk.schemas.documents import SCHEMA_VERSION, CleanedDocument
from dehusk.schemas.outcomes import Broken, BrokenReason, SkipReason
from dehusk.schemas.pages import PAGE_KINDS, Message
from dehusk.streams.offline.lines import BLOCK_FIELDS, FIELDS, FIELDS_BY_OPTION, failure_fields
from dehusk.streams.topics.audit import AuditRecord
from dehusk.streams.topics.dead_letters import dead_letter, read_dead_letter, replay

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parents[1] / "schemas/json"

Schema = dict[str, Any]

_LANGUAGE = {"pattern": "^[a-z]{1,8}$"}
_TAG = {"pattern": "^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$"}
_DAY_PATTERN = "(19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}"
_DAY = {"pattern": f"^{_DAY_PATTERN}$"}
_DATE = {"pattern": f"^{_DAY_PATTERN}(T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(Z|[+-][0-9]{{2}}:[0-9]{{2}}))?$"}
_URL = {"pattern": "^[hH][tT][tT][pP][sS]?://", "maxLength": 2048}
_NAME = {"minLength": 1, "maxLength": 200}
_NAMES = {"uniqueItems": True, "items": {"type": "string", **_NAME}}
_DEGRADED = {"uniqueItems": True, "items": {"enum": ["frequencies", "model"]}}

KEYWORDS: dict[str, Schema] = {
    "CleanedDocument.language": _LANGUAGE,
    "CleanedDocument.labeler": {"enum": list(LABELERS)},
    "CleanedDocument.degraded": _DEGRADED,
    "CleanedDocument.revision": {"minimum": 1},
    "CleanedDocument.declared_language": _TAG,
    "CleanedDocument.language_probability": {"minimum": 0, "maximum": 1},
    "CleanedDocument.content_hash": {"pattern": "^[0-9a-f]{32}$"},
    "CleanedDocument.simhash": {"pattern": "^[0-9a-f]{16}$"},
    "CleanedDocument.minhash": {"pattern": "^[0-9A-Za-z+/]{683}=$"},
    "CleanedDocument.expected_f1": {"maximum": 1},
    "CleanedDocument.page_kind": {"enum": [*PAGE_KINDS, None]},
    "CleanedDocument.page_kind_probability": {"maximum": 1},
    "CleanedBlock.text": {"minLength": 1},
    "CleanedBlock.xpath": {"pattern": r"^/[^/]+(/([a-z_][a-z0-9_-]*|\*)\[[1-9][0-9]*\])*$"},
    "CleanedBlock.probability": {"maximum": 1},
    "CleanedBlock.frequency": {"minimum": 1},
    "DocumentLink.url": {"minLength": 1, "maxLength": 2048},
    "DocumentLink.text": {"minLength": 1},
    "Template.pages_seen": {"minimum": 1},
    "Metadata.author": {"minLength": 1, "maxLength": 2018},
    "Metadata.published": _DATE,
    "Metadata.published_day": _DAY,
    "Metadata.modified": _DATE,
    "Metadata.modified_day": _DAY,
    "Metadata.description": {"minLength": 1, "maxLength": 2000},
    "Metadata.site_name": _NAME,
    "Metadata.canonical_url": _URL,
    "Metadata.image": _URL,
    "Metadata.tags": {"maxItems": 50, **_NAMES},
    "Metadata.page_type": _NAME,
    "Metadata.license": {"minLength": 1, "maxLength": 2048},
    "Metadata.robots": {"maxItems": 20, **_NAMES},
    "AuditRecord.pages": {"minItems": 1},
    "AuditRecord.degraded": _DEGRADED,
    "AuditedPage.reason": {"enum": [*SkipReason, *BrokenReason, None]},
    "AuditedPage.detail": {"maxLength": 500},
    "AuditedBatch.messages": {"minimum": 1},
}
"""Keywords that the type of a field does not say, by type and field."""

OPTIONAL = {f"CleanedDocument.{name}" for name in documents.OPTIONAL_FIELDS}
"""Fields that are written where they were asked for, and are never null."""

_NUMBER = {"type": "string", "pattern": "^(0|[1-9][0-9]*)$"}
_REASON = {"enum": list(BrokenReason)}
_CONNECT = "__connect.errors."

HEADERS: dict[str, Schema] = {
    _CONNECT + "topic": {"type": "string", "minLength": 1, "description": "Topic of the message."},
    _CONNECT + "partition": _NUMBER,
    _CONNECT + "offset": _NUMBER,
    _CONNECT + "connector.name": {"const": "dehusk"},
    _CONNECT + "stage": {"type": "string", "minLength": 1, "description": "Step that failed."},
    _CONNECT + "exception.class.name": _REASON,
    _CONNECT + "exception.message": {
        "type": "string",
        "maxLength": 2000,
        "description": "Details of the reason, as text.",
    },
    "dehusk.reason": _REASON,
    "dehusk.url": {
        "type": "string",
        "maxLength": 2000,
        "description": "URL of the page, where it is known.",
    },
    "dehusk.value-bytes": {
        **_NUMBER,
        "description": (
            "Length of the message's value: where the record has none, the topic refused it for its size."
        ),
    },
    "dehusk.replays": {
        "type": "string",
        "pattern": "^[1-9][0-9]*$",
        "description": (
            "Number of earlier replays of the message. Stands among the message's own headers, like the next."
        ),
    },
    "dehusk.replay-of": {
        "type": "string",
        "pattern": "^[^/]+/[0-9]+/[0-9]+$",
        "description": "Topic, partition and offset where the message failed first.",
    },
}
"""Values of the headers of dead letters."""


def schemas() -> dict[str, str]:
    """Return the text of each file of `FOLDER`, by its name."""
    made = {
        "cleaned-document": {
            "$id": f"urn:dehusk:schema:cleaned-document:{SCHEMA_VERSION}",
            "title": "Cleaned document",
            **_object(CleanedDocument),
            "description": (
                "Main content of one crawled page: the value of a record on the output topic, as "
                "--format document writes it. The record's key is the page's URL; its header "
                f"schema-version is {SCHEMA_VERSION}."
            ),
        },
        "clean-line": {
            "$id": "urn:dehusk:schema:clean-line:1",
            "title": "Line of dehusk clean",
            "description": (
                "Main content of one page, or why it could not be cleaned: a line that dehusk clean writes, "
                "as --format json writes it."
            ),
            "type": "object",
            "oneOf": [_cleaned_line(), _failed_line()],
        },
        "audit-record": {
            "$id": "urn:dehusk:schema:audit-record:1",
            "title": "Audit record",
            **_object(AuditRecord),
            "description": (
                "Outcomes of the pages of one message: the value of a record on the audit topic. The "
                "record's key is the URL of the first page that has one."
            ),
        },
        "dead-letter-headers": {
            "$id": "urn:dehusk:schema:dead-letter-headers:1",
            "title": "Headers of a dead letter",
            "description": (
                "Headers added after those of a message that could not be cleaned, as an object of header "
                "name to value in UTF-8. Where a name occurs twice, the last one counts. The names "
                "__connect.errors.* are those of Kafka Connect (KIP-298). Key, value and the headers before "
                "are the message's own."
            ),
            **_headers(),
        },
    }
    return {
        f"{name}.schema.json": json.dumps({"$schema": _DRAFT, **schema}, indent=2, ensure_ascii=False) + "\n"
        for name, schema in made.items()
    }


def _object(kind: type) -> Schema:
    """Return the schema of a frozen dataclass."""
    hints, docstrings = get_type_hints(kind), _docstrings(kind)
    properties, required = {}, []
    for name in (field.name for field in fields(kind)):
        path = f"{kind.__name__}.{name}"
        description = {"description": docstrings[name]} if name in docstrings else {}
        hint = hints[name]
        if path in OPTIONAL:
            (hint,) = (part for part in get_args(hint) if part is not NoneType)
        else:
            required.append(name)
        properties[name] = {**_typed(hint), **description, **KEYWORDS.get(path, {})}
    return {
        "type": "object",
        "description": _in_json((inspect.getdoc(kind) or "").split("\n\n")[0]),
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


def _cleaned_line() -> Schema:
    """Return the schema of a line of `clean` for a page that was cleaned."""
    properties = _object(CleanedDocument)["properties"]
    required = ("id", "url", *FIELDS)
    properties["blocks"]["items"]["required"] = list(BLOCK_FIELDS)
    named = {name: properties[name] for name in (*required, *FIELDS_BY_OPTION)}
    return {
        "description": "A page that was cleaned.",
        "additionalProperties": False,
        "required": [*required, "error"],
        "properties": {**named, "error": {"type": "null"}},
    }


def _failed_line() -> Schema:
    """Return the schema of a line of `clean` for a page that could not be cleaned."""
    identified: Schema = {name: {"type": ["string", "null"]} for name in ("id", "url")}
    empty = failure_fields(FIELDS_BY_OPTION)
    constant = {name: {"const": value} for name, value in empty.items()}
    error = {"type": "string", "minLength": 1, "description": "Reason, with details."}
    return {
        "description": "A page that could not be cleaned.",
        "additionalProperties": False,
        "required": [*identified, *failure_fields(), "error"],
        "properties": {**identified, **constant, "error": error},
    }


_SCALARS: dict[object, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number", "minimum": 0},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string"},
    NoneType: {"type": "null"},
}


def _typed(kind: Any) -> Schema:  # noqa: ANN401 whatever a field is annotated with
    """Return the schema of a type."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"enum": list(kind)}
    if isinstance(kind, UnionType):
        return _united([_typed(part) for part in get_args(kind)])
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _typed(get_args(kind)[0])}
    if get_origin(kind) is Mapping:
        return {"type": "object", "additionalProperties": _typed(get_args(kind)[1])}
    raise TypeError(f"no JSON Schema for {kind}")


def _united(parts: list[Schema]) -> Schema:
    """Return the schema of any of several types, all but one of them scalars."""
    kinds = list(dict.fromkeys(part["type"] for part in parts))
    keywords = {key: value for part in parts for key, value in part.items()}
    if {"type": "string"} in parts:
        keywords.pop("format", None)
    return {**keywords, "type": kinds if len(kinds) > 1 else kinds[0]}


def _docstrings(kind: type) -> dict[str, str]:
    """Return the docstrings of the attributes of a class, by name."""
    nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind))))
    definition = next(node for node in nodes if isinstance(node, ast.ClassDef))
    found = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                found[name] = _in_json(text)
    return found


def _in_json(docstring: str) -> str:
    """Return a docstring as readers of JSON understand it."""
    return " ".join(docstring.replace("None", "null").replace("`", "").split())


def _headers() -> Schema:
    """Return the schema of the headers that real dead letters have."""
    bare = dead_letter(
        Message(None, None, (), "raw", 0, 0), Broken(BrokenReason.INTERNAL_ERROR, ""), "prepare"
    )
    (letter,) = filter(None, [read_dead_letter(Message(bare.key, bare.value, bare.headers))])
    again = replay(letter)
    message = Message(b"key", b"value", again.headers, "raw", 0, 1)
    full = dead_letter(message, Broken(BrokenReason.INTERNAL_ERROR, "", "http://x.test/"), "prepare")
    names = [name for name, _ in full.headers]
    required = [name for name, _ in bare.headers]
    ordered = sorted(names, key=list(HEADERS).index)
    return {
        "type": "object",
        "required": required,
        "properties": {name: HEADERS[name] for name in ordered},
    }
