"""The acknowledging of messages: in the order of each partition, whatever order they are done in."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streams.settings import FlowLimits
from streams.worker.intake import Arrival


@dataclass(slots=True, eq=False)
class Entry:
    """An arrival in the order of its partition."""

    arrival: Arrival
    is_done: bool = False
    """Whether everything that its message became is delivered."""


class Acknowledgments:
    """The arrivals that are not acknowledged yet: not done, or behind one of their partition that is not."""

    def __init__(self, limits: FlowLimits) -> None:
        busy = limits.batches
        self._most = busy * limits.batch_pages + limits.waiting_pages
        self._most_bytes = busy * limits.batch_bytes + limits.waiting_bytes
        self._partitions: defaultdict[tuple[str, int], deque[Entry]] = defaultdict(deque)
        self._acknowledged = asyncio.Event()

    def enter(self, arrival: Arrival) -> Entry:
        """The last entry, for now, in the partition of the arrival."""
        entry = Entry(arrival)
        self._partitions[arrival.message.topic, arrival.message.partition].append(entry)
        return entry

    async def done(self, entries: Sequence[Entry]) -> None:
        """Acknowledge those that are done and have none before them that is not."""
        for entry in entries:
            entry.is_done = True
        for partition in list(self._partitions.values()):
            while partition and partition[0].is_done:
                await partition[0].arrival.acknowledge()
                partition.popleft()
        self._acknowledged.set()

    async def room(self) -> None:
        """Return once there is room for another batch."""
        while len(self) >= self._most or sum(entry.arrival.size for entry in self) >= self._most_bytes:
            self._acknowledged.clear()
            await self._acknowledged.wait()

    def abandon(self) -> None:
        """Give all of them up."""
        for entry in self:
            entry.arrival.abandon()

    def clear(self) -> None:
        """Forget all of them."""
        self._partitions.clear()

    def __iter__(self) -> Iterator[Entry]:
        return (entry for partition in self._partitions.values() for entry in partition)

    def __len__(self) -> int:
        return sum(map(len, self._partitions.values()))
