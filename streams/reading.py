"""The documents of a topic: those that it holds, or the newest of them, and those that come."""

import heapq
import itertools
from collections.abc import AsyncGenerator, AsyncIterator

from schemas.pages import Message
from streams.consuming import Timed, open_topic
from streams.settings import KafkaSettings


async def read_documents(
    kafka: KafkaSettings, topic: str, *, newest: int | None, follow: bool
) -> AsyncGenerator[Message, None]:
    """The documents in order per partition, or with `newest` only so many, by their time; no tombstones.

    With `follow`, those that come from now on too, for ever.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    async with open_topic(kafka, topic) as reader:
        held = _documents(reader.held(newest_of_each=newest))
        async for document, _ in held if newest is None else _newest(held, newest):
            yield document
        if follow:
            async for document, _ in _documents(reader.coming()):
                yield document


async def _documents(messages: AsyncIterator[Timed]) -> AsyncIterator[Timed]:
    async for message, time in messages:
        if message.value is not None:
            yield message, time


async def _newest(messages: AsyncIterator[Timed], count: int) -> AsyncIterator[Timed]:
    """So many of the messages, in the order of their times."""
    kept: list[tuple[int, int, Message]] = []
    numbers = itertools.count()
    async for message, time in messages:
        heapq.heappush(kept, (time, next(numbers), message))
        if len(kept) > count:
            heapq.heappop(kept)
    for time, _, message in sorted(kept):
        yield message, time
