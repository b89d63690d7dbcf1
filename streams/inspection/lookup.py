"""The message of a page of a running worker: by its position, or by the URL of its document."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import cast

import orjson

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.consuming import Reader, Timed, open_topics
from dehusk.streams.dead_letters import read_dead_letter
from dehusk.streams.input_topics import input_topics
from dehusk.streams.inspection.steps import Reading
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.preparation import Postponed
from dehusk.streams.printable import printable
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.page import known_url
from dehusk.streams.sources.source import Decoded
from dehusk.streams.worker.raw_messages import RawMessages, open_raw_messages

_NEWEST = 1_000
"""Documents that are looked at first; ten times as many where none of them is the wanted one."""
_FARTHER = 10


@dataclass(frozen=True, slots=True)
class Lookup:
    """Finds messages in the topics of a worker, and in no others; it joins no group and commits nothing.

    All methods raise

        ConfigurationError: there is no such message, or Kafka does not let it be read.
        UnavailableError: the brokers do not answer.
    """

    _kafka: KafkaSettings
    _topics: TopicSettings
    _raw: RawMessages

    async def message_at(self, position: Origin) -> Message:
        """The raw message at a position, or that of the document or dead letter there."""
        if input_topics(self._topics).match(position.topic):
            return await self._read(position)
        if position.topic == self._topics.dead_letters:
            return _original(await self._read(position))
        if position.topic == self._topics.output:
            return await self._read(self._source(await self._read(position)))
        raise ConfigurationError(f"the worker neither reads nor writes pages at {printable(position.topic)}")

    async def message_of(self, url: str) -> Message:
        """The raw message of the newest document of a URL."""
        names = {name.encode() for name in (url, known_url(url)) if name}
        async with open_topics(self._kafka, self._topics.output) as reader:
            newest = await _newest(reader, names)
        if newest is None:
            raise ConfigurationError(
                f"{self._topics.output} holds no document {printable(url)}: give its whole URL, or the "
                "position of its message; `dehusk why` and `dehusk dead-letters list` know of others"
            )
        return await self._read(self._source(newest))

    async def _read(self, position: Origin) -> Message:
        message = await self._raw.read(position)
        if message is None:
            raise ConfigurationError(f"Kafka holds no message at {printable(str(position))}, or not any more")
        return message

    def _source(self, document: Message) -> Origin:
        """Where the message of a document is, as the document says."""
        try:
            source = Origin(**orjson.loads(document.value or b"")["source"])
        except (ValueError, TypeError, KeyError):
            where = f"{document.topic}/{document.partition}/{document.offset}"
            raise ConfigurationError(
                f"{where} does not say where its message is: documents of --format document do"
            ) from None
        if not input_topics(self._topics).match(source.topic):
            raise ConfigurationError(f"its message is at {source}, which is no input of this worker")
        return source


@asynccontextmanager
async def open_lookup(kafka: KafkaSettings, topics: TopicSettings) -> AsyncIterator[Lookup]:
    """Finds messages of a worker's topics.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    async with open_raw_messages(kafka) as raw:
        yield Lookup(kafka, topics, raw)


async def page_in(message: Message, url: str | None, pool: PreparationPool) -> Decoded:
    """The page of a URL that a message holds, by default its first one that can be read.

    Raises:
        UnavailableError: the schema registry, which the message needs, does not answer.
        ConfigurationError: the message holds no page of that URL.
    """
    answer = await pool.answer_alone(Reading(message))
    if isinstance(answer, Postponed):
        raise UnavailableError(answer.detail)
    pages = (answer,) if isinstance(answer, Broken) else cast("tuple[Decoded, ...]", answer)
    if url is None or len(pages) == 1:
        return next((page for page in pages if isinstance(page, RawPage)), pages[0])
    for page in pages:
        if getattr(page, "url", None) in (url, known_url(url)):
            return page
    raise ConfigurationError(f"the message holds no page {printable(url)}")


async def _newest(reader: Reader, names: set[bytes]) -> Message | None:
    """The newest message with one of some keys."""
    held, count = sum((await reader.offsets()).values()), _NEWEST
    while True:
        found: list[Timed] = []
        async with aclosing(reader.newest(count)) as messages:
            async for timed in messages:
                if timed[0].key in names:
                    found = [max(timed, *found, key=lambda each: each[1])] if found else [timed]
        if found or count >= held:
            return found[0][0] if found else None
        count *= _FARTHER


def _original(message: Message) -> Message:
    """The message that became a dead letter, where it was read."""
    letter = read_dead_letter(message)
    if letter is None:
        raise ConfigurationError(f"{message.topic} holds no dead letter at this position")
    if not letter.is_whole:
        raise ConfigurationError(
            f"the dead letter came without its value, which is too large: try {letter.origin}"
        )
    origin, original = letter.origin, letter.original
    return Message(
        original.key, original.value, original.headers, origin.topic, origin.partition, origin.offset
    )
