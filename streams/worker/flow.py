"""The flow of micro-batches: several are cleaned at once, delivered in order, and acknowledged in order.

What is postponed leaves the flow and comes back to it; what comes behind is delivered meanwhile.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from schemas.pages import Message
from streams.settings import FlowLimits
from streams.worker.acknowledging import Acknowledgments, Entry
from streams.worker.assembly import CleanedMessage
from streams.worker.availability import Dependency
from streams.worker.intake import Intake
from streams.worker.metrics import Metrics
from streams.worker.postponed import Cleaned, PostponedMessages, Result

Deliver = Callable[[Sequence[CleanedMessage]], Awaitable[None]]
_log = logging.getLogger(__name__)


class Cleaner(Protocol):
    """What takes messages through all steps but delivery."""

    async def clean(self, messages: Sequence[Message]) -> list[Result]:
        """What became of the first messages, in order; of none where the first has to be cleaned alone."""
        ...

    async def clean_alone(self, message: Message) -> Result:
        """What became of a message, whatever it needs."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    entries: list[Entry]
    cleaning: asyncio.Task[list[Result]]
    begun: float

    @property
    def size(self) -> int:
        """Bytes of its messages."""
        return sum(entry.arrival.size for entry in self.entries)


class Flow:
    """Bounds what is in flight: while all batches are busy, arrivals wait and the stream is not read.

    A message that has to be cleaned alone waits until its batch is the oldest, so there is one at a time.
    """

    def __init__(
        self,
        limits: FlowLimits,
        cleaner: Cleaner,
        deliver: Deliver,
        schema_registry: Dependency,
        metrics: Metrics,
    ) -> None:
        self.intake = Intake(limits)
        self._limits = limits
        self._cleaner = cleaner
        self._deliver = deliver
        self._metrics = metrics
        self._in_flight: list[_Batch] = []
        self._unacknowledged = Acknowledgments(limits)
        self._postponed = PostponedMessages(schema_registry, limits.batch_pages)
        self._delivering = asyncio.Lock()
        self._finished = asyncio.Event()
        self._moved = 0.0
        self._running: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Take batches from the intake for ever; what is raised is a bug of a step."""
        while True:
            self._running = asyncio.create_task(self._run())
            try:
                await self._running
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) and task.cancelling():
                    raise

    def finish_within(self, seconds: float) -> None:
        """Give up what is still in flight after that time, so that nothing waits for it for ever."""
        self.take_your_time()
        self._deadline = asyncio.get_running_loop().call_later(seconds, self._abandon)

    def take_your_time(self) -> None:
        """Lift the deadline."""
        if self._deadline is not None:
            self._deadline.cancel()

    def __len__(self) -> int:
        """Messages in flight, those included that wait and those behind them."""
        return len(self.intake) + len(self._unacknowledged)

    @property
    def age(self) -> float:
        """Seconds since the oldest batch in flight was begun or came forward; 0 where there is none."""
        oldest = self._in_flight[:1]  # a copy, for the watchdog asks from a thread of its own
        return time.monotonic() - max(oldest[0].begun, self._moved) if oldest else 0.0

    async def _run(self) -> None:
        self._in_flight.clear()
        self._unacknowledged.clear()
        self._postponed.clear()
        free = asyncio.Semaphore(self._limits.batches)
        batches: asyncio.Queue[_Batch] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._finish_in_order(batches, free))
            tasks.create_task(self._try_again(tasks))
            while True:
                await free.acquire()
                await self._wait_for_room()
                await self._unacknowledged.room()
                entries = [self._unacknowledged.enter(arrival) for arrival in await self.intake.take()]
                batches.put_nowait(self._begin(entries, tasks))

    def _begin(self, entries: list[Entry], tasks: asyncio.TaskGroup) -> _Batch:
        cleaning = tasks.create_task(self._cleaner.clean(_messages(entries)))
        batch = _Batch(entries, cleaning, time.monotonic())
        self._in_flight.append(batch)
        return batch

    async def _finish_in_order(self, batches: asyncio.Queue[_Batch], free: asyncio.Semaphore) -> None:
        while True:
            batch = await batches.get()
            entries, results = batch.entries, await batch.cleaning
            await self._finish(self._postponed.hold_back(entries, results))
            while entries := entries[len(results) :]:
                results = await self._cleaner.clean(_messages(entries)) or await self._clean_first(entries)
                await self._finish(self._postponed.hold_back(entries, results))
            self._end(batch)
            free.release()

    async def _clean_first(self, entries: Sequence[Entry]) -> list[Result]:
        return [await self._cleaner.clean_alone(entries[0].arrival.message)]

    async def _wait_for_room(self) -> None:
        while sum(batch.size for batch in self._in_flight) >= self._limits.in_flight_bytes:
            self._finished.clear()
            await self._finished.wait()

    def _end(self, batch: _Batch) -> None:
        self._in_flight.remove(batch)
        self._finished.set()

    async def _try_again(self, tasks: asyncio.TaskGroup) -> None:
        """Clean what was postponed, until that succeeds."""
        while True:
            batch = self._begin(await self._postponed.due(), tasks)
            results = await batch.cleaning or await self._clean_first(batch.entries)
            await self._finish(self._postponed.try_again(batch.entries, results))
            self._end(batch)

    async def _finish(self, cleaned: Cleaned) -> None:
        messages = [message for _, message in cleaned]
        async with self._delivering:
            with self._metrics.step("deliver"):
                await self._deliver(messages)
            await self._unacknowledged.done([entry for entry, _ in cleaned])
        for message in messages:
            self._metrics.count(message)
        self._moved = time.monotonic()

    def _abandon(self) -> None:
        if len(self):
            _log.warning("giving up %d messages in flight; Kafka will give them to a worker again", len(self))
        self.intake.abandon()
        self._unacknowledged.abandon()
        if self._running is not None:
            self._running.cancel()


def _messages(entries: Sequence[Entry]) -> list[Message]:
    return [entry.arrival.message for entry in entries]
