"""Metrics of Triton and Redis, asked every ten seconds."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from dehusk.inference.labelers.labeler import Activity, ServedLabeler
from dehusk.streams.availability import UNAVAILABLE
from dehusk.streams.monitoring.state import RedisMetrics, TritonMetrics
from dehusk.streams.sites.redis_client import ServerUse
from dehusk.streams.sites.redis_store import RedisSiteStatistics

_ASK_SECONDS = 10.0
Answer = TypeVar("Answer")


class Servers:
    """Metrics of the servers that a worker uses."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.triton: TritonMetrics | None = None
        self.redis: RedisMetrics | None = None
        self._clock = clock
        self._activity: tuple[float, Activity] | None = None
        self._use: ServerUse | None = None

    async def run(self, labeler: ServedLabeler | None, store: RedisSiteStatistics) -> None:
        """Ask every ten seconds, until cancelled."""
        while True:
            await self.ask(labeler, store)
            await asyncio.sleep(_ASK_SECONDS)

    async def ask(self, labeler: ServedLabeler | None, store: RedisSiteStatistics) -> None:
        """Update the metrics; a server that does not answer has none."""
        before, self._activity = self._activity, None
        if labeler is not None and (activity := await _answer(labeler.activity())):
            self._activity = (self._clock(), activity)
        self.triton = _triton(before, self._activity)
        use_before, self._use = self._use, await _answer(store.use())
        self.redis = _redis(use_before, self._use)


async def _answer(answer: Awaitable[Answer]) -> Answer | None:
    try:
        return await answer
    except UNAVAILABLE:
        return None


def _triton(
    before: tuple[float, Activity] | None, after: tuple[float, Activity] | None
) -> TritonMetrics | None:
    """Return the metrics between two answers; None without both, or if some of the totals are gone meanwhile.

    They are with a restart of the server, and those of a version once it is unloaded.
    """
    if before is None or after is None:
        return None
    seconds, (early, late) = after[0] - before[0], (before[1], after[1])
    requests = late.requests - early.requests
    batches = late.batches - early.batches
    queue_seconds = late.queue_seconds - early.queue_seconds
    if min(requests, batches, queue_seconds) < 0:
        return None
    return TritonMetrics(
        requests / seconds if seconds else 0.0,
        requests / batches if batches else None,
        queue_seconds / requests if requests else None,
        late.errors,
    )


def _redis(before: ServerUse | None, after: ServerUse | None) -> RedisMetrics | None:
    if after is None:
        return None
    return RedisMetrics(
        after.memory, after.most_memory or None, None if before is None else _hits(before, after)
    )


def _hits(before: ServerUse, after: ServerUse) -> float | None:
    """Return the share of lookups between two answers that found something; None without any."""
    hits, misses = after.hits - before.hits, after.misses - before.misses
    return hits / (hits + misses) if min(hits, misses) >= 0 < hits + misses else None
