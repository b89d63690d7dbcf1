"""Audit records: the outcomes of the pages of a message, one record for each message that is done with."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from urllib.parse import unquote

import msgspec
import orjson

from dehusk.schemas.documents import Origin
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.kafka.reader import read, record_time
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.page import known_url
from dehusk.streams.sources.source import Record
from dehusk.streams.wording import encodable

_MAX_DETAIL = 500
"""Characters of a detail, which may quote a page at any length."""


class PageOutcome(StrEnum):
    """Outcomes of a page."""

    DOCUMENT = "document"
    EMPTY_DOCUMENT = "empty-document"
    """A document without text: no content was found."""
    TOMBSTONE = "tombstone"
    SKIPPED = "skipped"
    DEAD_LETTER = "dead-letter"


@dataclass(frozen=True, slots=True)
class AuditedPage:
    """One page of a message."""

    url: str | None
    """Address of the page, where it is known."""
    outcome: PageOutcome
    reason: str | None = None
    """Reason for the skip or dead letter; else None."""
    detail: str | None = None
    """Details of the reason, as text."""
    stage: str | None = None
    """Step that failed, of a dead letter."""
    document: Origin | None = None
    """Position of the document or tombstone on the output topic; None without one."""


@dataclass(frozen=True, slots=True)
class AuditedBatch:
    """The micro-batch in which a message was cleaned."""

    messages: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds per step that the batch took, pages that others waited for included."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """The outcome of a message, once Kafka holds its documents or its dead letter."""

    source: Origin
    """Position of the message."""
    value_bytes: int
    """Bytes of the message's value."""
    pages: tuple[AuditedPage, ...]
    """Pages of the message: documents, tombstones, skipped pages, and one entry for a dead letter."""
    model: ModelVersion | None
    """Model that labeled the documents; None if there are none."""
    degraded: tuple[str, ...]
    """Services unavailable when the pages were cleaned: `frequencies` (Redis), `model` (Triton)."""
    batch: AuditedBatch

    @property
    def key(self) -> bytes:
        """The URL of its first page that has one, else its position, as compacted topics need a key."""
        key = next((page.url for page in self.pages if page.url), str(self.source))
        return key.encode("utf-8", "replace")

    def record(self) -> Record:
        """Return the record for the audit topic."""
        return Record(self.key, orjson.dumps(self), (("content-type", b"application/json"),))


def shorten(detail: str) -> str:
    """Shorten a detail to what is kept of it."""
    return encodable(detail if len(detail) <= _MAX_DETAIL else f"{detail[: _MAX_DETAIL - 1]}…")


def read_audit_record(message: Message) -> AuditRecord | None:
    """Return the audit record that a message is, or None if it is none."""
    try:
        record = msgspec.json.decode(message.value or b"", type=AuditRecord)
        orjson.dumps(record)  # which refuses integers of more than 64 bits
    except (msgspec.DecodeError, orjson.JSONEncodeError, UnicodeDecodeError, RecursionError):
        return None
    return record


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An outcome of a page, at one time."""

    done_at: datetime
    record: AuditRecord
    page: AuditedPage


async def find_entries(kafka: KafkaSettings, topic: str, name: str) -> AsyncGenerator[AuditEntry, None]:
    """Yield the outcomes that the topic holds now of some pages, in order per partition.

    The name is the URL of a page, or the position of its message or its document as text.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    url = unquote(known_url(name) or name)
    async with aclosing(read(kafka, topic)) as messages:
        async for message, milliseconds in messages:
            record = read_audit_record(message)
            if record is None:
                continue
            for page in record.pages:
                is_named = name == str(record.source) or (page.document and name == str(page.document))
                if is_named or (page.url and unquote(page.url) == url):
                    yield AuditEntry(record_time(milliseconds), record, page)
