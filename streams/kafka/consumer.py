"""A consumer that is open for a while, and leaves nothing open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer

from dehusk.streams.cancellation import cancel
from dehusk.streams.kafka.errors import kafka_errors
from dehusk.streams.settings import KafkaSettings


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
