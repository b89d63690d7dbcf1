"""What the audit topic says of a page."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import unquote

from dehusk.streams.auditing import AuditedPage, AuditRecord, read_audit_record
from dehusk.streams.consuming import read
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.page import known_url


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a page, once."""

    done_at: datetime
    record: AuditRecord
    page: AuditedPage


async def findings(kafka: KafkaSettings, topic: str, url: str) -> AsyncGenerator[Finding, None]:
    """What the topic says now of the page of a URL, in order per partition.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    wanted = unquote(known_url(url) or url)
    async with aclosing(read(kafka, topic)) as messages:
        async for message, milliseconds in messages:
            record = read_audit_record(message)
            if record is None:
                continue
            for page in record.pages:
                if page.url and unquote(page.url) == wanted:
                    yield Finding(datetime.fromtimestamp(milliseconds / 1000, UTC), record, page)
