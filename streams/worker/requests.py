"""The requests of workers to each other to clean the first pages of a site again, on a topic of their own."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import orjson
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from dehusk.streams.kafka import client_options
from dehusk.streams.kafka_errors import kafka_errors
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.availability import UNAVAILABLE, Dependency
from dehusk.streams.worker.backoff import back_off
from dehusk.streams.worker.settings import WorkerSettings

_AT_ONCE = 8
"""Requests that are worked on together."""
_POLL_MS = 1000
_NEVER_MS = 1_000_000_000
"""A request may take for ever while a dependency is unavailable; heartbeats show that the worker lives."""
_REBALANCE_SECONDS = 60.0
_SHARE = 2 / 3
"""How much of that time a rebalance waits for the requests that are worked on."""
Handle = Callable[[Sequence[str]], Awaitable[object]]
_log = logging.getLogger(__name__)


def request(site: str, group: str) -> Record:
    """The record that asks workers of the group to clean the first pages of a site again."""
    return Record(site.encode(errors="surrogatepass"), orjson.dumps({"group": group}))


def _site(record: ConsumerRecord, group: str) -> str | None:
    """The site of a request; None where it is for another group, or none of `request`."""
    try:
        asked = orjson.loads(record.value or b"")
        site = (record.key or b"").decode(errors="surrogatepass")
    except ValueError:
        return None
    return site if isinstance(asked, dict) and asked.get("group") == group else None


class Requests:
    """A member of the group that shares the requests out, so that each is worked on by one worker."""

    def __init__(self, consumer: AIOKafkaConsumer, settings: WorkerSettings) -> None:
        self._consumer = consumer
        self._kafka = settings.kafka
        self._group = settings.topics.group
        self._topic = Dependency("the topic of revisits", "no page is cleaned a second time")
        self._busy = asyncio.Lock()

    async def work_off(self, handle: Handle) -> None:
        """Have the sites that are asked for handled, for ever, and commit each request after that."""
        while True:
            records = await self._next()
            async with self._busy:
                sites = dict.fromkeys(_site(record, self._group) for record in records)
                await handle([site for site in sites if site is not None])
                await self._commit(records)

    async def wait(self) -> None:
        """Return once nothing is being handled, or some time later."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SHARE * _REBALANCE_SECONDS), self._busy:
                pass

    async def _next(self) -> list[ConsumerRecord]:
        """The next requests, however long none can be read."""
        trial = 0
        while True:
            try:
                with kafka_errors(self._kafka):
                    fetched = await self._consumer.getmany(timeout_ms=_POLL_MS, max_records=_AT_ONCE)
            except UNAVAILABLE as error:
                self._topic.missed(error)
                await back_off(trial)
                trial += 1
                continue
            self._topic.answered()
            if fetched:
                return [record for records in fetched.values() for record in records]

    async def _commit(self, records: Iterable[ConsumerRecord]) -> None:
        """Commit requests; those that are not committed come again, and find nothing left to do."""
        try:
            await self._consumer.commit(_behind(records))
        except (KafkaError, IllegalStateError) as error:
            _log.info("requests of revisits come again, as they could not be committed: %s", error)


def _behind(records: Iterable[ConsumerRecord]) -> Mapping[TopicPartition, int]:
    """The offsets behind the last record of each partition."""
    return {TopicPartition(each.topic, each.partition): each.offset + 1 for each in records}


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka has no types
    """Lets a rebalance wait until what is being handled is committed."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    async def on_partitions_revoked(self, revoked: object) -> None:  # noqa: ARG002 aiokafka's
        await self._requests.wait()

    async def on_partitions_assigned(self, assigned: object) -> None:
        """Nothing is to be done."""


@asynccontextmanager
async def open_requests(settings: WorkerSettings, topic: str) -> AsyncIterator[Requests]:
    """The requests on a topic, in a group beside the worker's own.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    consumer = AIOKafkaConsumer(
        **client_options(settings.kafka),
        group_id=f"{settings.topics.group}-revisits",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        session_timeout_ms=int(settings.session_seconds * 1000),
        heartbeat_interval_ms=int(settings.session_seconds * 1000 / 5),
        max_poll_interval_ms=_NEVER_MS,
        rebalance_timeout_ms=int(_REBALANCE_SECONDS * 1000),
    )
    requests = Requests(consumer, settings)
    consumer.subscribe([topic], listener=_Listener(requests))
    try:
        with kafka_errors(settings.kafka):
            await consumer.start()
        yield requests
    finally:
        with suppress(asyncio.CancelledError):  # it lets that of a fetch out which it cancels
            await consumer.stop()
