"""Pages to inspect: of a file, of a topic, or of a running worker by position or URL."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec
import orjson

from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.errors import ConfigurationError, PageError, UnavailableError
from dehusk.schemas.outcomes import Broken, Skipped, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.files.paths import STANDARD_INPUT
from dehusk.streams.files.readers import read_pages
from dehusk.streams.inspection.steps import Reading
from dehusk.streams.kafka.input_topics import input_topics
from dehusk.streams.kafka.raw_messages import RawMessages, open_raw_messages
from dehusk.streams.kafka.reader import Reader, Timed, open_topics, read
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.steps import Postponed
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.page import known_url
from dehusk.streams.sources.registry import open_registry, show_beginning
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.sources.source import Decoded, named_urls
from dehusk.streams.stores.stored import InputPath
from dehusk.streams.topics.dead_letters import read_dead_letter
from dehusk.streams.topics.value_formats import in_json
from dehusk.streams.wording import pluralize, printable
from dehusk.streams.worker_settings import WorkerSettings

_SHOWN = 200
_FIRST_SEARCHED = 1_000
"""Records that are searched first; ten times as many if the wanted one is not among them."""
_GROWTH = 10
_PLAIN_RUNS = re.compile("[A-Za-z0-9._-]+")
"""Parts of a name that no JSON escapes."""
_OPENINGS = (b"{", b"[", b"<", b"WARC/")
"""Beginnings of values in which a URL is readable; others are compressed or framed."""


class _DocumentSource(msgspec.Struct):
    """The part of a document that names its message."""

    source: Origin


@dataclass(frozen=True, slots=True)
class Lookup:
    """Finder of messages in the topics of a worker alone; it joins no group and commits nothing.

    All methods raise

        ConfigurationError: there is no such message, or Kafka does not let it be read.
        UnavailableError: the brokers do not answer.
    """

    _kafka: KafkaSettings
    _topics: TopicSettings
    _raw: RawMessages
    _registry: SchemaRegistry | None = None
    """Registry of the schemas of documents in Avro, if there is one."""

    async def message_at(self, position: Origin) -> Message:
        """Read the raw message at a position, or that of the document or dead letter there."""
        if input_topics(self._topics).match(position.topic):
            return await self._read(position)
        if position.topic == self._topics.dead_letters:
            return _original(await self._read(position))
        if position.topic == self._topics.output:
            return await self._read(await self._source(await self._read(position)))
        raise ConfigurationError(f"the worker neither reads nor writes pages at {printable(position.topic)}")

    async def message_of(self, url: str) -> Message:
        """Read the raw message of the newest document or dead letter of a URL."""
        names = {name for name in (url, known_url(url)) if name}
        output, dead_letters = self._topics.output, self._topics.dead_letters
        async with open_topics(self._kafka, output, dead_letters) as reader:
            newest = await find_newest(reader, lambda message: self._is_of(message, names))
        if newest is None:
            raise ConfigurationError(
                f"neither {output} nor {dead_letters} holds a record of {printable(url)}: give its whole "
                "URL, or the position of its message; `dehusk why` knows of others, such as skipped pages"
            )
        if newest.topic != dead_letters:
            return await self._read(await self._source(newest))
        letter = read_dead_letter(newest)
        if letter is not None and not letter.is_whole:
            return await self._read(letter.origin)
        return _original(newest)

    def _is_of(self, message: Message, names: set[str]) -> bool:
        """Return True for a document of one of some URLs, or a dead letter that states one."""
        if message.topic != self._topics.dead_letters:
            return message.key in {name.encode() for name in names}
        letter = read_dead_letter(message)
        if letter is None:
            return False
        return letter.stated_url in names or any(known_url(url) in names for url in named_urls(message))

    async def _read(self, position: Origin) -> Message:
        message = await self._raw.read(position)
        if message is None:
            raise ConfigurationError(f"Kafka holds no message at {printable(str(position))}, or not any more")
        return message

    async def _source(self, document: Message) -> Origin:
        """Return the position of the message of a document, as the document has it."""
        try:
            read = await asyncio.to_thread(in_json, document, self._registry)
            source = msgspec.convert(orjson.loads(read.value or b""), _DocumentSource).source
        except PageError as error:
            raise ConfigurationError(str(error)) from error
        except ValueError as error:
            raise ConfigurationError(
                f"{origin_of(document)} does not say where its message is: documents of --format document do"
            ) from error
        if not input_topics(self._topics).match(source.topic):
            raise ConfigurationError(f"its message is at {source}, which is no input of this worker")
        return source


@asynccontextmanager
async def open_lookup(settings: WorkerSettings) -> AsyncIterator[Lookup]:
    """Open a lookup in the topics of a worker.

    Raises:
        ConfigurationError: the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    registry = open_registry(settings.source_settings)
    async with open_raw_messages(settings.kafka) as raw:
        yield Lookup(settings.kafka, settings.topics, raw, registry)


