"""What the audit topic is told of a message that is done with."""

from collections.abc import Iterator

from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.schemas.pages import Message
from dehusk.streams.auditing import AuditedBatch, AuditedPage, AuditRecord, PageOutcome, shortened
from dehusk.streams.sources.keys import named_url
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.assembly import CleanedMessage, Document, origin_of


def audit(cleaned: CleanedMessage) -> AuditRecord:
    """The record of a message whose documents or dead letter are delivered."""
    documents = [record for record in cleaned.records if isinstance(record, Document)]
    return AuditRecord(
        source=origin_of(cleaned.message),
        value_bytes=len(cleaned.message.value or b""),
        pages=tuple(_pages(cleaned)),
        model=documents[0].model if documents else None,
        degraded=cleaned.degraded,
        batch=AuditedBatch(cleaned.batch_messages, cleaned.batch_seconds),
    )


def _pages(cleaned: CleanedMessage) -> Iterator[AuditedPage]:
    """One for each outcome that `CleanedMessage.pages` counts."""
    for record in cleaned.records:
        yield AuditedPage((record.key or b"").decode("utf-8", "replace"), outcome_of(record))
    for skipped in cleaned.skipped:
        yield _without_document(PageOutcome.SKIPPED, skipped, cleaned.message)
    if cleaned.failure is not None:
        failure = cleaned.failure
        yield _without_document(PageOutcome.DEAD_LETTER, failure.broken, cleaned.message, failure.stage)


def outcome_of(record: Record) -> PageOutcome:
    """What a record for the output topic says of its page."""
    if record.value is None:
        return PageOutcome.TOMBSTONE
    is_empty = isinstance(record, Document) and record.is_empty
    return PageOutcome.EMPTY_DOCUMENT if is_empty else PageOutcome.DOCUMENT


def _without_document(
    outcome: PageOutcome, drop: Skipped | Broken, message: Message, stage: str | None = None
) -> AuditedPage:
    url = drop.url or named_url(message)
    url = None if url is None else url.encode("utf-8", "replace").decode()
    return AuditedPage(url, outcome, drop.reason.value, shortened(drop.detail), stage)
