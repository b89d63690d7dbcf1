"""Pages of which workers were unsure, the least sure first, read again from their messages."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.inspection.lookup import page_in
from dehusk.streams.kafka.raw_messages import RawMessages, open_raw_messages
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.topics.documents import read_documents
from dehusk.streams.topics.value_formats import in_json

_MAX_HELD = 100_000
"""Documents that are held; of more, the less sure half is."""


class _Document(msgspec.Struct, frozen=True):
    """The part of a document that says where its page is, and how sure its content is."""

    url: str
    source: Origin
    expected_f1: float


@dataclass(slots=True)
class UnsurePages:
    """Pages of the documents of a topic, which workers write with `--unsure-topic`."""

    kafka: KafkaSettings
    topic: str
    pool: PreparationPool
    registry: SchemaRegistry | None
    """Registry of the schemas of documents in Avro, if there is one."""
    gone: int = 0
    """Documents so far whose page Kafka holds no more."""

    async def read(self) -> AsyncGenerator[RawPage, None]:
        """Yield the pages, those of the lowest expected F1 first; of a page, its newest document counts.

        Raises:
            ConfigurationError: a topic does not exist or may not be read, a document does not say where its
                page is, or a message holds no such page.
            UnavailableError: the brokers, or the schema registry that a message needs, do not answer.
        """
        found = await self._documents()
        async with open_raw_messages(self.kafka) as raw:
            for document in found:
                page = await self._page(raw, document)
                if page is None:
                    self.gone += 1
                else:
                    yield page

    async def _documents(self) -> list[_Document]:
        """Return the newest documents of each page, the least sure first."""
        held: dict[bytes | None, _Document] = {}
        async with aclosing(read_documents(self.kafka, self.topic, newest=None, follow=False)) as messages:
            async for message in messages:
                held[message.key] = _document(message, self.registry)
                if len(held) > _MAX_HELD:
                    held = dict(sorted(held.items(), key=lambda each: each[1].expected_f1)[: _MAX_HELD // 2])
        return sorted(held.values(), key=lambda document: document.expected_f1)

    async def _page(self, raw: RawMessages, document: _Document) -> RawPage | None:
        message = await raw.read(document.source)
        if message is None:
            return None
        page = await page_in(message, document.url, self.pool)
        return page if isinstance(page, RawPage) and page.url == document.url else None


def _document(message: Message, registry: SchemaRegistry | None) -> _Document:
    try:
        return msgspec.json.decode(in_json(message, registry).value or b"", type=_Document)
    except PageError as error:
        raise ConfigurationError(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(
            f"{origin_of(message)} does not say where its page is, or how sure its content: documents of "
            "--format document do"
        ) from error
