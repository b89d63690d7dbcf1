"""Which page is inspected: one of a file, or of the input topic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken, Tombstone
from dehusk.schemas.pages import Message
from dehusk.streams.consuming import read
from dehusk.streams.inspection.steps import Reading
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.preparation import Postponed
from dehusk.streams.printable import printable
from dehusk.streams.readers import STANDARD_INPUT, read_pages
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.keys import named_urls
from dehusk.streams.sources.page import known_url
from dehusk.streams.sources.source import Decoded

_OPENINGS = (b"{", b"[", b"<", b"WARC/")
"""How a value begins in which a URL would be seen; others are compressed or framed."""


def page_of_file(path: Path, wanted: str | None, max_bytes: int) -> Decoded:
    """The first page of a file or of standard input, or the one whose URL or identifier is wanted.

    Raises:
        ConfigurationError: there is no such file or page.
    """
    for page in read_pages([path], max_bytes):
        if wanted is None or _is(page, {wanted, known_url(wanted)}):
            return page
    what = "page" if wanted is None else f"page {printable(wanted)}"
    where = "standard input" if path == STANDARD_INPUT else printable(str(path))
    raise ConfigurationError(f"{where} holds no {what}")


async def page_of_topic(kafka: KafkaSettings, topic: str, wanted: str, pool: PreparationPool) -> Decoded:
    """The newest page of a topic whose URL, key or identifier is wanted.

    Raises:
        ConfigurationError: the topic holds no such page, does not exist, or may not be read.
        UnavailableError: the brokers, or the schema registry that its message needs, do not answer.
    """
    names = {wanted, known_url(wanted)}
    newest: tuple[int, Decoded] | None = None
    async with aclosing(read(kafka, topic)) as messages:
        async for message, milliseconds in messages:
            if newest is None or milliseconds >= newest[0]:
                async for page in _pages(message, names, pool):
                    newest = milliseconds, page
    if newest is None:
        raise ConfigurationError(
            f"{topic} holds no page {printable(wanted)}: give its whole URL, as the crawler did"
        )
    return newest[1]


async def _pages(message: Message, names: set[str | None], pool: PreparationPool) -> AsyncIterator[Decoded]:
    """The pages of a message that have one of some names; all of them where its key or header has one."""
    is_named = any(url in names or known_url(url) in names for url in named_urls(message))
    if not is_named and not _may_hold(message.value or b"", names):
        return
    answer = await pool.answer_alone(Reading(message))
    if isinstance(answer, Postponed):
        raise UnavailableError(answer.detail)
    pages = (answer,) if isinstance(answer, Broken) else answer
    assert isinstance(pages, tuple)  # noqa: S101 what answers a Reading
    of_name = [page for page in pages if _is(page, names)]
    for page in of_name or (pages if is_named and len(pages) == 1 else ()):
        yield page


def _may_hold(value: bytes, names: set[str | None]) -> bool:
    """Whether a value may hold the URL of one of its pages: where it is not seen, it may be packed."""
    if not value.lstrip().startswith(_OPENINGS):
        return bool(value)
    plain = value.replace(b"\\/", b"/")
    return any(name.encode("utf-8", "replace") in plain for name in names if name)


def _is(page: Decoded, names: set[str | None]) -> bool:
    if isinstance(page, Tombstone):
        return page.key.decode("utf-8", "replace") in names
    return any(name is not None and name in names for name in (page.url, page.id))
