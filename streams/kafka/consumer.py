"""A consumer that is open for a while, leaves nothing open, and commits no longer than it has partitions."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError

from dehusk.streams.cancellation import cancel
from dehusk.streams.kafka.errors import kafka_errors
from dehusk.streams.kafka.options import consumer_options
from dehusk.streams.settings import KafkaSettings

CHECK_SECONDS = 1.0
"""Interval of the checks for deleted topics during a commit."""


@asynccontextmanager
async def open_consumer(
    settings: KafkaSettings, partition_bytes: int, fetch_bytes: int, **options: object
) -> AsyncIterator[AIOKafkaConsumer]:
    """Open a consumer that fetches so many bytes of a partition, and of all partitions, at once."""
    consumer = AIOKafkaConsumer(
        **consumer_options(settings),
        enable_auto_commit=False,
        isolation_level="read_committed",
        max_partition_fetch_bytes=partition_bytes,
        fetch_max_bytes=fetch_bytes,
        **options,
    )
    async with started(consumer, settings):
        yield consumer


@asynccontextmanager
async def started(consumer: AIOKafkaConsumer, settings: KafkaSettings) -> AsyncIterator[None]:
    """Start a consumer, and stop it in the end.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    try:
        with kafka_errors(settings):
            await consumer.start()
        yield
    finally:
        await _stop(consumer)


async def _stop(consumer: AIOKafkaConsumer) -> None:
    """Stop a consumer, its fetches and its connections.

    aiokafka cancels one fetch after the other. Of one that waits until it is sent again, it lets the
    cancellation out: it then leaves the others, and goes on asking the brokers for their topics.
    """
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        if consumer._fetcher is not None:  # noqa: SLF001 neither has a getter
            await cancel(consumer._fetcher._pending_tasks)  # noqa: SLF001
        await consumer._client.close()  # noqa: SLF001
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise


def assignment_of(consumer: AIOKafkaConsumer) -> Any:  # noqa: ANN401 aiokafka has no types
    """Return aiokafka's assignment with its positions, for which its own methods may wait."""
    subscription = consumer._subscription.subscription  # noqa: SLF001 there is no getter
    return subscription and subscription.assignment


async def commit_while_assigned(consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int]) -> bool:
    """Commit offsets and return True, or False for those of partitions or topics that have gone.

    A commit ends with its assignment: aiokafka would repeat it as a member of the next generation, though
    others may have committed later offsets of the partitions, or these may be of another topic by then.

    Raises:
        KafkaError: the commit was refused.
    """
    assignment = assignment_of(consumer)
    kept = {each: offset for each, offset in offsets.items() if each in assignment.tps} if assignment else {}
    if not kept:
        return False  # aiokafka raises for an empty commit
    committing = asyncio.create_task(consumer.commit(kept))
    ends = [committing, assignment.unassign_future]
    try:
        while not committing.done():
            await asyncio.wait(ends, timeout=CHECK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            may_go_on = assignment.active and _exist(consumer, kept)
            if not (committing.done() or may_go_on):  # aiokafka would retry, and block a rebalance
                return False
        committing.result()
    except (CommitFailedError, IllegalStateError):
        return False  # another worker has the partition
    finally:
        committing.cancel()
    return True


def _exist(consumer: AIOKafkaConsumer, partitions: Iterable[TopicPartition]) -> bool:
    return all(number in (consumer.partitions_for_topic(topic) or ()) for topic, number in partitions)
