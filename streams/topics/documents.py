"""Readers of the documents of a topic: all that it holds, or the newest, and new ones as they come."""

import asyncio
import heapq
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from dehusk.schemas.pages import Message
from dehusk.streams.availability import Dependency, watch
from dehusk.streams.kafka.brokers import Brokers
from dehusk.streams.kafka.client import open_client
from dehusk.streams.kafka.reader import REACH_FACTOR, Reader, Timed, open_topics
from dehusk.streams.settings import KafkaSettings


async def read_documents(
    kafka: KafkaSettings, topic: str, *, newest: int | None, follow: bool
) -> AsyncGenerator[Message, None]:
    """Yield the documents in order per partition, or with `newest` so many, by their time; no tombstones.

    With `follow`, also those that come from now on, for ever; the log tells when Kafka is unavailable.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    async with open_documents(kafka, topic, follow=follow) as reader:
        held = _documents(reader.existing())
        async for document, _ in held if newest is None else _newest(reader, newest):
            yield document
        if follow:
            async for document, _ in _documents(reader.follow()):
                yield document


@asynccontextmanager
async def open_documents(kafka: KafkaSettings, topic: str, *, follow: bool) -> AsyncIterator[Reader]:
    """Open a reader of a topic; with `follow`, the log tells when Kafka is unavailable.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    async with open_topics(kafka, topic) as reader, _watched(kafka, topic) if follow else nullcontext():
        yield reader


@asynccontextmanager
async def _watched(kafka: KafkaSettings, topic: str) -> AsyncIterator[None]:
    """Log when Kafka becomes unavailable, and when it is available again: a consumer waits silently."""
    async with open_client(kafka) as client:
        brokers = Brokers(client, topic)
        watching = asyncio.create_task(watch(Dependency("Kafka", "waiting for it"), brokers.check))
        try:
            yield
        finally:
            watching.cancel()


async def _documents(messages: AsyncIterator[Timed]) -> AsyncIterator[Timed]:
    async for message, time in messages:
        if message.value is not None:
            yield message, time


async def _newest(reader: Reader, count: int) -> AsyncIterator[Timed]:
    """Yield so many of the documents, in the order of their times.

    Tombstones and transactions take offsets, too: if a partition's last ones hold fewer documents, it is read
    again from farther back.
    """
    reach, offsets = count, await reader.offsets()
    while True:
        newest: list[tuple[int, int, Message]] = []
        counts: Counter[int] = Counter()
        async for document, time in _documents(reader.existing(newest_of_each=reach)):
            counts[document.partition] += 1
            heapq.heappush(newest, (time, counts.total(), document))
            if len(newest) > count:
                heapq.heappop(newest)
        if all(held <= reach or counts[at.partition] >= count for at, held in offsets.items()):
            break
        reach *= REACH_FACTOR
    for time, _, document in sorted(newest):
        yield document, time
