"""Putting pages from files on a topic, as a crawler would."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.producing import Outgoing, send
from dehusk.streams.read_ahead import ReadAhead
from dehusk.streams.settings import Compression, KafkaSettings
from dehusk.streams.sources.source import Source

_PAGES_AHEAD = 4


@dataclass(slots=True)
class FeedCounts:
    """What became of the pages so far."""

    sent: int = 0
    """Pages that all replicas in sync hold."""
    bytes: int = 0
    """Bytes of their messages."""
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    """What was no page."""
    failed: Counter[BrokenReason] = field(default_factory=Counter)
    """Pages that could not be read or sent."""
    unanswered: int = 0
    """Pages that were on their way when the feed ended early: the topic may hold them."""


Report = Callable[[FeedCounts, Skipped | Broken | None], None]
"""Told after each page: the counts, and why the page was not sent where it was not."""


async def feed(
    outcomes: Iterator[RawPage | Skipped | Broken],
    kafka: KafkaSettings,
    topic: str,
    source: Source,
    *,
    pages_per_second: float | None,
    compression: Compression,
    counts: FeedCounts,
    report: Report,
) -> None:
    """Send the pages in order, no faster than the brokers take them, and count them, however it ends.

    Raises:
        UnavailableError: the brokers do not answer.
        ConfigurationError: there is no such file, or the brokers refuse the user.
    """
    urls: deque[str] = deque()

    async def records() -> AsyncIterator[Outgoing]:
        pace = _Pace(pages_per_second)
        async for outcome in _read(outcomes):
            match outcome:
                case RawPage():
                    await pace.wait()
                    urls.append(outcome.url)
                    yield Outgoing(topic, source.encode(outcome))
                case Skipped():
                    counts.skipped[outcome.reason] += 1
                    report(counts, outcome)
                case Broken():
                    _note(counts, outcome, report)

    try:
        async for sent in send(kafka, records(), compression):
            url = urls.popleft()
            if sent.refusal is None:
                counts.sent += 1
                counts.bytes += len(sent.outgoing)
                report(counts, None)
            else:
                _note(counts, Broken(BrokenReason.PAGE_TOO_LARGE, sent.refusal, url), report)
    finally:
        counts.unanswered = len(urls)


async def _read(
    outcomes: Iterator[RawPage | Skipped | Broken],
) -> AsyncIterator[RawPage | Skipped | Broken]:
    ahead = ReadAhead(outcomes, _PAGES_AHEAD)
    while batch := await ahead.take():
        for outcome in batch:
            yield outcome


def _note(counts: FeedCounts, broken: Broken, report: Report) -> None:
    counts.failed[broken.reason] += 1
    report(counts, broken)


class _Pace:
    """Lets so many pages pass per second, evenly; all of them with None."""

    def __init__(self, pages_per_second: float | None) -> None:
        self._interval = 1 / pages_per_second if pages_per_second else 0.0
        self._next = 0.0

    async def wait(self) -> None:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(self._next - now)
        self._next = max(self._next, now) + self._interval
