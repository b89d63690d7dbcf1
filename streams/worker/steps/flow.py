"""Flow of micro-batches: several are cleaned at once, then delivered and acknowledged in order.

Messages that wait for the schema registry, or have to be cleaned alone, leave their batches for a lane; later
messages are delivered meanwhile.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

from dehusk.streams.availability import Dependency
from dehusk.streams.cancellation import TaskGroup
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.settings import FlowLimits
from dehusk.streams.wording import pluralize
from dehusk.streams.worker.input.intake import Acknowledgments, Arrival, Intake
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.results import CleanedMessage, Result, delivering, end_traces
from dehusk.streams.worker.steps.batch import MessageCleaner
from dehusk.streams.worker.steps.set_aside import Cleaned, Lane, SetAside

_log = logging.getLogger(__name__)


class DeliveryProtocol(Protocol):
    """Interface of the delivery of results."""

    async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
        """Return once the brokers hold all results."""
        ...

    def give_up(self) -> None:
        """Send nothing more of what is being delivered."""
        ...

    async def renew(self) -> None:
        """Wait until nothing is left of what was given up."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    arrivals: list[Arrival]
    cleaning: asyncio.Task[list[Result]]
    begun: float

    @property
    def size(self) -> int:
        """Bytes of its messages."""
        return sum(arrival.size for arrival in self.arrivals)


