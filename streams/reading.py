"""The documents of a topic: those that it holds, or the newest of them, and those that come."""

import asyncio
import heapq
import itertools
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext

from aiokafka.client import AIOKafkaClient

from dehusk.schemas.pages import Message
from dehusk.streams.consuming import FARTHER, Reader, Timed, open_topics
from dehusk.streams.kafka import client_options
from dehusk.streams.kafka_errors import kafka_errors
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.availability import Dependency, watch
from dehusk.streams.worker.brokers import Brokers


async def read_documents(
    kafka: KafkaSettings, topic: str, *, newest: int | None, follow: bool
) -> AsyncGenerator[Message, None]:
    """The documents in order per partition, or with `newest` only so many, by their time; no tombstones.

    With `follow`, those that come from now on too, for ever; the log tells when Kafka is unavailable.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    async with open_topics(kafka, topic) as reader, _watched(kafka, topic) if follow else nullcontext():
        held = _documents(reader.held())
        async for document, _ in held if newest is None else _newest(reader, newest):
            yield document
        if follow:
            async for document, _ in _documents(reader.coming()):
                yield document


@asynccontextmanager
async def _watched(kafka: KafkaSettings, topic: str) -> AsyncIterator[None]:
    """Logs when Kafka becomes unavailable, and when it is available again: a consumer waits silently."""
    client = AIOKafkaClient(**client_options(kafka))
    with kafka_errors(kafka):
        await client.bootstrap()
    brokers = Brokers(client, topic)
    watching = asyncio.create_task(watch(Dependency("Kafka", "waiting for it"), brokers.check))
    try:
        yield
    finally:
        watching.cancel()
        await client.close()


async def _documents(messages: AsyncIterator[Timed]) -> AsyncIterator[Timed]:
    async for message, time in messages:
        if message.value is not None:
            yield message, time


async def _newest(reader: Reader, count: int) -> AsyncIterator[Timed]:
    """So many of the documents, in the order of their times.

    Tombstones and transactions take offsets, too: where a partition's last ones hold fewer documents, it is
    read again from farther back.
    """
    reach, offsets = count, await reader.offsets()
    while True:
        found = _Newest(count)
        async for document, time in _documents(reader.held(newest_of_each=reach)):
            found.add(document, time)
        if all(
            held <= reach or found.of_partition[dependency.partition] >= count
            for dependency, held in offsets.items()
        ):
            break
        reach *= FARTHER
    for timed in found:
        yield timed


class _Newest:
    """The newest of the documents that were added."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._kept: list[tuple[int, int, Message]] = []
        self._numbers = itertools.count()
        self.of_partition: Counter[int] = Counter()
        """How many were added of each partition."""

    def add(self, document: Message, time: int) -> None:
        """Keep it if it is one of the newest so far."""
        self.of_partition[document.partition] += 1
        heapq.heappush(self._kept, (time, next(self._numbers), document))
        if len(self._kept) > self._count:
            heapq.heappop(self._kept)

    def __iter__(self) -> Iterator[Timed]:
        return ((document, time) for time, _, document in sorted(self._kept))
