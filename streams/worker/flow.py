"""The flow of micro-batches: several are cleaned at once, delivered and acknowledged strictly in order."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass

from schemas.pages import Message
from streams.settings import FlowLimits
from streams.worker.assembly import CleanedMessage
from streams.worker.intake import Arrival, Intake
from streams.worker.metrics import Metrics

Clean = Callable[[Sequence[Message]], Coroutine[None, None, list[CleanedMessage]]]
"""Answers what became of the first messages, in order; of none where the first has to be cleaned alone."""
CleanAlone = Callable[[Message], Awaitable[CleanedMessage]]
Deliver = Callable[[Sequence[CleanedMessage]], Awaitable[None]]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    arrivals: list[Arrival]
    cleaning: asyncio.Task[list[CleanedMessage]]
    begun: float

    @property
    def size(self) -> int:
        """Bytes of its messages."""
        return sum(arrival.size for arrival in self.arrivals)


class Flow:
    """Bounds what is in flight: while all batches are busy, arrivals wait and the stream is not read.

    A message that has to be cleaned alone waits until its batch is the oldest, so there is one at a time.
    """

    def __init__(
        self, limits: FlowLimits, clean: Clean, clean_alone: CleanAlone, deliver: Deliver, metrics: Metrics
    ) -> None:
        self.intake = Intake(limits)
        self._limits = limits
        self._clean = clean
        self._clean_alone = clean_alone
        self._deliver = deliver
        self._metrics = metrics
        self._in_flight: list[_Batch] = []
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
        """Messages in flight."""
        return len(self.intake) + sum(len(batch.arrivals) for batch in self._in_flight)

    @property
    def age(self) -> float:
        """Seconds since the oldest batch in flight was begun or came forward; 0 where there is none."""
        oldest = self._in_flight[:1]  # a copy, for the watchdog asks from a thread of its own
        return time.monotonic() - max(oldest[0].begun, self._moved) if oldest else 0.0

    async def _run(self) -> None:
        self._in_flight.clear()
        free = asyncio.Semaphore(self._limits.batches)
        batches: asyncio.Queue[_Batch] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._finish_in_order(batches, free))
            while True:
                await free.acquire()
                await self._wait_for_room()
                arrivals = await self.intake.take()
                cleaning = tasks.create_task(self._clean([arrival.message for arrival in arrivals]))
                batch = _Batch(arrivals, cleaning, time.monotonic())
                self._in_flight.append(batch)
                batches.put_nowait(batch)

    async def _finish_in_order(self, batches: asyncio.Queue[_Batch], free: asyncio.Semaphore) -> None:
        while True:
            batch = await batches.get()
            arrivals, cleaned = batch.arrivals, await batch.cleaning
            await self._finish(arrivals, cleaned)
            while arrivals := arrivals[len(cleaned) :]:
                messages = [arrival.message for arrival in arrivals]
                cleaned = await self._clean(messages) or [await self._clean_alone(messages[0])]
                await self._finish(arrivals, cleaned)
            self._in_flight.remove(batch)
            self._finished.set()
            free.release()

    async def _wait_for_room(self) -> None:
        while sum(batch.size for batch in self._in_flight) >= self._limits.in_flight_bytes:
            self._finished.clear()
            await self._finished.wait()

    async def _finish(self, arrivals: Sequence[Arrival], cleaned: Sequence[CleanedMessage]) -> None:
        with self._metrics.step("deliver"):
            await self._deliver(cleaned)
        for arrival, message in zip(arrivals, cleaned, strict=False):
            await arrival.acknowledge()
            self._metrics.count(message)
        self._moved = time.monotonic()

    def _abandon(self) -> None:
        if len(self):
            _log.warning("giving up %d messages in flight; Kafka will give them to a worker again", len(self))
        self.intake.abandon()
        for batch in self._in_flight:
            for arrival in batch.arrivals:
                arrival.abandon()
        if self._running is not None:
            self._running.cancel()
