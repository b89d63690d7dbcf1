"""Store of the pages to label: their entries in memory, their HTML in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import unescape
from itertools import islice
from typing import BinaryIO

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.page_labels import html_hash
from dehusk.schemas.pages import RawPage
from dehusk.streams.folders import temporary_files
from dehusk.streams.offline.run import is_page
from dehusk.streams.sources.page import Outcome

_START, _END = b"<title", b"</title"
_SEARCHED_BYTES = 64 * 1024
"""Bytes from the page's beginning: heads are seldom longer."""
_MAX_BYTES = 1_000
_MAX_CHARACTERS = 200


def find_title(html: bytes) -> str | None:
    """Find the text of the first `title` element near the beginning of a page in UTF-8, without parsing it.

    If an SVG image or a comment has a `title` before that of the page, that one is found.
    """
    start = html[:_SEARCHED_BYTES].lower().find(_START)
    text = html.find(b">", start, start + _MAX_BYTES) + 1
    if start < 0 or not text:
        return None
    head = html[text : text + _MAX_BYTES]
    end = head.lower().find(_END)
    title = unescape(head[: len(head) if end < 0 else end].decode("utf-8", "ignore"))
    return " ".join(title.split())[:_MAX_CHARACTERS].rstrip() or None


@dataclass(frozen=True, slots=True)
class Entry:
    """Entry of a page in the list."""

    id: str
    """Name that its labels are saved under; empty if it has none."""
    url: str | None
    html_hash: str
    """Empty if there is no page."""
    refusal: str | None = None
    """Reason why it cannot be labeled, as far as that is known."""
    page: RawPage | None = None
    """The page without its HTML."""
    start: int = 0
    """Offset of its HTML in the file."""
    bytes: int = 0
    title: str | None = None


class PageStore:
    """Pages in the order in which they were added."""

    def __init__(self, html: BinaryIO) -> None:
        self.entries: list[Entry] = []
        self._html = html
        self._numbers: dict[str, int] = {}
        """Numbers of the pages that can be labeled, from 1 on, by their names."""

    def add(self, outcome: Outcome) -> None:
        """Add a page; one without a name, or with that of an earlier one, is refused.

        Its labels could not be told apart.
        """
        name = outcome.id or outcome.url or ""
        if not isinstance(outcome, RawPage):
            entry = Entry(name, outcome.url, "", str(outcome))
        elif not name:
            refusal = "missing-id: it has neither an id nor a URL to save its labels under"
            entry = Entry(name, outcome.url, "", refusal)
        elif name in self._numbers:
            refusal = f"same-id: page {self._numbers[name]} has the same id, or the same URL and none"
            entry = Entry(name, outcome.url, "", refusal)
        else:
            self._numbers[name] = len(self.entries) + 1
            entry = _stored(outcome, name, self._html)
        self.entries.append(entry)

    def page(self, number: int) -> RawPage | None:
        """Read the page of a number; None if its entry has none."""
        entry = self.entries[number]
        if entry.page is None:
            return None
        self._html.seek(entry.start)
        return replace(entry.page, html=self._html.read(entry.bytes))


@contextmanager
def open_empty_store() -> Iterator[PageStore]:
    """Open a store to which pages are to be added.

    Raises:
        ConfigurationError: no temporary file can be written.
    """
    with tempfile.TemporaryFile(dir=temporary_files()) as html:
        yield PageStore(html)


@contextmanager
def open_store(outcomes: Iterable[Outcome], limit: int | None = None) -> Iterator[PageStore]:
    """Store the first pages, at most `limit`; messages that are no pages are left out.

    Raises:
        ConfigurationError: there is no page, or no temporary file can be written.
    """
    with open_empty_store() as store:
        for outcome in islice(filter(is_page, outcomes), limit):
            store.add(outcome)
        if not store.entries:
            raise ConfigurationError("there are no pages to label")
        yield store


def _stored(page: RawPage, name: str, html: BinaryIO) -> Entry:
    start = html.seek(0, 2)
    html.write(page.html)
    return Entry(
        name,
        page.url or None,
        html_hash(page.html),
        page=replace(page, html=b""),
        start=start,
        bytes=len(page.html),
        title=find_title(page.html),
    )
