"""`schemas/json/*.schema.json`: the published JSON Schemas of what workers write, from its types.

Types give the fields, docstrings of attributes their descriptions. `DETAILS` has what neither says, such as
patterns and limits. The names of headers are those of real dead letters.
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
from dehusk.schemas.documents import SCHEMA_VERSION, CleanedDocument
from dehusk.schemas.outcomes import Broken, BrokenReason, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.topics.audit import AuditRecord
from dehusk.streams.topics.dead_letters import dead_letter, read_dead_letter, replay

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parents[1] / "schemas/json"

Schema = dict[str, Any]

_LANGUAGE = {"pattern": "^[a-z]{1,8}$"}
_DATE = {"pattern": "^(19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$"}
_FORM = "a date-time of RFC 3339 in UTC, or a full-date where the page declares no time, or no time zone."
_URL = {"pattern": "^[hH][tT][tT][pP][sS]?://", "maxLength": 2048}
_NAME = {"minLength": 1, "maxLength": 200}
_NAMES = {"uniqueItems": True, "items": {"type": "string", **_NAME}}
_DEGRADED = {"uniqueItems": True, "items": {"enum": ["frequencies", "model"]}}

DETAILS: dict[str, Schema] = {
    "CleanedDocument.url": {"description": "The page's address."},
    "CleanedDocument.site": {
        "description": (
            "What the page's texts are counted under: the URL's host, lower case, without port and www.; or, "
            "by --site-key, its registrable domain (.example.org), or host and first folder "
            "(example.org/blog)."
        )
    },
    "CleanedDocument.fetched_at": {
        "description": "When the crawler fetched the page; null where it does not tell."
    },
    "CleanedDocument.title": {"description": "The text of the page's title element; may be empty."},
    "CleanedDocument.text": {
        "description": "The content as lines, a blank line between paragraphs; may be empty."
    },
    "CleanedDocument.comments": {
        "description": (
            "The user comments, in the same form; null where the model does not tell them apart, or where "
            "they were to be included in the text or dropped."
        )
    },
    "CleanedDocument.language": {
        **_LANGUAGE,
        "description": (
            "The primary language of the text, e.g. en: as detected, else as declared; null where neither is "
            "known."
        ),
    },
    "CleanedDocument.text_length": {"description": "Unicode characters of text."},
    "CleanedDocument.model": {"description": "Which model told content from boilerplate."},
    "CleanedDocument.labeler": {
        "enum": list(LABELERS),
        "description": "What ran the model, else the name of a labeler without one.",
    },
    "CleanedDocument.degraded": {
        **_DEGRADED,
        "description": "What was missing when the page was cleaned: Redis (frequencies), Triton (model).",
    },
    "CleanedDocument.template": {
        "description": "What was known of the site's template; null where frequencies are unknown."
    },
    "CleanedDocument.source": {
        "description": "The Kafka record that the page came from; null for a page cleaned offline."
    },
    "CleanedDocument.revision": {"minimum": 1},
    "CleanedDocument.declared_language": _LANGUAGE,
    "CleanedDocument.content_hash": {
        "pattern": "^[0-9a-f]{32}$",
        "description": (
            "BLAKE2b with a digest of 16 bytes, of the text in NFC and UTF-8, each run of white space one "
            "space, none at its ends; null of an empty text."
        ),
    },
    "CleanedDocument.simhash": {
        "pattern": "^[0-9a-f]{16}$",
        "description": (
            "The simhash of the text, of all runs of three words: texts that are alike differ in few of its "
            "64 bits; null of a text without words."
        ),
    },
    "CleanedDocument.metadata": {"description": "What the page says of itself; null with --metadata none."},
    "CleanedDocument.blocks": {
        "description": "Every text block of the page in document order; only with --with-blocks."
    },
    "CleanedDocument.markdown": {
        "description": (
            "The content as Markdown (CommonMark, GitHub's tables, TeX in dollar signs); only with "
            "--with-markdown."
        )
    },
    "CleanedBlock.text": {"minLength": 1},
    "CleanedBlock.path": {
        "description": "Tags from the root to the element that holds the block, e.g. html/body/p."
    },
    "CleanedBlock.probability": {"maximum": 1, "description": "That the block is content."},
    "CleanedBlock.content": {"description": "True if the block is part of text."},
    "CleanedBlock.comment": {"description": "True if the block is a user comment, and no content."},
    "CleanedBlock.frequency": {"minimum": 1},
    "Template.pages_seen": {"minimum": 1, "description": "Distinct pages of the site, this one included."},
    "Template.blocks_saved": {
        "description": "Blocks of the text that would not be part of it, were nothing known of the site."
    },
    "Metadata.author": {
        "minLength": 1,
        "maxLength": 2018,
        "description": "Names, separated by a semicolon and a space.",
    },
    "Metadata.published": {**_DATE, "description": f"When the content was published: {_FORM}"},
    "Metadata.modified": {**_DATE, "description": f"When the content was changed last: {_FORM}"},
    "Metadata.description": {"minLength": 1, "maxLength": 2000},
    "Metadata.site_name": _NAME,
    "Metadata.canonical_url": {**_URL, "description": "The address that the page prefers."},
    "Metadata.image": {**_URL, "description": "The image that stands for the page."},
    "Metadata.tags": {"maxItems": 50, **_NAMES},
    "Metadata.page_type": _NAME,
    "Metadata.license": {"minLength": 1, "maxLength": 2048},
    "Metadata.robots": {
        "maxItems": 20,
        **_NAMES,
        "description": (
            "What the page asks of robots, in lower case, e.g. noindex; none is given as noindex and "
            "nofollow."
        ),
    },
    "AuditRecord.source": {"description": "Where the message is."},
    "AuditRecord.value_bytes": {"description": "Bytes of the message's value."},
    "AuditRecord.pages": {
        "minItems": 1,
        "description": (
            "The pages of the message: its documents and tombstones, what was skipped, and one entry for its "
            "dead letter."
        ),
    },
    "AuditRecord.model": {"description": "The model that labeled the documents; null where there are none."},
    "AuditRecord.degraded": {**_DEGRADED, "description": "What the documents had to do without."},
    "AuditedPage.url": {"description": "The page's address, where it is known."},
    "AuditedPage.reason": {
        "enum": [*SkipReason, *BrokenReason, None],
        "description": "Why it was skipped or became a dead letter; else null.",
    },
    "AuditedPage.detail": {"maxLength": 500, "description": "What was found, in words."},
    "AuditedBatch.messages": {"minimum": 1},
    "AuditedBatch.seconds": {
        "description": "How long the batch took for each step, pages that others waited for included."
    },
}
"""Keywords that the type of a field does not say, and descriptions for readers of JSON, by type and field."""

OPTIONAL = {"CleanedDocument.markdown", "CleanedDocument.blocks"}
"""Fields that are written where they were asked for, and are never null."""
UNPUBLISHED = {"CleanedDocument.html"}
"""Fields that no message has."""

_NUMBER = {"type": "string", "pattern": "^(0|[1-9][0-9]*)$"}
_REASON = {"enum": list(BrokenReason)}
_CONNECT = "__connect.errors."

HEADERS: dict[str, Schema] = {
    _CONNECT + "topic": {"type": "string", "minLength": 1, "description": "The topic of the message."},
    _CONNECT + "partition": _NUMBER,
    _CONNECT + "offset": _NUMBER,
    _CONNECT + "connector.name": {"const": "dehusk"},
    _CONNECT + "stage": {"type": "string", "minLength": 1, "description": "The step that failed."},
    _CONNECT + "exception.class.name": _REASON,
    _CONNECT + "exception.message": {
        "type": "string",
        "maxLength": 2000,
        "description": "What was found, in words.",
    },
    "dehusk.reason": _REASON,
    "dehusk.url": {
        "type": "string",
        "maxLength": 2000,
        "description": "The page's URL, where it is known.",
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
            "How often the message was put back on its topic before. Stands among the message's own headers, "
            "like the next."
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
                "The main content of one crawled page: the value of a record on the output topic, as "
                "--format document writes it. The record's key is the page's URL; its header "
                f"schema-version is {SCHEMA_VERSION}."
            ),
        },
        "audit-record": {
            "$id": "urn:dehusk:schema:audit-record:1",
            "title": "Audit record",
            **_object(AuditRecord),
            "description": (
                "What became of the pages of one message: the value of a record on the audit topic. The "
                "record's key is the URL of the first page that has one."
            ),
        },
        "dead-letter-headers": {
            "$id": "urn:dehusk:schema:dead-letter-headers:1",
            "title": "Headers of a dead letter",
            "description": (
                "What dehusk adds behind the headers of a message that could not be cleaned, as an object of "
                "header name to value in UTF-8. Where a name occurs twice, the last one counts. The names "
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
    hints, told = get_type_hints(kind), _docstrings(kind)
    properties, required = {}, []
    for name in (field.name for field in fields(kind)):
        path = f"{kind.__name__}.{name}"
        if path in UNPUBLISHED:
            continue
        description = {"description": told[name]} if name in told else {}
        hint = hints[name]
        if path in OPTIONAL:
            (hint,) = (part for part in get_args(hint) if part is not NoneType)
        else:
            required.append(name)
        properties[name] = {**_typed(hint), **description, **DETAILS.get(path, {})}
    return {
        "type": "object",
        "description": _in_json((inspect.getdoc(kind) or "").split("\n\n")[0]),
        "additionalProperties": False,
        "required": required,
        "properties": properties,
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
    told = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                told[name] = _in_json(text)
    return told


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
