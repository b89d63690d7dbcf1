"""Lag of a partition: the messages that are not done with, by what the brokers hold."""

import logging
import time
from collections import deque
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from aiokafka import AIOKafkaConsumer
from faust.types import TP

_ASKED = 5
"""Times that the brokers were asked by which a rate is computed."""
_FRESH_SECONDS = 15.0
"""Age from which bounds say nothing of the present any more."""
STANDSTILL_SECONDS = 60.0
"""Time without reading what the brokers hold after which a worker is not ready."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Offsets of a partition, as the brokers last told them."""

    begin: int | None
    """Its first offset; None where it was not asked for."""
    end: int
    """Last stable offset."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Messages of the assigned partitions that are not done with; a value is None while it is not known."""

    messages: int | None = None
    seconds: float | None = None
    """Age of the oldest one; 0 without any."""
    arriving_per_second: float | None = None
    """Messages that come to the partitions."""
    partitions: Mapping[TP, int | None] | None = None
    """Messages by partition; None while the worker waits for its partitions."""
    unread_seconds: float = 0.0
    """Time for which none of them was read, though nothing is in flight."""


class Arrivals:
    """Messages that came to the assigned partitions in the last seconds, by the bounds of these."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: deque[tuple[float, Mapping[TP, Bounds]]] = deque(maxlen=_ASKED)

    def note(self, bounds: Mapping[TP, Bounds]) -> None:
        """Note bounds that the brokers have told just now."""
        self._asked.append((self._clock(), bounds))

    @property
    def bounds(self) -> Mapping[TP, Bounds]:
        """The newest bounds; none where the brokers have told none for some time."""
        return self._asked[-1][1] if self._is_fresh else {}

    @property
    def per_second(self) -> float | None:
        """Rate over the last times that the brokers were asked; None where it is not known."""
        if len(self._asked) < 2 or not self._is_fresh:
            return None
        arrived = sum(_growth(*each) for each in pairwise(bounds for _, bounds in self._asked))
        seconds = self._asked[-1][0] - self._asked[0][0]
        return arrived / seconds if seconds > 0 else None

    @property
    def _is_fresh(self) -> bool:
        return bool(self._asked) and self._clock() - self._asked[-1][0] < _FRESH_SECONDS


class Standstill:
    """Time for which no position has moved, though the brokers hold messages and nothing is in flight."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._positions: Mapping[TP, int | None] | None = None
        """Positions that have to move."""
        self._begun = clock()
        self.seconds = 0.0

    def note(self, positions: Mapping[TP, int | None], *, must_move: bool) -> None:
        """Note the positions to read next, given whether a message there waits for nothing else."""
        now, before = self._clock(), self.seconds
        if not must_move or positions != self._positions:
            self._begun = now
        self._positions = positions if must_move else None
        self.seconds = now - self._begun
        if before < STANDSTILL_SECONDS <= self.seconds:
            _log.warning(
                "nothing was read for %.0f s, though the brokers hold messages and none is in flight: if it "
                "goes on, the worker ends itself, and has to be started again",
                self.seconds,
            )

    def end(self) -> None:
        """Note that it is not known, or that there are no partitions to read."""
        self.note({}, must_move=False)


def _growth(before: Mapping[TP, Bounds], after: Mapping[TP, Bounds]) -> int:
    """Count the offsets that have come to partitions of both times."""
    both = before.keys() & after.keys()
    return sum(max(0, after[each].end - before[each].end) for each in both)


def lag_of(
    state: Any,  # noqa: ANN401 aiokafka has no types
    bounds: Bounds | None,
    committed: int | None,
    *,
    is_outstanding: bool,
) -> int | None:
    """Return the lag of a partition: the offsets up to the newest end known that are not done with.

    What follows the committed offset is, or, where no message is outstanding, what is not read: transactions
    leave offsets without a message. None before its end is known, and its beginning if nothing is committed.
    """
    known = (state.lso, None if bounds is None else bounds.end)
    ends = [end for end in known if end is not None]
    if not is_outstanding and state.has_valid_position:
        begin = state.position
    else:
        begin = committed if committed is not None or bounds is None else bounds.begin
    return max(0, int(max(ends) - begin)) if ends and begin is not None else None


async def find_bounds(consumer: AIOKafkaConsumer, *, uncommitted: Container[TP]) -> dict[TP, Bounds]:
    """Ask the brokers for the ends of the assigned partitions, and for the beginnings of uncommitted ones.

    Raises:
        KafkaError: they do not answer.
    """
    partitions = {TP(each.topic, each.partition): each for each in consumer.assignment()}
    if not partitions:  # aiokafka has nobody to ask before it has started
        return {}
    ends = await consumer.end_offsets(partitions.values())
    unread = [each for partition, each in partitions.items() if partition in uncommitted]
    begins = await consumer.beginning_offsets(unread) if unread else {}
    return {partition: Bounds(begins.get(each), ends[each]) for partition, each in partitions.items()}
