"""Arrivals: gathered into micro-batches, and acknowledged in the order of their partitions."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import zstandard

from dehusk.schemas.pages import Message
from dehusk.streams.settings import FlowLimits

_LEVEL = 1
"""Fastest level of Zstandard; it shrinks crawled pages to a sixth, hostile ones to a thousandth."""


@dataclass(slots=True, eq=False)
class Arrival:
    """A message as it came from the stream, with the callbacks that settle it."""

    message: Message
    acknowledge: Callable[[], Awaitable[object]]
    """To be called in the order of arrival, once all results of the message are delivered."""
    abandon: Callable[[], object]
    """To be called instead when the message is abandoned: Kafka will deliver it again."""
    is_done: bool = False
    """True if all results of the message are delivered; its value is dropped then."""
    is_packed: bool = False
    """True if the message has to be cleaned alone; its value is compressed until then."""

    @property
    def size(self) -> int:
        """Bytes of the message."""
        return len(self.message.value or b"")

    def pack(self) -> None:
        """Compress the value."""
        value = self.message.value
        if value is not None:
            # A copy, as the compressor shortens its result, and keeps the memory of one that is not smaller.
            self._keep(bytes(memoryview(zstandard.compress(value, _LEVEL))))
        self.is_packed = True

    def unpacked(self) -> Message:
        """Return the message that was packed."""
        value = self.message.value
        return self.message if value is None else replace(self.message, value=zstandard.decompress(value))

    def done(self) -> None:
        """Mark all results of the message as delivered."""
        self._keep(None)
        self.is_done = True

    def _keep(self, value: bytes | None) -> None:
        self.message = replace(self.message, value=value)


class Intake:
    """One open micro-batch: a stream fills it and waits while it is full, a flow takes it away."""

    def __init__(self, limits: FlowLimits) -> None:
        self._limits = limits
        self._open: list[Arrival] = []
        self._bytes = 0
        self._abandoned = 0
        self._begun = asyncio.Event()
        self._full = asyncio.Event()
        self._taken = asyncio.Event()

    async def put(self, arrival: Arrival) -> None:
        """Add an arrival as soon as the open batch has room; an empty one has room for any."""
        abandoned = self._abandoned
        while self._open and not self._has_room(arrival.size):
            self._full.set()
            self._taken.clear()
            await self._taken.wait()
        if abandoned != self._abandoned:
            arrival.abandon()
            return
        self._open.append(arrival)
        self._bytes += arrival.size
        self._begun.set()

    async def take(self) -> list[Arrival]:
        """Take the next batch, once it is full or its time limit is reached."""
        await self._begun.wait()
        if self._has_room(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.batch_seconds):
                    await self._full.wait()
        return self._clear()

    def abandon(self) -> None:
        """Abandon the open batch, and what waits for room in it."""
        self._abandoned += 1
        for arrival in self._clear():
            arrival.abandon()

    def __len__(self) -> int:
        return len(self._open)

    def _clear(self) -> list[Arrival]:
        batch, self._open, self._bytes = self._open, [], 0
        self._begun.clear()
        self._full.clear()
        self._taken.set()
        return batch

    def _has_room(self, size: int) -> bool:
        return len(self._open) < self._limits.batch_pages and self._bytes + size <= self._limits.batch_bytes


class Acknowledgments:
    """Unacknowledged arrivals: not done, or after one of the same partition that is not."""

    def __init__(self, limits: FlowLimits) -> None:
        self._max_messages = limits.most_pages
        self._max_bytes = limits.batches * limits.batch_bytes + limits.waiting_bytes
        self._partitions: defaultdict[tuple[str, int], deque[Arrival]] = defaultdict(deque)
        self._bytes = 0
        self._changed = asyncio.Event()

    def add(self, arrivals: Sequence[Arrival]) -> None:
        """Add arrivals after all others of their partitions."""
        for arrival in arrivals:
            self._partitions[arrival.message.topic, arrival.message.partition].append(arrival)
            self._bytes += arrival.size

    async def done(self, arrivals: Sequence[Arrival]) -> None:
        """Mark arrivals as done, and acknowledge each partition up to its first arrival that is not."""
        for arrival in arrivals:
            self._bytes -= arrival.size
            arrival.done()
        for partition in list(self._partitions.values()):
            while partition and partition[0].is_done:
                await partition[0].acknowledge()
                partition.popleft()
        self._changed.set()

    async def pack(self, arrival: Arrival) -> None:
        """Compress the value of an arrival that waits to be cleaned alone."""
        size = arrival.size
        await asyncio.to_thread(arrival.pack)
        self._bytes += arrival.size - size
        self._changed.set()

    async def wait_for_room(self) -> None:
        """Wait until there is room for another batch."""
        while len(self) >= self._max_messages or self._bytes >= self._max_bytes:
            self._changed.clear()
            await self._changed.wait()

    def abandon(self) -> None:
        """Abandon all arrivals."""
        for arrival in self:
            arrival.abandon()

    def clear(self) -> None:
        """Drop all arrivals."""
        self._partitions.clear()
        self._bytes = 0

    def __iter__(self) -> Iterator[Arrival]:
        return (arrival for partition in self._partitions.values() for arrival in partition)

    def __len__(self) -> int:
        return sum(map(len, self._partitions.values()))
