"""Feeding pages from files to a topic, as a crawler would."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.files.read_ahead import ReadAhead
from dehusk.streams.kafka.producer import Outgoing, send
from dehusk.streams.settings import Compression, KafkaSettings
from dehusk.streams.sources.page import Outcome
from dehusk.streams.sources.source import CrawlerFormat

_PAGES_AHEAD = 4


@dataclass(slots=True)
class FeedCounts:
    """Counts of the pages so far."""

    sent: int = 0
    """Pages that all replicas in sync hold."""
    bytes: int = 0
    """Bytes of their messages."""
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    """Items that were no page."""
    failed: Counter[BrokenReason] = field(default_factory=Counter)
    """Pages that could not be read or sent."""
    unacknowledged: int = 0
    """Pages that were in flight when the feed ended early: the topic may hold them."""

    def add(self, unsent: Skipped | Broken) -> None:
        """Count a page that is not sent."""
        if isinstance(unsent, Skipped):
            self.skipped[unsent.reason] += 1
        else:
            self.failed[unsent.reason] += 1


OnProgress = Callable[[FeedCounts, Skipped | Broken | None], None]
"""Callback after each page, with the counts and the outcome of a page that was not sent."""


async def feed(
    outcomes: Iterator[Outcome],
    kafka: KafkaSettings,
    topic: str,
    crawler_format: CrawlerFormat,
    *,
    pages_per_second: float | None,
    compression: Compression,
    counts: FeedCounts,
    on_progress: OnProgress,
) -> None:
    """Send the pages in order, no faster than the brokers take them, and count them, however it ends.

    Raises:
        UnavailableError: the brokers do not answer.
        ConfigurationError: there is no such file, or the brokers refuse the user.
    """
    urls: deque[str] = deque()

    async def records() -> AsyncIterator[Outgoing]:
        limiter = RateLimiter(pages_per_second)
        ahead = ReadAhead(outcomes, _PAGES_AHEAD)
        while batch := await ahead.take():
            for outcome in batch:
                if isinstance(outcome, RawPage):
                    await limiter.wait()
                    outgoing = Outgoing(topic, crawler_format.encode(outcome))
                    urls.append(outcome.url)
                    yield outgoing
                else:
                    counts.add(outcome)
                    on_progress(counts, outcome)

    try:
        async for sent in send(kafka, records(), compression):
            url = urls.popleft()
            if sent.refusal is None:
                counts.sent += 1
                counts.bytes += len(sent.outgoing)
                on_progress(counts, None)
            else:
                broken = Broken(BrokenReason.PAGE_TOO_LARGE, sent.refusal, url)
                counts.add(broken)
                on_progress(counts, broken)
    finally:
        counts.unacknowledged = len(urls)


class RateLimiter:
    """Rate limit in pages per second; None for no limit."""

    def __init__(self, pages_per_second: float | None) -> None:
        self._interval = 1 / pages_per_second if pages_per_second else 0.0
        self._next = 0.0

    async def wait(self) -> None:
        """Wait until the next page may pass."""
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(self._next - now)
        self._next = max(self._next, now) + self._interval
