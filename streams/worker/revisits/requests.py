"""Requests between workers to clean the first pages of a site again, on a topic of their own."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec
import orjson
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from dehusk.streams.availability import Dependency, insist
from dehusk.streams.kafka.client import METADATA_SECONDS, client_options
from dehusk.streams.kafka.errors import kafka_errors
from dehusk.streams.sources.source import Record
from dehusk.streams.worker_settings import WorkerSettings

_MAX_REQUESTS = 8
"""Requests that are handled together."""
_POLL_MS = 1000
_NEVER_MS = 1_000_000_000
"""A request waits without limit while a dependency is unavailable; heartbeats show that the worker lives."""
_REBALANCE_SECONDS = 60.0
_REBALANCE_SHARE = 2 / 3
"""Share of that time that a rebalance waits for the requests being handled."""
Handle = Callable[[Sequence[str]], Awaitable[object]]
_log = logging.getLogger(__name__)


class _Request(msgspec.Struct):
    """Value of a request; its key is the site."""

    group: str


def request(site: str, group: str) -> Record:
    """Return the record that asks workers of the group to clean the first pages of a site again."""
    return Record(site.encode(errors="surrogatepass"), msgspec.json.encode(_Request(group)))


def _read_site(record: ConsumerRecord, group: str) -> str | None:
    """Return the site of a request; None if it is for another group or malformed."""
    try:
        asked = msgspec.convert(orjson.loads(record.value or b""), _Request)
        site = (record.key or b"").decode(errors="surrogatepass")
    except ValueError:
        return None
    return site if asked.group == group else None


class Requests:
    """Member of the consumer group of requests, each of which one worker handles."""

    def __init__(self, consumer: AIOKafkaConsumer, settings: WorkerSettings) -> None:
        self._consumer = consumer
        self._kafka = settings.kafka
        self._group = settings.topics.group
        self._topic = Dependency("the topic of revisits", "no page is cleaned a second time")
        self._handling = asyncio.Lock()

    async def run(self, handle: Handle) -> None:
        """Handle the sites of requests until cancelled, and commit each request afterwards."""
        while True:
            records = await self._next()
            async with self._handling:
                sites = dict.fromkeys(_read_site(record, self._group) for record in records)
                await handle([site for site in sites if site is not None])
                await self._commit(records)

    async def wait(self) -> None:
        """Wait until no request is being handled, or until the time limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_REBALANCE_SHARE * _REBALANCE_SECONDS), self._handling:
                pass

    async def _next(self) -> list[ConsumerRecord]:
        """Return the next requests, however long the topic is unavailable or empty."""
        while not (fetched := await insist(self._topic, self._fetch)):
            pass
        return [record for records in fetched.values() for record in records]

    async def _fetch(self) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        with kafka_errors(self._kafka):
            fetched: Mapping[TopicPartition, Sequence[ConsumerRecord]] = await self._consumer.getmany(
                timeout_ms=_POLL_MS, max_records=_MAX_REQUESTS
            )
        return fetched

    async def _commit(self, records: Iterable[ConsumerRecord]) -> None:
        """Commit requests; uncommitted ones are delivered again, and find nothing left to do."""
        try:
            await self._consumer.commit(_next_offsets(records))
        except (KafkaError, IllegalStateError) as error:
            _log.info("revisit requests will be delivered again, as they could not be committed: %s", error)


def _next_offsets(records: Iterable[ConsumerRecord]) -> Mapping[TopicPartition, int]:
    return {TopicPartition(each.topic, each.partition): each.offset + 1 for each in records}


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka has no types
    """Listener that delays a rebalance until the requests being handled are committed."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def on_partitions_revoked(self, revoked: object) -> None:  # noqa: ARG002 aiokafka's
        await self._requests.wait()

    async def on_partitions_assigned(self, assigned: object) -> None:
        """Do nothing."""


@asynccontextmanager
async def open_requests(settings: WorkerSettings, topic: str) -> AsyncIterator[Requests]:
    """Open the requests on a topic, in a consumer group of their own.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    consumer = AIOKafkaConsumer(
        **client_options(settings.kafka),
        group_id=settings.topics.revisit_group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        session_timeout_ms=int(settings.session_seconds * 1000),
        heartbeat_interval_ms=int(settings.session_seconds * 1000 / 5),
        max_poll_interval_ms=_NEVER_MS,
        metadata_max_age_ms=int(METADATA_SECONDS * 1000),
        rebalance_timeout_ms=int(_REBALANCE_SECONDS * 1000),
    )
    requests = Requests(consumer, settings)
    consumer.subscribe([topic], listener=_Listener(requests))
    try:
        with kafka_errors(settings.kafka):
            await consumer.start()
        yield requests
    finally:
        with suppress(asyncio.CancelledError):  # it raises that of the fetch that it cancels
            await consumer.stop()
