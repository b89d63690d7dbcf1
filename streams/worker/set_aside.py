"""The messages that have left their batches, so that nothing but later messages of their keys waits for them.

They are in one of two lanes: in one they wait for the schema registry, in the other they are cleaned alone.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import chain, islice

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.preparation.preparation import Postponed
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.worker.acknowledging import Entry
from dehusk.streams.worker.assembly import CleanedMessage
from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.backoff import back_off
from dehusk.streams.worker.cleaning import Result

Cleaned = list[tuple[Entry, CleanedMessage]]


class Lane:
    """Entries in a queue for each key: the newest version of a page comes last."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._queues: dict[bytes | Entry, deque[Entry]] = {}
        self._filled = asyncio.Event()
        self._trial = 0

    async def due(self) -> list[Entry]:
        """The first entries, once there are some and it is time to try them again."""
        await self._filled.wait()
        if self._trial:
            await back_off(self._trial - 1)
        return list(islice(chain.from_iterable(self._queues.values()), self._at_once))

    def tried(self, *, in_vain: bool) -> None:
        """Note how a trial ended: the next one waits for longer after each that was in vain."""
        self._trial = self._trial + 1 if in_vain else 0

    def has_key_of(self, entry: Entry) -> bool:
        """Whether entries of its key are in the lane."""
        return _key(entry) in self._queues

    def is_first(self, entry: Entry) -> bool:
        """Whether it is in the lane and nothing of its key before it."""
        return self._queues.get(_key(entry), [None])[0] is entry

    def append(self, entry: Entry) -> None:
        """Add an entry behind those of its key."""
        self._queues.setdefault(_key(entry), deque()).append(entry)
        self._filled.set()

    def remove(self, entry: Entry) -> None:
        """Take away an entry that is the first of its key."""
        queue = self._queues[_key(entry)]
        queue.popleft()
        if not queue:
            self._take(entry)

    def move(self, entry: Entry, lane: "Lane") -> None:
        """Move the entries of its key to a lane that has none of them."""
        for each in self._take(entry):
            lane.append(each)

    def clear(self) -> None:
        """Forget all entries."""
        self._queues.clear()
        self._filled.clear()
        self._trial = 0

    def _take(self, entry: Entry) -> deque[Entry]:
        queue = self._queues.pop(_key(entry))
        if not self._queues:
            self._filled.clear()
        return queue


class SetAside:
    """The entries that have left their batches; those of the same key are in the same lane."""

    def __init__(self, schema_registry: Dependency, at_once: int) -> None:
        self.postponed = Lane(at_once)
        self.oversized = Lane(at_once)
        self._lanes = (self.postponed, self.oversized)
        self._schema_registry = schema_registry
        self._needing_schemas: set[Entry] = set()

    def hold_back(self, entries: Sequence[Entry], results: Sequence[Result]) -> Cleaned:
        """What goes on of the results to the first entries of a batch; the others are set aside."""
        ready: Cleaned = []
        for entry, result in zip(entries, results, strict=False):
            lane = next((lane for lane in self._lanes if lane.has_key_of(entry)), None)
            if lane is not None:
                lane.append(entry)
            elif isinstance(result, CleanedMessage):
                ready.append((entry, result))
            else:
                self._lane_for(result).append(entry)
        self._note(entries, results, ready)
        return ready

    def try_again(self, lane: Lane, entries: Sequence[Entry], results: Sequence[Result]) -> Cleaned:
        """What goes on of the results to the first entries of a lane; the others stay, or change lanes."""
        ready: Cleaned = []
        for entry, result in zip(entries, results, strict=False):
            if not lane.is_first(entry):
                continue
            if isinstance(result, CleanedMessage):
                lane.remove(entry)
                ready.append((entry, result))
            elif lane is not self._lane_for(result):
                lane.move(entry, self._lane_for(result))
        lane.tried(in_vain=not ready)
        self._note(entries, results, ready)
        return ready

    def clear(self) -> None:
        """Forget all of them: this worker no longer waits for the schema registry."""
        for lane in self._lanes:
            lane.clear()
        self._needing_schemas.clear()
        self._schema_registry.unavailable_since = None

    def _lane_for(self, result: Postponed | Oversized) -> Lane:
        return self.postponed if isinstance(result, Postponed) else self.oversized

    def _note(self, entries: Sequence[Entry], results: Sequence[Result], ready: Cleaned) -> None:
        """Note whether the schema registry is there, which a message tells that it was missed for before."""
        pairs = zip(entries, results, strict=False)
        postponed = {entry: result.detail for entry, result in pairs if isinstance(result, Postponed)}
        done = {entry for entry, _ in ready}
        if postponed:
            self._schema_registry.missed(UnavailableError(next(iter(postponed.values()))))
        elif self._needing_schemas & done:
            self._schema_registry.answered()
        self._needing_schemas = (self._needing_schemas | postponed.keys()) - done


def _key(entry: Entry) -> bytes | Entry:
    """The key of its message; an entry without one is in a queue of its own."""
    key = entry.arrival.message.key
    return entry if key is None else key
