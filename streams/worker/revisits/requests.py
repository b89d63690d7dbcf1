"""Requests between workers to clean the first pages of a site again, on a topic of their own."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Annotated

import msgspec
import orjson
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError

from dehusk.schemas.documents import Origin
from dehusk.streams.availability import Dependency, insist
from dehusk.streams.cancellation import cancel
from dehusk.streams.kafka.client import METADATA_MS
from dehusk.streams.kafka.consumer import commit_while_assigned, started
from dehusk.streams.kafka.errors import kafka_errors
from dehusk.streams.kafka.options import consumer_options
from dehusk.streams.sites.revisits import FirstPage
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.input.membership import Membership, rejoin_after_error
from dehusk.streams.worker_settings import WorkerSettings

_MAX_REQUESTS = 8
"""Requests that are handled together."""
_POLL_MS = 1000
_NEVER_MS = 1_000_000_000
"""A request waits without limit while a dependency is unavailable; heartbeats show that the worker lives."""
_REBALANCE_SECONDS = 60.0
_REBALANCE_SHARE = 2 / 3
"""Share of that time that a rebalance waits for the requests being handled."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """Request to clean the first pages of a site again."""

    site: str
    newer: tuple[FirstPage, ...] = ()
    """Newest messages of pages, which Redis could not be told; if there are any, it asks for these alone."""


Handle = Callable[[Sequence[Request]], Awaitable[object]]
Renew = Callable[[], Awaitable[object]]
"""Waits until nothing is left of what was given up."""


_Number = Annotated[int, msgspec.Meta(ge=0)]


class _Newer(msgspec.Struct, array_like=True):
    """Page of a request."""

    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    topic: Annotated[str, msgspec.Meta(pattern="^[^/]+$")]
    partition: _Number
    offset: _Number


class _Value(msgspec.Struct, omit_defaults=True):
    """Value of a request; its key is the site."""

    group: str
    newer: list[_Newer] = []


def write_request(request: Request, group: str) -> Record:
    """Return the record that asks workers of the group."""
    newer = [
        _Newer(page.key.hex(), page.origin.topic, page.origin.partition, page.origin.offset)
        for page in request.newer
    ]
    value = msgspec.json.encode(_Value(group, newer))
    return Record(request.site.encode(errors="surrogatepass"), value)


def _read_request(record: ConsumerRecord, group: str) -> Request | None:
    """Return a request; None if it is for another group or malformed."""
    try:
        asked = msgspec.convert(orjson.loads(record.value or b""), _Value)
        site = (record.key or b"").decode(errors="surrogatepass")
        newer = tuple(
            FirstPage(site, bytes.fromhex(page.key), Origin(page.topic, page.partition, page.offset))
            for page in asked.newer
        )
    except ValueError:
        return None
    return Request(site, newer) if asked.group == group else None


class Requests:
    """Member of the consumer group of requests, each of which one worker handles.

    Once its membership is lost, or a rebalance has waited long enough, what is being handled is given up, as
    another worker has the requests then.
    """

    def __init__(self, consumer: AIOKafkaConsumer, settings: WorkerSettings, membership: Membership) -> None:
        self._consumer = consumer
        self._membership = membership
        self._kafka = settings.kafka
        self._group = settings.topics.group
        self._topic = Dependency("the topic of revisits", "no page is cleaned a second time")
        self._handling = asyncio.Lock()

    async def run(self, handle: Handle, renew: Renew) -> None:
        """Handle requests until cancelled, and commit each afterwards."""
        while True:
            records = await self._next()
            async with self._handling:
                if self._membership.is_given_up:  # while nothing was being handled
                    await renew()
                found = dict.fromkeys(_read_request(record, self._group) for record in records)
                requests = [request for request in found if request is not None]
                if await self._handle_as_member(handle, requests):
                    await self._commit(records)
                else:
                    _log.info("giving up revisit requests: Kafka will give them to a worker again")
                    await renew()

    async def _handle_as_member(self, handle: Handle, requests: Sequence[Request]) -> bool:
        """Handle requests and return True, or False once they are given up."""
        handling = asyncio.ensure_future(handle(requests))
        losing = asyncio.create_task(self._membership.wait_until_given_up())
        try:
            await asyncio.wait({handling, losing}, return_when=asyncio.FIRST_COMPLETED)
            if handling.done():
                handling.result()
            return handling.done()
        finally:
            await cancel([handling, losing])

    async def release(self) -> None:
        """Wait until no request is being handled; after the time limit, give up those that are."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_REBALANCE_SHARE * _REBALANCE_SECONDS), self._handling:
                return
        self._membership.give_up()

    async def _next(self) -> list[ConsumerRecord]:
        """Return the next requests, however long the topic is unavailable or empty."""
        while not (fetched := await insist(self._topic, self._fetch)):
            pass
        return [record for records in fetched.values() for record in records]

    async def _fetch(self) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        with kafka_errors(self._kafka):
            rejoin_after_error(self._consumer._coordinator)  # noqa: SLF001 there is no getter
            fetched: Mapping[TopicPartition, Sequence[ConsumerRecord]] = await self._consumer.getmany(
                timeout_ms=_POLL_MS, max_records=_MAX_REQUESTS
            )
        return fetched

    async def _commit(self, records: Iterable[ConsumerRecord]) -> None:
        """Commit requests; uncommitted ones are delivered again, and find nothing left to do."""
        try:
            if await commit_while_assigned(self._consumer, _next_offsets(records)):
                return
            reason: object = "their partitions have gone"
        except KafkaError as error:
            reason = error
        _log.info("revisit requests will be delivered again, as they could not be committed: %s", reason)


def _next_offsets(records: Iterable[ConsumerRecord]) -> Mapping[TopicPartition, int]:
    return {TopicPartition(each.topic, each.partition): each.offset + 1 for each in records}


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka has no types
    """Listener that delays a rebalance until the requests being handled are committed."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def on_partitions_revoked(self, revoked: object) -> None:  # noqa: ARG002 aiokafka's
        await self._requests.release()

    async def on_partitions_assigned(self, assigned: object) -> None:
        """Do nothing."""


@asynccontextmanager
async def open_requests(
    settings: WorkerSettings, topic: str, membership: Membership
) -> AsyncIterator[Requests]:
    """Open the requests on a topic, in a consumer group of their own, whose membership is noted.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    consumer = AIOKafkaConsumer(
        **consumer_options(settings.kafka),
        group_id=settings.topics.revisit_group,
        group_instance_id=settings.group_instance,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        session_timeout_ms=int(settings.session_seconds * 1000),
        heartbeat_interval_ms=int(settings.session_seconds * 1000 / 5),
        max_poll_interval_ms=_NEVER_MS,
        metadata_max_age_ms=METADATA_MS,
        rebalance_timeout_ms=int(_REBALANCE_SECONDS * 1000),
    )
    requests = Requests(consumer, settings, membership)
    consumer.subscribe([topic], listener=_Listener(requests))
    async with started(consumer, settings.kafka):
        membership.track(consumer._coordinator)  # noqa: SLF001 there is no getter
        yield requests
