"""What Triton and Redis say of themselves, asked now and then."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from dehusk.inference.labeler import Activity, Labeler, ServedLabeler
from dehusk.streams.group.figures import RedisFigures, TritonFigures
from dehusk.streams.sites.server_memory import ServerUse
from dehusk.streams.worker.availability import UNAVAILABLE

_ASK_SECONDS = 10.0
Answer = TypeVar("Answer")


class _Store(Protocol):
    async def use(self) -> ServerUse: ...


class Servers:
    """The figures of the servers that a worker uses."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.triton: TritonFigures | None = None
        self.redis: RedisFigures | None = None
        self._clock = clock
        self._activity: tuple[float, Activity] | None = None
        self._use: ServerUse | None = None

    async def run(self, labeler: Labeler | None, store: _Store) -> None:
        """Ask every ten seconds, for as long as this runs."""
        while True:
            await self.ask(labeler, store)
            await asyncio.sleep(_ASK_SECONDS)

    async def ask(self, labeler: Labeler | None, store: _Store) -> None:
        """Ask for what was done since the last time; a server that does not answer has no figures."""
        before, self._activity = self._activity, None
        if isinstance(labeler, ServedLabeler) and (activity := await _answer(labeler.activity())):
            self._activity = (self._clock(), activity)
        self.triton = _triton(before, self._activity)
        used, self._use = self._use, await _answer(store.use())
        self.redis = _redis(used, self._use)


async def _answer(answer: Awaitable[Answer]) -> Answer | None:
    try:
        return await answer
    except UNAVAILABLE:
        return None


def _triton(
    before: tuple[float, Activity] | None, after: tuple[float, Activity] | None
) -> TritonFigures | None:
    """What was done between two moments; counts that are smaller are those of a server that was restarted."""
    if before is None or after is None or after[1].requests < before[1].requests:
        return None
    seconds, (early, late) = after[0] - before[0], (before[1], after[1])
    requests = late.requests - early.requests
    batches = late.batches - early.batches
    return TritonFigures(
        requests / seconds if seconds else 0.0,
        requests / batches if batches else None,
        (late.queue_seconds - early.queue_seconds) / requests if requests else None,
        late.errors,
    )


def _redis(before: ServerUse | None, after: ServerUse | None) -> RedisFigures | None:
    if after is None:
        return None
    return RedisFigures(
        after.memory, after.most_memory or None, None if before is None else _hits(before, after)
    )


def _hits(before: ServerUse, after: ServerUse) -> float | None:
    """The share of lookups between two moments that found something."""
    hits, misses = after.hits - before.hits, after.misses - before.misses
    return hits / (hits + misses) if min(hits, misses) >= 0 < hits + misses else None
