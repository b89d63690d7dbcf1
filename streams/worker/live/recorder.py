"""The measuring of a worker, second by second."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dehusk.streams.worker.counts import STEP_BOUNDS
from dehusk.streams.worker.live.history import Point
from dehusk.streams.worker.metrics import Metrics

_RATE_SECONDS = 10
_STEP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class _Counts:
    """What was counted until a moment."""

    seconds: float
    pages: int
    bytes: int
    characters: int
    steps: dict[str, list[int]]
    """As `Metrics.step_counts`."""


class Recorder:
    """Makes points out of what is counted; it is to be asked once a second."""

    def __init__(
        self,
        metrics: Metrics,
        in_flight: Callable[[], int],
        lag: Callable[[], int | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics = metrics
        self._in_flight = in_flight
        self._lag = lag
        self._clock = clock
        self._minute: deque[_Counts] = deque([self._counts()], maxlen=_STEP_SECONDS + 1)

    def record(self, now: float, memory: int | None) -> Point:
        """The worker at a time in seconds since 1970, with the bytes that it holds."""
        self._minute.append(self._counts())
        after, before = self._minute[-1], self._minute[max(-len(self._minute), -1 - _RATE_SECONDS)]
        seconds, volume = after.seconds - before.seconds, after.bytes - before.bytes
        return Point(
            now,
            pages_per_second=(after.pages - before.pages) / seconds,
            bytes_per_second=volume / seconds,
            kept=(after.characters - before.characters) / volume if volume else None,
            lag=self._lag(),
            in_flight=self._in_flight(),
            memory=memory,
            steps=_steps(self._minute[0].steps, after.steps),
        )

    def _counts(self) -> _Counts:
        totals = self._metrics.totals
        return _Counts(
            self._clock(), totals.pages, totals.bytes, self._metrics.characters, self._metrics.step_counts
        )


def _steps(before: dict[str, list[int]], after: dict[str, list[int]]) -> dict[str, tuple[int, ...]]:
    """The batches in each bucket alone of each step that was done between two moments."""
    none = [0] * len(STEP_BOUNDS)
    found = {step: _in_each(before.get(step, none), counts) for step, counts in after.items()}
    return {step: each for step, each in found.items() if any(each)}


def _in_each(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...]:
    """How many more are in each bucket alone, of counts that include those of the buckets below."""
    more = [late - early for early, late in zip(before, after, strict=True)]
    return tuple(count - below for below, count in pairwise([0, *more]))
