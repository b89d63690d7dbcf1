"""Audit records: what became of the pages of each message, one record for each message that is done with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from dehusk.schemas.documents import Origin
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.sources.source import Record

_MAX_DETAIL = 500
"""Characters of what was found on a page: it may tell anything, at any length."""


class PageOutcome(StrEnum):
    """What became of a page."""

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
    outcome: PageOutcome
    reason: str | None = None
    """A `SkipReason` or `BrokenReason`, where there is no document."""
    detail: str | None = None
    stage: str | None = None
    """The step that failed, of a dead letter."""


@dataclass(frozen=True, slots=True)
class AuditedBatch:
    """The micro-batch in which a message was cleaned."""

    messages: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long the batch took for each step."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """What became of a message, once Kafka holds its documents or its dead letter."""

    source: Origin
    value_bytes: int
    """Of the message."""
    pages: tuple[AuditedPage, ...]
    model: ModelVersion | None
    """What labeled its documents; None where there are none."""
    degraded: tuple[str, ...]
    batch: AuditedBatch

    @property
    def key(self) -> bytes | None:
        """The URL of its first page that has one."""
        url = next((page.url for page in self.pages if page.url), None)
        return None if url is None else url.encode("utf-8", "replace")

    def record(self) -> Record:
        """The record for the audit topic."""
        headers = (("content-type", b"application/json"),)
        return Record(self.key, orjson.dumps(self), headers)


def shortened(detail: str) -> str:
    """A detail, as far as it is kept."""
    text = detail if len(detail) <= _MAX_DETAIL else f"{detail[: _MAX_DETAIL - 1]}…"
    return text.encode("utf-8", "replace").decode()


def read_audit_record(message: Message) -> AuditRecord | None:
    """The audit record that a message is, or None where it is none."""
    try:
        return _read(orjson.loads(message.value or b""))
    except (ValueError, TypeError, KeyError):
        return None


def _read(fields: Any) -> AuditRecord:  # noqa: ANN401 what is in JSON
    return AuditRecord(
        source=Origin(**fields["source"]),
        value_bytes=fields["value_bytes"],
        pages=tuple(
            AuditedPage(**(page | {"outcome": PageOutcome(page["outcome"])})) for page in fields["pages"]
        ),
        model=None if fields["model"] is None else ModelVersion(**fields["model"]),
        degraded=tuple(fields["degraded"]),
        batch=AuditedBatch(**fields["batch"]),
    )