async def page_in(message: Message, url: str | None, pool: PreparationPool) -> Decoded:
    """Decode the page of a URL from a message, by default its first one that can be read.

    Raises:
        UnavailableError: the schema registry, which the message needs, does not answer.
        ConfigurationError: the message holds no page of that URL.
    """
    pages = await _decoded(message, pool)
    if url is None or len(pages) == 1:
        return next((page for page in pages if isinstance(page, RawPage)), pages[0])
    for page in pages:
        if getattr(page, "url", None) in (url, known_url(url)):
            return page
    raise ConfigurationError(f"the message holds no page {printable(url)}")


async def _decoded(message: Message, pool: PreparationPool) -> tuple[Decoded, ...]:
    answer = await pool.answer_alone(Reading(message))
    if isinstance(answer, Postponed):
        raise UnavailableError(answer.detail)
    return (answer,) if isinstance(answer, Broken) else cast("tuple[Decoded, ...]", answer)


async def find_newest(reader: Reader, is_wanted: Callable[[Message], bool]) -> Message | None:
    """Find the newest of the messages that are wanted."""
    total, count = sum((await reader.offsets()).values()), _FIRST_SEARCHED
    while True:
        newest: Timed | None = None
        async with aclosing(reader.newest(count)) as messages:
            async for timed in messages:
                if (newest is None or timed[1] >= newest[1]) and is_wanted(timed[0]):
                    newest = timed
        if newest is not None or count >= total:
            return None if newest is None else newest[0]
        count *= _GROWTH


def describe_message(message: Message) -> str:
    """Describe a message that has no page, for somebody who looks for the reason."""
    key = "no key" if message.key is None else f"the key {message.key[:_SHOWN]!r}"
    headers = f"headers {', '.join(name for name, _ in message.headers)}" if message.headers else "no headers"
    value = message.value or b""
    begins = f" that begin with {show_beginning(value)}" if value else ""
    return f"{origin_of(message)} has {key}, {headers}, and {pluralize(len(value), 'byte')}{begins}"


def _original(message: Message) -> Message:
    """Return the message that became a dead letter, with its position in the input."""
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


def page_of_file(
    path: Path, name: str | None, max_bytes: int, warc_directory: InputPath | None = None
) -> Decoded:
    """Read the first page of a file or standard input, or the one with a URL or identifier.

    Records that are no pages are passed over, unless there is nothing else.

    Raises:
        ConfigurationError: there is no such file or page.
    """
    first: Decoded | None = None
    for page in read_pages([path], max_bytes, warc_directory=warc_directory):
        if _is(page, {name, known_url(name)}) if name else not isinstance(page, Skipped):
            return page
        first = first or page
    if name is None and first is not None:
        return first
    what = "page" if name is None else f"page {printable(name)}"
    where = "standard input" if path == STANDARD_INPUT else printable(str(path))
    raise ConfigurationError(f"{where} holds no {what}")


async def page_of_topic(kafka: KafkaSettings, topic: str, name: str, pool: PreparationPool) -> Decoded:
    """Find the newest page of a topic by its URL, key or identifier.

    Raises:
        ConfigurationError: the topic holds no such page, does not exist, or may not be read.
        UnavailableError: the brokers, or the schema registry that its message needs, do not answer.
    """
    names = {name, known_url(name)}
    newest: tuple[int, Decoded] | None = None
    async with aclosing(read(kafka, topic)) as messages:
        async for message, milliseconds in messages:
            if newest is None or milliseconds >= newest[0]:
                for page in await _pages(message, names, pool):
                    newest = milliseconds, page
    if newest is None:
        raise ConfigurationError(
            f"{topic} holds no page {printable(name)}: give its whole URL, as the crawler did"
        )
    return newest[1]


async def _pages(message: Message, names: set[str | None], pool: PreparationPool) -> Sequence[Decoded]:
    """Return the pages of a message that have one of some names, or its only one if its key or header has."""
    is_named = any(url in names or known_url(url) in names for url in named_urls(message))
    if not is_named and not _may_hold(message.value or b"", names):
        return ()
    pages = await _decoded(message, pool)
    matching = [page for page in pages if _is(page, names)]
    return matching or (pages if is_named and len(pages) == 1 else ())


def _may_hold(value: bytes, names: set[str | None]) -> bool:
    """Return False if a value is readable and has none of the names, however it escapes other characters."""
    if not value.lstrip().startswith(_OPENINGS):
        return bool(value)
    return any(all(run.encode() in value for run in _PLAIN_RUNS.findall(name)) for name in names if name)


def _is(page: Decoded, names: set[str | None]) -> bool:
    if isinstance(page, Tombstone):
        return page.key.decode("utf-8", "replace") in names
    return any(name is not None and name in names for name in (page.url, page.id))
