"""The headline of a page: the heading that its title names, else what the title says without the site's name.

A title is split at separators into parts. A part is the site's if it names its host or `og:site_name`, or if
most other pages of the site have it in their titles.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import orjson

from dehusk.inference.metadata.titles import (
    MAX_READ,
    Title,
    clean_title,
    contains,
    normal,
    readable,
    split_title,
    words_of,
)
from dehusk.inference.metadata.values import folded
from dehusk.inference.native.headings import headings_of
from dehusk.schemas.pages import HeadlineSources, SegmentedPage, Structure
from dehusk.schemas.sites import BlockFrequencies

MAX_LENGTH = 500
"""Characters of the longest headline; a longer text is none."""
_MAX_HEADINGS = 60
_MAX_LEVEL = 3
"""Level of the least headings that may be the headline."""
_MIN_PAGES = 3
"""Other pages of a site from which a part that most of them have is the site's."""
_MANY_TIMES = 4
"""Ratio of the pages that have a part of a title to those that have its rarest: the part is a section's."""
_MIN_NAME = 5
"""Characters of a part of a host from which a longer name may begin or end with it."""
_MIN_PART = 0.3
"""Words of a title from which a heading within it says what it says."""
_MIN_SHARED = 0.5
"""Words that a heading and a title share, of those of the shorter, from which they say the same."""
_MIN_WORDS = 3
"""Words of a title that a heading has which may stand for a headline that no heading is."""
_MIN_TEXT, _MAX_TEXT = 15, 320
"""Characters of a text in the title that may."""
_MIN_ALIKE, _MIN_ALIKE_OF_SEVERAL = 0.15, 0.4
"""Such words of all words of both: where there is one heading of level 1, and where there are several."""
_MIN_LOWER, _MIN_MOST = 4, 0.7
"""Words of a heading of a lower level, and their share of the title's, from which it is the headline."""

_WEAK = re.compile(r"\s*:\s+|\s+:|\s+-|-\s+|,\s+")
"""Separators before or after the site's name alone."""
_DASH = " - "
"""Separator that a heading may lack, as forums have it after the prefix of a thread."""
_HEADING = re.compile(r"/h[1-6](?:/|\Z)")
_OF_SITE = re.compile(r"/(?:a|header)(?:/|\Z)")
"""Path of a heading that may name the site on all of its pages."""
_ELSEWHERE = re.compile(r"/(?:a|aside|footer|nav)(?:/|\Z)")
"""Path of a heading that leads elsewhere, as the name of the site does, or is beside the content."""
_BUTTON = re.compile(r"/h[1-6]/(?:.+/)?button(?:/|\Z)")
"""Path of a button in a heading, such as one that copies its address."""
_WORDS = re.compile(r"\w+")
_HOST = re.compile(r"[a-z]+://(?:[^/?#@]{0,100}@)?([^/?#:]{1,253})", re.IGNORECASE)
_HEADLINE = re.compile(r'"headline"\s*:\s*("(?:[^"\\]|\\.){0,2000}+")')


def headline_sources(structure: Structure, json_ld: Iterable[str]) -> HeadlineSources:
    """Return where the headline of a page may be, beside its `<title>`."""
    return HeadlineSources(
        og_title=structure.declared.og_title[:MAX_READ],
        site_name=structure.declared.site_name[:MAX_READ],
        json_ld=_declared_headline(json_ld),
        headings=_headings(structure),
    )


def find_headline(page: SegmentedPage, url: str, frequencies: BlockFrequencies | None = None) -> str | None:
    """Return the headline of a page at a URL, white space folded; None if nothing names it.

    With the `frequencies` of its site, what other pages share is no headline.
    """
    return _Search(page, url, frequencies).result()


def is_heading(path: str) -> bool:
    """Return True for the path of a block in a heading."""
    return _HEADING.search(path) is not None


def heading_blocks(page: SegmentedPage, first: int, end: int) -> list[int]:
    """Return the blocks of a heading from `first` up to `end`, without buttons beside its text.

    A button whose text is in the page's title is what the heading says.
    """
    if end == first + 1:
        return [first]
    blocks = range(first, end)
    return [at for at in blocks if not _is_button(page, at)] or [*blocks]


