"""Offsets of Kafka that hold no message, as of transactions or removed messages, which a group passes."""

import asyncio
import math
import time
from contextlib import suppress
from typing import Any

from aiokafka.errors import KafkaError
from faust.exceptions import ConsumerNotStarted
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from dehusk.streams.worker.input.consumer_thread import ConsumerThread


class PassingConsumer(driver.Consumer):
    """Faust's consumer that commits the offsets without a message that it has passed."""

    pass_seconds = 1.0
    """Shortest time between two searches for offsets without a message."""
    pass_patience_seconds = 0.05
    """Longest wait for the commit of such offsets before the other partitions are read."""
    _thread: ConsumerThread

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 Faust's
        super().__init__(*args, **options)
        self._fetched: dict[TP, int] = {}
        """Offset after the last message that was fetched, or that which is committed where none was."""
        self._passed_at = -math.inf
        """Monotonic time at which offsets without a message were looked for last."""
        self._passing: dict[TP, int] = {}
        """Offsets behind those without a message, while they are committed."""
        self._passing_task: asyncio.Future[Any] | None = None

    async def _commit_passed(self) -> None:
        """Commit the offsets behind the last message that hold none, as of transactions or removed messages.

        Once Kafka removes them, they would be taken for messages that were not read. No message of these
        partitions is outstanding, and so no transaction is open: Kafka would drop its offsets. Until the
        commit is over, none is read. The other partitions do not wait for it, as it takes for as long as the
        group's coordinator is away.
        """
        now = time.monotonic()
        if self._passing or self.should_stop or now < self._passed_at + self.pass_seconds:
            return
        self._passed_at = now
        self._passing = self._find_passed()
        if self._passing:
            self._passing_task = self.add_future(self._commit_passing(self._passing))
            await asyncio.wait([self._passing_task], timeout=self.pass_patience_seconds)

    def _find_passed(self) -> dict[TP, int]:
        """Return the positions behind offsets without a message where all messages before are committed.

        It must not be called while records are fetched: these move a position before they are noted.
        """
        passed = {}
        for partition, state in self._thread.read_states().items():
            committed, fetched = self._committed_offset[partition] or 0, self._fetched.get(partition)
            is_done = fetched is not None and committed >= fetched
            if is_done and state.has_valid_position and state.position > committed:
                passed[partition] = state.position
        return passed

    async def _commit_passing(self, passing: dict[TP, int]) -> None:
        try:
            with suppress(KafkaError, ConsumerNotStarted):  # they are committed later
                if await self._thread.commit_aside(dict(passing)):
                    self._committed_offset.update(passing)
        finally:
            passing.clear()

    def _stop_passing(self) -> None:
        """Give up the commit of offsets without a message: the partitions may be others' soon."""
        self._passing.clear()
        if self._passing_task is not None:
            self._passing_task.cancel()
