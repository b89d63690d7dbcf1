"""The flow of micro-batches: several are cleaned at once, delivered in order, and acknowledged in order.

What waits for the schema registry, or has to be cleaned alone, leaves its batch for a lane beside the flow;
what is behind it is delivered meanwhile.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from dehusk.streams.counted import counted
from dehusk.streams.settings import FlowLimits
from dehusk.streams.worker.acknowledging import Acknowledgments, Entry
from dehusk.streams.worker.assembly import CleanedMessage
from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.cleaning import Cleaner, Cleaning, Result, end_traces
from dehusk.streams.worker.intake import Intake
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.set_aside import Cleaned, Lane, SetAside
from dehusk.streams.worker.tracing.traces import delivering

Deliver = Callable[[Sequence[CleanedMessage]], Awaitable[None]]
_log = logging.getLogger(__name__)


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
    """Bounds what is in flight: while all batches are busy, arrivals wait and the stream is not read."""

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
        self._deliver = deliver
        self._metrics = metrics
        self._in_flight: list[_Batch] = []
        self._unacknowledged = Acknowledgments(limits)
        self._cleaning = Cleaning(cleaner, self._unacknowledged)
        self._set_aside = SetAside(schema_registry, limits.batch_pages)
        self._trials: dict[Lane, float] = {}
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
        """Seconds since the oldest batch in flight was begun or came forward, or a lane began with a trial.

        It is the longest of these times, and 0 where there is none.
        """
        # of copies, for the watchdog asks from a thread of its own
        begun = [max(batch.begun, self._moved) for batch in self._in_flight[:1]] + list(self._trials.values())
        return time.monotonic() - min(begun) if begun else 0.0

    async def _run(self) -> None:
        self._in_flight.clear()
        self._unacknowledged.clear()
        self._set_aside.clear()
        self._trials.clear()
        free = asyncio.Semaphore(self._limits.batches)
        batches: asyncio.Queue[_Batch] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._finish_in_order(batches, free))
            tasks.create_task(self._work_off(self._set_aside.postponed, alone=False))
            tasks.create_task(self._work_off(self._set_aside.oversized, alone=True))
            while True:
                await free.acquire()
                await self._wait_for_room()
                await self._unacknowledged.room()
                entries = [self._unacknowledged.enter(arrival) for arrival in await self.intake.take()]
                batches.put_nowait(self._begin(entries, tasks))

    def _begin(self, entries: list[Entry], tasks: asyncio.TaskGroup) -> _Batch:
        cleaning = tasks.create_task(self._cleaning.clean(entries))
        batch = _Batch(entries, cleaning, time.monotonic())
        self._in_flight.append(batch)
        return batch

    async def _finish_in_order(self, batches: asyncio.Queue[_Batch], free: asyncio.Semaphore) -> None:
        while True:
            batch = await batches.get()
            entries = await self._finish_first(batch.entries, await batch.cleaning)
            while entries:
                entries = await self._finish_first(entries, await self._cleaning.clean(entries))
            self._end(batch)
            free.release()

    async def _finish_first(self, entries: list[Entry], results: Sequence[Result]) -> list[Entry]:
        """Finish what need not wait of the first entries, for which there are results; returns the others."""
        await self._finish(self._set_aside.hold_back(entries, results))
        end_traces(results)
        self._moved = time.monotonic()
        return entries[len(results) :]

    async def _wait_for_room(self) -> None:
        while sum(batch.size for batch in self._in_flight) >= self._limits.in_flight_bytes:
            self._finished.clear()
            await self._finished.wait()

    def _end(self, batch: _Batch) -> None:
        self._in_flight.remove(batch)
        self._finished.set()

    async def _work_off(self, lane: Lane, *, alone: bool) -> None:
        """Clean what is set aside in a lane, until that succeeds."""
        while True:
            entries = await lane.due()
            self._trials[lane] = time.monotonic()
            results = await self._cleaning.clean_again(entries, alone=alone)
            await self._finish(self._set_aside.try_again(lane, entries, results))
            end_traces(results)
            del self._trials[lane], results

    async def _finish(self, cleaned: Cleaned) -> None:
        messages = [message for _, message in cleaned]
        async with self._delivering:
            with self._metrics.step("deliver"), delivering(messages):
                await self._deliver(messages)
            await self._unacknowledged.done([entry for entry, _ in cleaned])
        for message in messages:
            self._metrics.count(message)

    def _abandon(self) -> None:
        if len(self):
            given_up = counted(len(self), "message")
            _log.warning("giving up %s in flight: Kafka will give them to a worker again", given_up)
        self.intake.abandon()
        self._unacknowledged.abandon()
        if self._running is not None:
            self._running.cancel()