def _is_button(page: SegmentedPage, at: int) -> bool:
    """Return True for a block in a button of a heading whose text the title does not have."""
    if not _BUTTON.search(page.paths[at]):
        return False
    text = normal(page.texts[at][:MAX_READ])
    return not text or not contains(normal(page.title[:MAX_READ]), text)


def headline_block(page: SegmentedPage, url: str) -> int | None:
    """Return the block where readers see the headline of a page at a URL; None if they see none.

    It is the heading of level 1 that is the headline, not a hidden one if there is another like it; else the
    heading with most words of the title, else a text that is part of it, else the first `<h1>`.
    """
    if main := _Search(page, url, None).main_headings():
        return min(main, key=lambda block: (page.hidden[block], block))
    title = page.title[:MAX_READ].casefold()
    words = set(_WORDS.findall(title))
    headings = [block for block, path in enumerate(page.paths) if "/h" in path and is_heading(path)]
    best = max(headings, key=lambda block: (_shared(page.texts[block], words), -block), default=None)
    if best is not None and _shared(page.texts[best], words) >= _MIN_WORDS:
        return best
    longest, texts = min(_MAX_TEXT, len(title)), enumerate(page.texts)
    in_title = (at for at, text in texts if _MIN_TEXT <= len(text) <= longest and text.casefold() in title)
    first = (block for block in headings if "/h1" in page.paths[block] and not page.hidden[block])
    return next(in_title, next(first, None))


def _shared(text: str, words: set[str]) -> int:
    """Return how many words a heading shares with the title; 0 if these are not most of its words."""
    own = set(_WORDS.findall(text[:_MAX_TEXT].casefold()))
    shared = len(own & words)
    return shared if shared * 2 >= len(own) else 0


def _declared_headline(json_ld: Iterable[str]) -> str:
    """Return the only headline in JSON-LD; empty if there are none or several."""
    found: set[str] = set()
    for text in json_ld:
        if '"headline"' not in text:
            continue
        for literal in _HEADLINE.findall(text):
            try:
                found.add(orjson.loads(literal))
            except orjson.JSONDecodeError:
                continue
    return found.pop() if len(found) == 1 else ""


def _headings(structure: Structure) -> tuple[tuple[int, int, int], ...]:
    """Return the first headings: the level, the first block, and the block after the last."""
    columns = structure.headings, structure.parents, structure.elements
    return tuple(headings_of(*columns, _MAX_LEVEL, _MAX_HEADINGS))


class _Own(NamedTuple):
    """Title without the parts that are the site's."""

    text: str
    """The most likely headline of the title; empty if all of it is the site's."""
    name: str
    """Normalised `text`."""
    leads: frozenset[str]
    """Normalised texts that a heading of level 1 may have."""
    tail: str
    """Normalised last part, if there are several: a heading within it may name the site."""


class _Heading(NamedTuple):
    """A heading of the page."""

    text: str
    name: str
    """Normalised text."""
    level: int
    block: int
    """Its first block."""


