"""Inspections of pages of a running worker: the last few of them stay open."""

import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Self, cast

from dehusk.schemas.documents import Origin
from dehusk.schemas.pages import Message
from dehusk.streams.inspection.inspection import Inspection, begin, open_inspector_pool
from dehusk.streams.inspection.labelers import Choice, Labelers, choices
from dehusk.streams.inspection.lookup import Lookup, open_lookup, page_in
from dehusk.streams.inspection.steps import Pasting
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.sources.source import Decoded
from dehusk.streams.worker.settings import WorkerSettings

_MOST_OPEN = 4
"""A huge page takes some 100 MB."""
_NAME_BYTES = 16


class Desk:
    """Opens inspections one after the other, each under a name that nobody guesses.

    All methods but `find` raise what `inspect`, `Lookup` and `page_in` raise.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._offered: Sequence[Choice] = choices(settings)
        self._labelers = Labelers(self._offered)
        self._inspections: dict[str, Inspection] = {}
        self._resources = AsyncExitStack()
        self._lookup: Lookup | None = None
        self._pool: PreparationPool

    async def __aenter__(self) -> Self:
        settings = self._settings
        self._resources.push_async_callback(self._labelers.close)
        pool = open_inspector_pool(settings.source, settings.source_settings, settings.page)
        self._pool = await self._resources.enter_async_context(pool)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._resources.aclose()

    def find(self, name: str) -> Inspection | None:
        """The inspection of this name, if it is still open."""
        return self._inspections.get(name)

    async def open_position(self, position: Origin, url: str | None = None) -> str:
        """The name of an inspection of what is at a position in a topic of the worker."""
        return await self._open_message(await (await self._opened_lookup()).message_at(position), url)

    async def open_url(self, url: str) -> str:
        """The name of an inspection of the page whose document has this URL."""
        return await self._open_message(await (await self._opened_lookup()).message_of(url), url)

    async def open_pasted(self, html: bytes) -> str:
        """The name of an inspection of HTML in UTF-8."""
        page = await self._pool.answer_alone(Pasting(html, self._settings.page.max_bytes))
        return await self._open(cast("Decoded", page))

    async def _open_message(self, message: Message, url: str | None) -> str:
        return await self._open(await page_in(message, url, self._pool))

    async def _open(self, page: Decoded) -> str:
        inspection = await begin(page, self._pool, self._offered, self._labelers)
        name = secrets.token_urlsafe(_NAME_BYTES)
        self._inspections[name] = inspection
        if len(self._inspections) > _MOST_OPEN:
            del self._inspections[next(iter(self._inspections))]
        return name

    async def _opened_lookup(self) -> Lookup:
        if self._lookup is None:
            lookup = open_lookup(self._settings.kafka, self._settings.topics)
            self._lookup = await self._resources.enter_async_context(lookup)
        return self._lookup
