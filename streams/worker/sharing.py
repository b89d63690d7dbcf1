"""The figures that a worker shares with the others of its group, on a topic."""

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from dehusk.streams.following import Following
from dehusk.streams.group.figures import SharedPoint, SharedState
from dehusk.streams.group.group import SHARE_SECONDS, Group
from dehusk.streams.group.messages import end_record, point_record, state_record
from dehusk.streams.kafka_errors import kafka_errors
from dehusk.streams.producing import Outgoing, create_producer, enqueue
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.live.history import Point, slot_of
from dehusk.streams.worker.live.live import Live

_LEAVE_SECONDS = 2.0
_LONGEST_HOST = 100
_EVERY_ADDRESS = {"0.0.0.0", "::", "[::]"}  # noqa: S104 they are compared with
_log = logging.getLogger(__name__)


def name_worker() -> str:
    """A name for this process, which says its host and is that of no other."""
    return f"{_host()}-{secrets.token_hex(4)}"


class Sharing:
    """Tells the topic how the worker is, and of each ten seconds that are over."""

    def __init__(
        self, producer: AIOKafkaProducer, topic: str, group: Group, live: Live, page: str | None
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._group = group.name
        self._worker = group.own or name_worker()
        self._live = live
        self._page = page
        self._shared_slot = -1
        """The last ten seconds of which the topic has the point."""
        self._dependency = Dependency(f"sending to topic {topic}", "other workers do not see this one")

    async def run(self) -> None:
        """Tell it every other second, for as long as this runs; what could not be sent is sent again."""
        while True:
            points = self._points_to_share(slot_of(self._live.state.point.time) - 1)
            state = SharedState(_host(), self._page, self._live.state)
            if await self._are_taken(
                [*self._records(points), state_record(self._group, self._worker, state)]
            ):
                self._note(points)
            await asyncio.sleep(SHARE_SECONDS)

    async def leave(self) -> None:
        """Tell the last figures, and that the worker stops."""
        self._live.record()
        points = self._points_to_share(slot_of(self._live.state.point.time))
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await self._are_taken([*self._records(points), end_record(self._group, self._worker)])

    def _points_to_share(self, last: int) -> list[Point]:
        """Those that the topic has not, until the last slot."""
        return [point for point in self._live.points if self._shared_slot < slot_of(point.time) <= last]

    def _records(self, points: Sequence[Point]) -> list[Record]:
        counts = self._live.state.counts
        return [point_record(self._group, self._worker, SharedPoint(point, counts)) for point in points]

    def _note(self, points: Sequence[Point]) -> None:
        if points:
            self._shared_slot = slot_of(points[-1].time)

    async def _are_taken(self, records: Sequence[Record]) -> bool:
        """Whether the brokers took all of the records."""
        sent = [await enqueue(self._producer, Outgoing(self._topic, record)) for record in records]
        errors = [
            each
            for each in await asyncio.gather(*sent, return_exceptions=True)
            if isinstance(each, Exception)
        ]
        for error in errors[:1]:
            if not isinstance(error, KafkaError):
                raise error
            self._dependency.missed(error)
        if not errors:
            self._dependency.answered()
        return not errors


@asynccontextmanager
async def open_sharing(
    kafka: KafkaSettings, topic: str, group: Group, live: Live, address: str
) -> AsyncIterator[Sharing]:
    """The sharing of a worker whose page is at an address of its own host, by a producer of its own.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    producer = create_producer(kafka)
    try:
        with kafka_errors(kafka):
            await producer.start()
        yield Sharing(producer, topic, group, live, page_address(address))
    finally:
        await producer.stop()


def follow_group(kafka: KafkaSettings, topic: str, group: Group) -> Following:
    """What hands a group the messages of its topic."""
    return Following(kafka, topic, group.handle, "the page shows this worker alone")


def page_address(address: str) -> str:
    """The URL of a page for other hosts, of the URL that the page is served at."""
    scheme, _, rest = address.partition("://")
    host, _, port = rest.rpartition(":")
    return f"{scheme}://{_host()}:{port}" if host in _EVERY_ADDRESS else address


def _host() -> str:
    return socket.gethostname()[:_LONGEST_HOST]