class Flow:
    """Bounded flow of messages: while all batches are busy, arrivals wait and the stream is not read."""

    def __init__(
        self,
        limits: FlowLimits,
        cleaner: MessageCleaner,
        delivery: DeliveryProtocol,
        schema_registry: Dependency,
        metrics: Metrics,
        *,
        by_partition: bool = False,
    ) -> None:
        self.intake = Intake(limits)
        self._limits = limits
        self._cleaner = cleaner
        self._delivery = delivery
        self._metrics = metrics
        self._in_flight: list[_Batch] = []
        self._unacknowledged = Acknowledgments(limits)
        self._set_aside = SetAside(schema_registry, limits.batch_pages, by_partition=by_partition)
        self._attempts_begun: dict[Lane, float] = {}
        self._delivering = asyncio.Lock()
        self._finished = asyncio.Event()
        self._last_progress = 0.0
        self._running: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._is_ending = False

    async def run(self) -> None:
        """Process batches of the intake until cancelled; an exception is a bug of a step."""
        while True:
            self._running = asyncio.create_task(self._run())
            try:
                await self._running
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) and task.cancelling():
                    raise

    def finish_within(self, seconds: float) -> None:
        """Set a deadline, after which the messages in flight are abandoned; the last one only sooner."""
        loop = asyncio.get_running_loop()
        ends_sooner = self._deadline is not None and self._deadline.when() <= loop.time() + seconds
        if not (self._is_ending and ends_sooner):
            self._drop_deadline()
            self._deadline = loop.call_later(seconds, self.give_up)

    def lift_deadline(self) -> None:
        """Lift the deadline."""
        if not self._is_ending:
            self._drop_deadline()

    def end_within(self, seconds: float) -> None:
        """Set the last deadline, which no rebalance lifts or postpones, and which postpones that of none."""
        self._is_ending = True
        self.finish_within(seconds)

    def give_up(self) -> None:
        """Abandon the messages in flight: Kafka gives them out again, or has done so."""
        if len(self):
            messages = pluralize(len(self), "message")
            _log.warning("giving up %s in flight: Kafka will give them to a worker again", messages)
        self._drop_deadline()
        self._delivery.give_up()
        self.intake.abandon()
        self._unacknowledged.abandon()
        if self._running is not None:
            self._running.cancel()

    def _drop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def __len__(self) -> int:
        """Return the number of messages in flight, waiting ones included."""
        return len(self.intake) + len(self._unacknowledged)

    @property
    def age(self) -> float:
        """Seconds without progress of the first batch in flight, or of a lane's attempt if that is longer.

        It is 0 without any.
        """
        # on copies, as the watchdog calls this from its own thread
        begun = [*self._attempts_begun.values()]
        begun += [max(batch.begun, self._last_progress) for batch in self._in_flight[:1]]
        return time.monotonic() - min(begun) if begun else 0.0

    async def _run(self) -> None:
        self._in_flight.clear()
        self._unacknowledged.clear()
        self._set_aside.clear()
        self._attempts_begun.clear()
        await self._delivery.renew()
        free = asyncio.Semaphore(self._limits.batches)
        batches: asyncio.Queue[_Batch] = asyncio.Queue()
        async with TaskGroup() as tasks:
            tasks.create_task(self._finish_in_order(batches, free))
            tasks.create_task(self._retry_lane(self._set_aside.postponed, alone=False))
            tasks.create_task(self._retry_lane(self._set_aside.oversized, alone=True))
            while True:
                await free.acquire()
                await self._wait_for_room()
                await self._unacknowledged.wait_for_room()
                arrivals = await self.intake.take()
                self._unacknowledged.add(arrivals)
                batches.put_nowait(self._begin(arrivals, tasks))

    def _begin(self, arrivals: list[Arrival], tasks: TaskGroup) -> _Batch:
        cleaning = tasks.create_task(self._clean(arrivals))
        batch = _Batch(arrivals, cleaning, time.monotonic())
        self._in_flight.append(batch)
        return batch

    async def _clean(self, arrivals: Sequence[Arrival]) -> list[Result]:
        """Clean the first arrivals, at least one; compress one that has to be cleaned alone."""
        results = await self._cleaner.clean([arrival.message for arrival in arrivals])
        if isinstance(results[0], Oversized):
            await self._unacknowledged.pack(arrivals[0])
        return results

    async def _clean_again(self, arrivals: Sequence[Arrival], *, alone: bool) -> list[Result]:
        """Clean the first arrivals of a lane, at least one; a compressed one only with `alone`."""
        if unpacked := list(takewhile(lambda arrival: not arrival.is_packed, arrivals)):
            return await self._clean(unpacked)
        if alone:
            return [await self._cleaner.clean_alone(await asyncio.to_thread(arrivals[0].unpacked))]
        return [Oversized()]

    async def _finish_in_order(self, batches: asyncio.Queue[_Batch], free: asyncio.Semaphore) -> None:
        while True:
            batch = await batches.get()
            arrivals = await self._finish_first(batch.arrivals, await batch.cleaning)
            while arrivals:
                arrivals = await self._finish_first(arrivals, await self._clean(arrivals))
            self._in_flight.remove(batch)
            self._finished.set()
            free.release()

    async def _finish_first(self, arrivals: list[Arrival], results: Sequence[Result]) -> list[Arrival]:
        """Finish the first arrivals, which have results, or set them aside; return the others."""
        await self._finish(self._set_aside.hold_back(arrivals, results))
        end_traces(results)
        self._last_progress = time.monotonic()
        return arrivals[len(results) :]

    async def _wait_for_room(self) -> None:
        while sum(batch.size for batch in self._in_flight) >= self._limits.in_flight_bytes:
            self._finished.clear()
            await self._finished.wait()

    async def _retry_lane(self, lane: Lane, *, alone: bool) -> None:
        """Retry the arrivals of a lane until cancelled."""
        while True:
            arrivals = await lane.due()
            self._attempts_begun[lane] = time.monotonic()
            results = await self._clean_again(arrivals, alone=alone)
            await self._finish(self._set_aside.try_again(lane, arrivals, results))
            end_traces(results)
            del self._attempts_begun[lane], results

    async def _finish(self, cleaned: Cleaned) -> None:
        messages = [message for _, message in cleaned]
        async with self._delivering:
            with self._metrics.step("deliver"), delivering(messages):
                await self._delivery.deliver(messages)
            await self._unacknowledged.done([arrival for arrival, _ in cleaned])
        for message in messages:
            self._metrics.count(message)
