"""Messages that tests make, each validated by its published JSON Schema as it is written or read.

What dehusk writes in the process of the tests, and in those that it forks, is validated as it is written: see
`validate_writers`. Tests of workers and commands, which are processes of their own, pass on what they read.
"""

import functools
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import dehusk.schemas
from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.pages import Message
from dehusk.streams.sources.source import Record
from dehusk.streams.topics import audit, dead_letters

FOLDER = Path(dehusk.schemas.__file__).parent / "json"
_MAX_BLOCKS = 50
"""Blocks of a document that are validated: some pages of tests have a hundred thousand, which are alike."""


@functools.cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of a published schema by its name."""
    return Draft202012Validator(json.loads((FOLDER / f"{name}.schema.json").read_text()))


def validated(name: str, written: str | bytes) -> Any:
    """Return the object of a JSON text, if it is as the schema of this name says.

    Raises:
        ValidationError: it is not.
    """
    fields = json.loads(written)
    blocks = fields.get("blocks")
    short = fields | {"blocks": blocks[:_MAX_BLOCKS]} if blocks else fields
    validator(name).validate(short)
    return fields


def validated_message(message: Message) -> Message:
    """Return a message of any topic, if it is as published or of a kind that has no schema.

    Raises:
        ValidationError: it is not.
    """
    if message.header("dehusk.reason") is not None:
        _validate_headers(message.headers)
    elif message.header("schema-version") is not None and message.value:
        if message.header("content-type") == b"application/json" and b'"raw_length":' in message.value:
            validated("cleaned-document", message.value)
    elif audit.read_audit_record(message) is not None:
        validated("audit-record", message.value or b"")
    return message


def _validate_headers(headers: tuple[tuple[str, bytes | None], ...]) -> None:
    texts = {name: (value or b"").decode("utf-8", "replace") for name, value in headers}
    validator("dead-letter-headers").validate(texts)


def validate_writers() -> None:
    """Have documents, dead letters and audit records of this process validated as they are written.

    To be called before a module takes a writer by its name.
    """
    document, record, letter = (
        CleanedDocument.to_json_bytes,
        audit.AuditRecord.record,
        dead_letters.dead_letter,
    )

    @functools.wraps(document)
    def write_document(self: CleanedDocument) -> bytes:
        written = document(self)
        validated("cleaned-document", written)
        return written

    @functools.wraps(record)
    def write_record(self: audit.AuditRecord) -> Record:
        written = record(self)
        validated("audit-record", written.value or b"")
        return written

    @functools.wraps(letter)
    def write_letter(message: Message, *arguments: Any) -> Record:
        written = letter(message, *arguments)
        if message.topic:  # else a test made it without one, which Kafka does not
            _validate_headers(written.headers)
        return written

    CleanedDocument.to_json_bytes = write_document
    audit.AuditRecord.record = write_record
    dead_letters.dead_letter = write_letter
    _validate_lines()


def _validate_lines() -> None:
    from dehusk.streams.offline import lines

    line = lines._line

    @functools.wraps(line)
    def write_line(fields: dict[str, Any]) -> bytes:
        written = line(fields)
        validated("clean-line", written)
        return written

    lines._line = write_line
