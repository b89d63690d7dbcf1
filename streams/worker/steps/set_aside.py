"""Messages set aside from their batches, so that only later messages with the same key, or partition, wait.

There are two lanes: messages that wait for the schema registry, and messages that are cleaned alone.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from itertools import chain, islice

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.availability import Dependency, back_off
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.preparation.steps import Postponed
from dehusk.streams.worker.input.intake import Arrival
from dehusk.streams.worker.results import CleanedMessage, Result

Key = Callable[[Arrival], object]
"""Function that returns the key of an arrival's queue."""
Cleaned = list[tuple[Arrival, CleanedMessage]]


class Lane:
    """Arrivals in a queue for each key, in order; queues that wait for the same are a group."""

    def __init__(self, at_once: int, key: Key) -> None:
        self._at_once = at_once
        self._key = key
        self._queues: dict[object, deque[Arrival]] = {}
        self._waits_for: dict[object, str] = {}
        """The schema that a queue waits for, where one is known."""
        self._first_group = 0
        self._filled = asyncio.Event()
        self._failures = 0

    async def due(self) -> list[Arrival]:
        """Return the first arrivals of each group, once there are some and the back-off is over.

        Groups have equal shares, so that none waits for what another one waits for, and each is first in its
        turn, as the registry may be found unavailable by the first that it is asked for.
        """
        await self._filled.wait()
        if self._failures:
            await back_off(self._failures - 1)
        groups = defaultdict(list)
        for key, queue in self._queues.items():
            groups[self._waits_for.get(key)].append(queue)
        first = self._first_group % max(len(groups), 1)
        self._first_group = first + (self._at_once if len(groups) > self._at_once else 1)
        in_turn = list(groups.values())
        chosen = [*in_turn[first:], *in_turn[:first]][: self._at_once]
        share = self._at_once // max(len(chosen), 1)
        return [each for group in chosen for each in islice(chain.from_iterable(group), share)]

    def note_attempt(self, *, failed: bool) -> None:
        """Note an attempt; failed ones in a row prolong the back-off."""
        self._failures = self._failures + 1 if failed else 0

    def has_key_of(self, arrival: Arrival) -> bool:
        """Return True if the lane has arrivals with the same key."""
        return self._key(arrival) in self._queues

    def is_first(self, arrival: Arrival) -> bool:
        """Return True if the arrival is the first with its key in the lane."""
        return self._queues.get(self._key(arrival), [None])[0] is arrival

    def append(self, arrival: Arrival) -> None:
        """Add an arrival after those with the same key."""
        self._queues.setdefault(self._key(arrival), deque()).append(arrival)
        self._filled.set()

    def note_schema(self, arrival: Arrival, schema: str | None) -> None:
        """Note the schema that the arrival, the first with its key, waits for."""
        if schema is None:
            self._waits_for.pop(self._key(arrival), None)
        else:
            self._waits_for[self._key(arrival)] = schema

    def remove(self, arrival: Arrival) -> None:
        """Remove an arrival that is the first with its key."""
        queue = self._queues[self._key(arrival)]
        queue.popleft()
        if not queue:
            self._take(arrival)

    def move(self, arrival: Arrival, lane: "Lane") -> None:
        """Move the arrivals with the same key to a lane that has none of them."""
        for each in self._take(arrival):
            lane.append(each)

    def clear(self) -> None:
        """Drop all arrivals."""
        self._queues.clear()
        self._waits_for.clear()
        self._filled.clear()
        self._failures = 0

    def _take(self, arrival: Arrival) -> deque[Arrival]:
        queue = self._queues.pop(self._key(arrival))
        self._waits_for.pop(self._key(arrival), None)
        if not self._queues:
            self._filled.clear()
        return queue


class SetAside:
    """Arrivals set aside from their batches; those with the same key are in the same lane.

    With `by_partition`, all later ones of a partition wait: its messages are delivered in their order.
    """

    def __init__(self, schema_registry: Dependency, at_once: int, *, by_partition: bool = False) -> None:
        key = _partition if by_partition else _message_key
        self.postponed = Lane(at_once, key)
        self.oversized = Lane(at_once, key)
        self._lanes = (self.postponed, self.oversized)
        self._schema_registry = schema_registry
        self._needing_schemas: set[Arrival] = set()

    def hold_back(self, arrivals: Sequence[Arrival], results: Sequence[Result]) -> Cleaned:
        """Return the results of a batch that can be delivered now; set the other arrivals aside."""
        ready: Cleaned = []
        for arrival, result in zip(arrivals, results, strict=False):
            lane = next((lane for lane in self._lanes if lane.has_key_of(arrival)), None)
            if lane is not None:
                lane.append(arrival)
            elif isinstance(result, CleanedMessage):
                ready.append((arrival, result))
            else:
                self._lane_for(result).append(arrival)
                self._note_schema(arrival, result)
        self._note(arrivals, results, ready)
        return ready

    def try_again(self, lane: Lane, arrivals: Sequence[Arrival], results: Sequence[Result]) -> Cleaned:
        """Return the results of a lane that can be delivered now; other arrivals stay or change lanes."""
        ready: Cleaned = []
        for arrival, result in zip(arrivals, results, strict=False):
            if not lane.is_first(arrival):
                continue
            if isinstance(result, CleanedMessage):
                lane.remove(arrival)
                ready.append((arrival, result))
            else:
                if lane is not self._lane_for(result):
                    lane.move(arrival, self._lane_for(result))
                self._note_schema(arrival, result)
        lane.note_attempt(failed=not ready)
        self._note(arrivals, results, ready)
        return ready

    def clear(self) -> None:
        """Drop all arrivals: this worker no longer waits for the schema registry."""
        for lane in self._lanes:
            lane.clear()
        self._needing_schemas.clear()
        self._schema_registry.unavailable_since = None

    def _lane_for(self, result: Postponed | Oversized) -> Lane:
        return self.postponed if isinstance(result, Postponed) else self.oversized

    def _note_schema(self, arrival: Arrival, result: Postponed | Oversized) -> None:
        if isinstance(result, Postponed):
            self.postponed.note_schema(arrival, result.schema)

    def _note(self, arrivals: Sequence[Arrival], results: Sequence[Result], ready: Cleaned) -> None:
        """Update the schema registry's availability, by messages that it failed for, now or before."""
        pairs = zip(arrivals, results, strict=False)
        postponed = {arrival: result.detail for arrival, result in pairs if isinstance(result, Postponed)}
        done = {arrival for arrival, _ in ready}
        if postponed:
            self._schema_registry.missed(UnavailableError(next(iter(postponed.values()))))
        elif self._needing_schemas & done:
            self._schema_registry.answered()
        self._needing_schemas = (self._needing_schemas | postponed.keys()) - done


def _message_key(arrival: Arrival) -> bytes | Arrival:
    """Return the key of an arrival's message or, without one, the arrival itself."""
    key = arrival.message.key
    return arrival if key is None else key


def _partition(arrival: Arrival) -> tuple[str, int]:
    return arrival.message.topic, arrival.message.partition
