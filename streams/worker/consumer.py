"""Faust's driver for Kafka, set up to read committed records of all topics in the worker's input."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer
from faust.transport import conductor
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from dehusk.streams.input_topics import is_pattern
from dehusk.streams.kafka_errors import unreadable_batch
from dehusk.streams.worker import positions
from dehusk.streams.worker.exit import fail_at

_IDLE_SECONDS = 1.0
"""How long a consumer without partitions to read waits until it looks for some again."""


class _ConsumerThread(positions.ConsumerThread):
    """The thread in which aiokafka's consumer runs."""

    logger = logging.getLogger("faust")

    def _create_worker_consumer(self, transport: driver.Transport) -> AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        # Faust reads committed records alone only if it writes in transactions itself.
        consumer._isolation_level = "read_committed"  # noqa: SLF001 there is no setter
        return consumer

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Read topics by their names, or by a pattern among these."""
        pattern = next(filter(is_pattern, topics), None)
        if pattern is None:
            await super().subscribe(topics)
            return
        subscribe = self._ensure_consumer().subscribe
        await self.call_thread(subscribe, pattern=pattern, listener=self._rebalance_listener)

    async def _fetch_records(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 Faust's
        """Fetch records; a batch that cannot be read ends the process, for whoever runs it has to decide."""
        try:
            return await super()._fetch_records(*args, **options)
        except Exception as error:
            batch = unreadable_batch(error)
            if batch is None:
                raise
            fail_at(batch, self.app.conf.id)

    def highwater(self, tp: TP) -> int:
        """The offset behind the partition's last one, for Faust's statistics; 0 where it is not known."""
        try:
            return int(super().highwater(tp) or 0)
        except AssertionError:  # which aiokafka raises of partitions that it gives up at this moment
            return 0

    def behind(self) -> dict[TP, int]:
        """How many offsets of each of its partitions it has not gone through, up to the last stable one."""
        subscription = self._ensure_consumer()._subscription.subscription  # noqa: SLF001 position() may wait
        assignment = subscription and subscription.assignment
        partitions = assignment.tps if assignment else ()
        return {
            TP(partition.topic, partition.partition): _behind(assignment.state_value(partition))
            for partition in partitions
        }


def _behind(state: Any) -> int:  # noqa: ANN401 aiokafka has no types
    """The offsets of one partition that are yet to be read, as far as the last fetch told; 0 before it."""
    if state.lso is None or not state.has_valid_position:
        return 0
    return max(0, int(state.lso - state.position))


class Consumer(positions.Consumer):
    """A member of the worker's group."""

    logger = logging.getLogger("faust")
    _thread: _ConsumerThread

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 Faust's
        super().__init__(*args, **options)
        self._drained = asyncio.Event()

    def on_buffer_drop(self, tp: TP) -> None:
        """Read a partition again, since the agent's buffer has room."""
        super().on_buffer_drop(tp)
        self._drained.set()

    async def _wait_next_records(
        self,
        timeout: float,  # noqa: ASYNC109 Faust's
    ) -> tuple[Any, set[TP] | None]:
        """Wait for records; while the buffer is full, Faust would sleep a second, and the agent run dry."""
        self._drained.clear()
        if self.flow_active and not self._get_active_partitions():
            with suppress(TimeoutError):
                async with asyncio.timeout(_IDLE_SECONDS):
                    await self._drained.wait()
            return {}, set()
        return await super()._wait_next_records(timeout)

    def _new_consumer_thread(self) -> _ConsumerThread:
        return _ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def behind(self) -> dict[TP, int]:
        """How many offsets of each of its partitions it has not gone through, up to the last stable one.

        Transactions leave offsets without a message; these count until they are passed over.
        """
        return self._thread.behind()


class _Conductor(conductor.Conductor):
    """Gives the messages of all partitions to the one agent there is, whatever their topics are called."""

    logger = logging.getLogger("faust")

    def _update_tp_index(self, assigned: set[TP]) -> None:
        self._acking_topics.update(partition.topic for partition in assigned)
        for partition in assigned:
            self._tp_index[partition] = set(self._topics)


class Transport(positions.Transport):
    """What Faust makes its consumer with."""

    Consumer = Consumer
    Conductor = _Conductor
