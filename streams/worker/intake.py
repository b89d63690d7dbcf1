"""The gathering of messages into micro-batches, bounded in messages, bytes and time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from dehusk.schemas.pages import Message
from dehusk.streams.settings import FlowLimits


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as it came from the stream, with what the stream wants to be told about it."""

    message: Message
    acknowledge: Callable[[], Awaitable[object]]
    """To be called in the order of arrival, once everything that the message became is delivered."""
    abandon: Callable[[], object]
    """To be called instead when it is given up: Kafka will give it to a worker again."""

    @property
    def size(self) -> int:
        """Bytes of the message."""
        return len(self.message.value or b"")


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
        """The next batch, once it is full or has waited for as long as it may."""
        await self._begun.wait()
        if self._has_room(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.batch_seconds):
                    await self._full.wait()
        return self._clear()

    def abandon(self) -> None:
        """Give up what has arrived since the last batch, and what is waiting for room."""
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
