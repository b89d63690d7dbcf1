"""The acknowledging of messages: in the order of each partition, whatever order they are done in."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import zstandard

from dehusk.schemas.pages import Message
from dehusk.streams.settings import FlowLimits
from dehusk.streams.worker.intake import Arrival

_LEVEL = 1
"""The fastest of Zstandard; pages of crawls take a sixth of their bytes, hostile ones a thousandth."""


@dataclass(slots=True, eq=False)
class Entry:
    """An arrival in the order of its partition."""

    arrival: Arrival
    is_done: bool = False
    """Whether everything that its message became is delivered; its value is not kept then."""
    is_packed: bool = False
    """Whether its message has to be cleaned alone; its value is compressed until then."""

    def pack(self) -> None:
        """Compress the value."""
        value = self.arrival.message.value
        self._keep(None if value is None else zstandard.compress(value, _LEVEL))
        self.is_packed = True

    def unpacked(self) -> Message:
        """The message that was packed."""
        message, value = self.arrival.message, self.arrival.message.value
        return message if value is None else replace(message, value=zstandard.decompress(value))

    def done(self) -> None:
        """Note that everything that its message became is delivered."""
        self._keep(None)
        self.is_done = True

    def _keep(self, value: bytes | None) -> None:
        self.arrival = replace(self.arrival, message=replace(self.arrival.message, value=value))


class Acknowledgments:
    """The arrivals that are not acknowledged yet: not done, or behind one of their partition that is not."""

    def __init__(self, limits: FlowLimits) -> None:
        busy = limits.batches
        self._most = limits.most_pages
        self._most_bytes = busy * limits.batch_bytes + limits.waiting_bytes
        self._partitions: defaultdict[tuple[str, int], deque[Entry]] = defaultdict(deque)
        self._bytes = 0
        self._changed = asyncio.Event()

    def enter(self, arrival: Arrival) -> Entry:
        """The last entry, for now, in the partition of the arrival."""
        entry = Entry(arrival)
        self._partitions[arrival.message.topic, arrival.message.partition].append(entry)
        self._bytes += arrival.size
        return entry

    async def done(self, entries: Sequence[Entry]) -> None:
        """Acknowledge those that are done and have none before them that is not."""
        for entry in entries:
            self._bytes -= entry.arrival.size
            entry.done()
        for partition in list(self._partitions.values()):
            while partition and partition[0].is_done:
                await partition[0].arrival.acknowledge()
                partition.popleft()
        self._changed.set()

    async def pack(self, entry: Entry) -> None:
        """Keep the value of an entry compressed: its message has to wait until it is cleaned alone."""
        size = entry.arrival.size
        await asyncio.to_thread(entry.pack)
        self._bytes += entry.arrival.size - size
        self._changed.set()

    async def room(self) -> None:
        """Return once there is room for another batch."""
        while len(self) >= self._most or self._bytes >= self._most_bytes:
            self._changed.clear()
            await self._changed.wait()

    def abandon(self) -> None:
        """Give all of them up."""
        for entry in self:
            entry.arrival.abandon()

    def clear(self) -> None:
        """Forget all of them."""
        self._partitions.clear()
        self._bytes = 0

    def __iter__(self) -> Iterator[Entry]:
        return (entry for partition in self._partitions.values() for entry in partition)

    def __len__(self) -> int:
        return sum(map(len, self._partitions.values()))