class _Search:
    """Search for the headline of a page."""

    def __init__(self, page: SegmentedPage, url: str, frequencies: BlockFrequencies | None) -> None:
        self._page, self._frequencies = page, frequencies
        self._sources = page.headline_sources or HeadlineSources()
        self._others = 0 if frequencies is None else frequencies.pages_seen - 1
        self._site_name = normal(clean_title(self._sources.site_name))
        self._host, self._labels = _names_in_host(url)
        self._title = split_title(clean_title(page.title))
        self._shared = self._shared_parts()
        self._main = [each for each in self._headings_of((1,)) if not self._is_site(each.name)]

    def result(self) -> str | None:
        """Return the headline, or None."""
        title, og_title = self._titles()
        found = (
            self._heading((title, og_title))
            or self._own(split_title(clean_title(self._sources.json_ld))).text
            or og_title.text
            or title.text
            or self._first()
            or self._title.text
        )
        found = readable(found)
        return found if len(found) <= MAX_LENGTH and any(map(str.isalnum, found)) else None

    def main_headings(self) -> list[int]:
        """Return the first blocks of the headings of level 1 that are the headline, or have its text."""
        if not self._main:
            return []
        name = normal(self._heading(self._titles()))
        return [each.block for each in self._main if each.name == name]

    def _titles(self) -> tuple[_Own, _Own]:
        """Return the title and that of Open Graph, without what is the site's."""
        title, declared = self._own(self._title), self._sources.og_title
        if declared == self._page.title:
            return title, title
        return title, self._own(split_title(clean_title(declared)))

    def _heading(self, titles: tuple[_Own, _Own]) -> str:
        """Return the heading that is the headline; empty if none is."""
        owns = [own for own in dict.fromkeys(titles) if own.text]
        return self._named(owns) or self._alike(owns) or self._lower(owns) or self._sole(owns)

    def _shared_parts(self) -> frozenset[str]:
        """Return the parts of the title that are the site's, or a section's, by the titles of other pages."""
        frequencies = self._frequencies
        if frequencies is None or frequencies.title_parts is None or self._others < _MIN_PAGES:
            return frozenset()
        others = (frequencies.title_parts.astype(np.int64) - 1).tolist()
        rarest = min(others, default=0)
        return frozenset(
            part
            for part, count in zip(self._title.counted_names(), others, strict=True)
            if 2 * count > self._others or count >= max(_MIN_PAGES, _MANY_TIMES * (rarest + 1))
        )

    def _headings_of(
        self, levels: Sequence[int], lengths: tuple[int, int] = (0, MAX_LENGTH)
    ) -> Iterator[_Heading]:
        """Yield the headings of some levels, and between two lengths."""
        shortest, longest = lengths
        for level, first, end in self._sources.headings:
            if level in levels:
                blocks = heading_blocks(self._page, first, end)
                text = " ".join(self._page.texts[at] for at in blocks)
                if not shortest <= len(text) <= longest and "&" not in text:
                    continue
                text = folded(text[:MAX_READ])
                name = normal((clean_title(text) if "&" in text else text)[: MAX_LENGTH + 1])
                if name and len(text) <= MAX_LENGTH:
                    yield _Heading(text, name, level, blocks[0])

    def _is_shared(self, heading: _Heading) -> bool:
        """Return True if most other pages have a heading's text, and the page has it in headings alone.

        Menus name many pages of a site. Texts that differ in digits alone are counted as one.
        """
        if self._frequencies is None or self._others < _MIN_PAGES or any(map(str.isdigit, heading.name)):
            return False
        if 2 * (int(self._frequencies.counts[heading.block]) - 1) <= self._others:
            return False
        alike = self._page.texts[heading.block]
        return all(
            is_heading(self._page.paths[at]) for at, text in enumerate(self._page.texts) if text == alike
        )

    def _is_site(self, name: str) -> bool:
        """Return True if a normalised text is the name of the site."""
        letters = name.replace(" ", "")
        return (
            name in self._shared
            or name == self._site_name
            or letters in self._labels
            or letters == self._host
        )

    def _names_site(self, name: str) -> bool:
        """Return True if a part of a title names the site, perhaps with a word of its own."""
        letters = name.replace(" ", "")
        return self._is_site(name) or any(
            min(len(letters), len(label)) >= _MIN_NAME
            and max(len(letters), len(label)) <= 2 * min(len(letters), len(label))
            and (_is_end(letters, label) or _is_end(label, letters))
            for label in self._labels
        )

    def _own(self, title: Title) -> _Own:
        """Return a title without the site's parts at its ends."""
        names, first, end = title.names, 0, len(title.names)
        is_site = self._names_site if end > 1 else self._is_site
        while end > first and is_site(names[end - 1]):
            end -= 1
        while first < end and is_site(names[first]):
            first += 1
        leads = {" ".join(names[:last]) for last in range(1, len(names) + 1)}
        if first == end:
            return _Own("", "", frozenset(leads), "")
        leads |= {names[first], " ".join(names[first:end])}
        own = title.between(first, end)
        if len(names) == 1:
            own = self._without_name(own)
        elif end - first == len(names) and self._others < _MIN_PAGES:
            own = title.before_separator()
        elif first and end - first > 1:
            leads.add(names[end - 1])
        name = normal(own)
        return _Own(own, name, frozenset({*leads, name}), names[-1] if len(names) > 1 else "")

    def _without_name(self, text: str) -> str:
        """Return a title of one part without a name of the site before or after a colon or the like."""
        for separator in _WEAK.finditer(text):
            before, after = text[: separator.start()].strip(), text[separator.end() :].strip()
            names = normal(before), normal(after)
            if all(names) and any(map(self._names_site, names)):
                return before if self._names_site(names[1]) else after
        return text

    def _named(self, owns: Sequence[_Own]) -> str:
        """Return the heading that a title names: all of it or its beginning, else a part of it."""
        leads = frozenset().union(*(own.leads for own in owns))
        exact = {own.name for own in owns}
        named = [each for each in self._main if each.name in leads] or [
            each for each in self._main if any(_is_within(each.name, own) for own in owns)
        ]
        if named:
            text = max(named, key=lambda each: (each.name == owns[0].name, len(each.name))).text
            return next((own.text for own in owns if own.text.replace(_DASH, " ") == text), text)
        lengths = (min(map(len, exact), default=0) // 2, 2 * max(map(len, exact), default=0))
        return next((each.text for each in self._headings_of((2, 3), lengths) if each.name in exact), "")

    def _alike(self, owns: Sequence[_Own]) -> str:
        """Return the heading of level 1 that shares most words with a title, if it shares half of them."""
        best, most = "", 0.0
        least = _MIN_ALIKE if len({each.name for each in self._main}) == 1 else _MIN_ALIKE_OF_SEVERAL
        titles = [words_of(own.name) for own in owns]
        for each in self._main:
            words = words_of(each.name)
            for title in titles:
                both = len(words & title)
                shared, alike = both / max(1, min(len(words), len(title))), both / max(1, len(words | title))
                if shared >= _MIN_SHARED and alike >= least and shared > most and not self._is_shared(each):
                    best, most = each.text, shared
        return best

    def _lower(self, owns: Sequence[_Own]) -> str:
        """Return the first heading of level 2 or 3 that is most of a title with other words beside it."""
        titles = [own.name for own in owns]
        for each in self._headings_of((2, 3)):
            words = len(each.name.split())
            if words < _MIN_LOWER or each.text.endswith(("...", "…")) or self._is_shared(each):
                continue
            if any(contains(name, each.name) and words >= _MIN_MOST * len(name.split()) for name in titles):
                return each.text
        return ""

    def _sole(self, owns: Sequence[_Own]) -> str:
        """Return the only heading of level 1, unless it is in the last part of a title, or `_ELSEWHERE`."""
        found = {
            each.name: each
            for each in self._main
            if not self._is_shared(each) and not any(contains(own.tail, each.name) for own in owns)
        }
        only = next(iter(found.values())) if len(found) == 1 else None
        return "" if only is None or _ELSEWHERE.search(self._page.paths[only.block]) else only.text

    def _first(self) -> str:
        """Return the first heading, where other pages of the site are known not to have it.

        One of level 1 that readers see, and that is no link, is the page's own even if others have it.
        """
        if self._others < _MIN_PAGES:
            return ""
        return next((each.text for each in self._headings_of((1, 2, 3)) if self._may_be_first(each)), "")

    def _may_be_first(self, heading: _Heading) -> bool:
        if heading.level > 1:
            return not self._is_site(heading.name) and not self._is_shared(heading)
        is_own = not self._page.hidden[heading.block] and not _OF_SITE.search(self._page.paths[heading.block])
        return is_own or not self._is_shared(heading)


def _is_within(name: str, own: _Own) -> bool:
    """Return True if a heading is a good part of a title, and not of the part that may name the site."""
    return (
        contains(own.name, name)
        and not contains(own.tail, name)
        and (own.name.startswith(name) or len(words_of(name)) >= _MIN_PART * len(words_of(own.name)))
    )


def _is_end(text: str, end: str) -> bool:
    return text.startswith(end) or text.endswith(end)


def _names_in_host(url: str) -> tuple[str | None, tuple[str, ...]]:
    """Return a URL's host, None without one, and its labels that may be a name; without hyphens and dots."""
    if not (host := _HOST.match(url)):
        return None, ()
    labels = host[1].lower().removeprefix("www.").replace("-", "").split(".")
    return "".join(labels), tuple(label for label in labels[:-1] if len(label) > 2)
