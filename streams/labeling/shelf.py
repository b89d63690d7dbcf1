"""The pages that are to be labeled: what is listed of each in memory, their HTML in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, Skipped, SkipReason
from dehusk.schemas.page_labels import html_hash
from dehusk.schemas.pages import RawPage
from dehusk.streams.labeling.titles import listed_title

Outcome = RawPage | Skipped | Broken


@dataclass(frozen=True, slots=True)
class Entry:
    """What is listed of a page."""

    id: str
    """What its labels are saved under; empty where it has no name."""
    url: str | None
    html_hash: str
    """Empty where there is no page."""
    refusal: str | None
    """Why it cannot be labeled, as far as that is known; None where it can."""
    page: RawPage | None
    """The page without its HTML."""
    start: int = 0
    """Where its HTML begins in the file."""
    bytes: int = 0
    title: str | None = None
    """The page's title as far as it is found without parsing the page."""


class Shelf:
    """Pages in the order in which they were read."""

    def __init__(self, entries: list[Entry], html: BinaryIO) -> None:
        self.entries = entries
        self._html = html

    def page(self, number: int) -> RawPage | None:
        """The page of this number, or None where its entry has none."""
        entry = self.entries[number]
        if entry.page is None:
            return None
        self._html.seek(entry.start)
        return replace(entry.page, html=self._html.read(entry.bytes))


@contextmanager
def open_shelf(outcomes: Iterable[Outcome], most: int | None = None) -> Iterator[Shelf]:
    """A shelf of the first pages, so many at most; what never was a page is left out.

    A page without a name, or with that of an earlier one, is refused: its labels could not be told apart.

    Raises:
        ConfigurationError: there is no page.
    """
    with tempfile.TemporaryFile() as html:
        entries = list(islice(_entries(outcomes, html), most))
        if not entries:
            raise ConfigurationError("there are no pages to label")
        yield Shelf(entries, html)


def _entries(outcomes: Iterable[Outcome], html: BinaryIO) -> Iterator[Entry]:
    numbers: dict[str, int] = {}
    listed = (each for each in outcomes if not _never_was_a_page(each))
    for number, outcome in enumerate(listed, 1):
        name = outcome.id or outcome.url or ""
        if not isinstance(outcome, RawPage):
            yield Entry(name, outcome.url, "", f"{outcome.reason}: {outcome.detail}", None)
        elif not name:
            yield _refused(outcome, "missing-id: it has neither an id nor a URL to save its labels under")
        elif name in numbers:
            yield _refused(
                outcome, f"same-id: page {numbers[name]} has the same id, or the same URL and none"
            )
        else:
            numbers[name] = number
            yield _stored(outcome, name, html)


def _never_was_a_page(outcome: Outcome) -> bool:
    return isinstance(outcome, Skipped) and outcome.reason is SkipReason.NOT_A_PAGE


def _refused(page: RawPage, refusal: str) -> Entry:
    return Entry(page.name, page.url, "", refusal, None)


def _stored(page: RawPage, name: str, html: BinaryIO) -> Entry:
    start = html.seek(0, 2)
    html.write(page.html)
    kept = replace(page, html=b"")
    return Entry(
        name,
        page.url or None,
        html_hash(page.html),
        None,
        kept,
        start,
        len(page.html),
        listed_title(page.html),
    )
