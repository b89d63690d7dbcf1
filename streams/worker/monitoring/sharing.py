"""Sharing of a worker's state and history with the others of its group, on a topic."""

import asyncio
import math
import secrets
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaProducer

from dehusk.streams.availability import Dependency
from dehusk.streams.kafka.errors import refusal_or
from dehusk.streams.kafka.producer import Outgoing, enqueue, open_producer
from dehusk.streams.kafka.rights import Operation
from dehusk.streams.monitoring.group import SHARE_SECONDS, Group
from dehusk.streams.monitoring.history import slot_of
from dehusk.streams.monitoring.messages import (
    SharedDrops,
    SharedPoint,
    SharedState,
    drops_record,
    end_record,
    point_record,
    state_record,
)
from dehusk.streams.monitoring.state import Counts, Point
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.monitoring.live import Live

LEAVE_SECONDS = 2.0
DROPS_SECONDS = 5.0
"""Shortest interval at which a worker shares drops."""
_MAX_HOST = 100
_WILDCARD_ADDRESSES = {"0.0.0.0", "::", "[::]"}  # noqa: S104 for comparison


def name_worker() -> str:
    """Return a unique name for this process, with its host."""
    return f"{_host()}-{secrets.token_hex(4)}"


class Sharing:
    """Writer of a worker's state to the topic, of the point of each finished slot, and of drops."""

    def __init__(
        self,
        producer: AIOKafkaProducer,
        kafka: KafkaSettings,
        topic: str,
        group: Group,
        live: Live,
        *,
        page: str | None,
        caught_up: asyncio.Event,
    ) -> None:
        self._producer = producer
        self._kafka = kafka
        self._topic = topic
        self._group = group.name
        self._worker = group.own or name_worker()
        self._live = live
        self._page = page
        self._caught_up = caught_up
        self._drops = group.drops
        self._drops_time = -math.inf
        """Time at which drops were shared last, in monotonic seconds."""
        self._shared_slot = -1
        """Slot of the last point that was sent."""
        self.dependency = Dependency(f"sending to topic {topic}", "other workers do not see this one")

    async def run(self) -> None:
        """Write every second, until cancelled; points that could not be sent are sent again."""
        while True:
            state = self._live.state
            points = self._new_points(slot_of(state.point.time) - 1)
            shared = state_record(self._group, self._worker, SharedState(_host(), self._page, state))
            is_due = time.monotonic() - self._drops_time >= DROPS_SECONDS
            drops = self._new_drops() if is_due else []
            if await self._send([*self._records(points, state.counts), shared, *drops]):
                self._shared_slot = slot_of(points[-1].time) if points else self._shared_slot
                self._drops_time = time.monotonic() if drops else self._drops_time
            await asyncio.sleep(SHARE_SECONDS)

    async def leave(self) -> None:
        """Write the last points and drops, and the worker's tombstone."""
        self._live.record()
        state = self._live.state
        records = self._records(self._new_points(slot_of(state.point.time)), state.counts)
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._send([*records, *self._new_drops(), end_record(self._group, self._worker)])

    def _new_points(self, last: int) -> list[Point]:
        """Return the points up to a slot that were not sent, or only before the clock was set back."""
        self._shared_slot = min(self._shared_slot, last)
        return [point for point in self._live.points if self._shared_slot < slot_of(point.time) <= last]

    def _records(self, points: Sequence[Point], counts: Counts) -> list[Record]:
        return [point_record(self._group, self._worker, SharedPoint(point, counts)) for point in points]

    def _new_drops(self) -> list[Record]:
        """Return the records of the reasons of which the topic lacks drops of this worker, as far as read."""
        if not self._caught_up.is_set():
            return []
        lacking = self._drops.to_share(self._live.monitor.drops.latest)
        return [drops_record(self._group, SharedDrops(*each)) for each in lacking.items()]

    async def _send(self, records: Sequence[Record]) -> bool:
        """Send records; return True if the brokers took all."""
        sent = [await enqueue(self._producer, Outgoing(self._topic, record)) for record in records]
        results = await asyncio.gather(*sent, return_exceptions=True)
        errors = [each for each in results if isinstance(each, Exception)]
        for error in errors[:1]:
            self.dependency.missed(refusal_or(error, self._kafka, Operation.WRITE))
        if not errors:
            self.dependency.answered()
        return not errors


@asynccontextmanager
async def open_sharing(
    kafka: KafkaSettings, topic: str, group: Group, live: Live, *, address: str, caught_up: asyncio.Event
) -> AsyncIterator[Sharing]:
    """Open the sharing of a worker whose live page is at an address of its own host.

    Drops are shared once `caught_up` is set: the group then has what the topic holds.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    async with open_producer(kafka) as producer:
        page = page_address(address)
        yield Sharing(producer, kafka, topic, group, live, page=page, caught_up=caught_up)


def page_address(address: str) -> str:
    """Return the URL of a page for other hosts, given the URL that it is served at."""
    scheme, _, rest = address.partition("://")
    host, _, port = rest.rpartition(":")
    return f"{scheme}://{_host()}:{port}" if host in _WILDCARD_ADDRESSES else address


def _host() -> str:
    return socket.gethostname()[:_MAX_HOST]
