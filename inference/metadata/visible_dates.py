"""Dates that readers see near the headline of a page: which of them are those of the page.

Each date in a window of text blocks around the headline is a candidate for the day of publication. It is
weighed by its place, the text around it, its label and the classes of the elements that hold it; the best one
is taken if it is good enough.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

from dehusk.inference.metadata.dates import (
    DateMention,
    DayOrder,
    dates_in,
    day_of,
    has_two_orders,
    read_date,
)
from dehusk.inference.metadata.labels import DateLabel, label_in, may_tell_publication
from dehusk.inference.native.dates import texts_with_dates
from dehusk.schemas.pages import HeadlineSources

_BEFORE, _AFTER = 14, 60
"""Blocks before and after the headline in which dates are looked for."""
_FAR = 150
"""Blocks after these in which a date is looked for that is labeled as that of publication."""
_WITHOUT_HEADLINE = 40
"""First blocks in which they are, where there is no headline."""
_MAX_DATED = 24
"""Blocks with dates that are weighed."""
_MAX_TIMES = 12
_MAX_TIME_TEXT = 60
_LONGEST = 320
"""Characters of the longest block with a date that may be the page's."""
_PROSE = 240
"""Characters from which a block is prose."""
_SOME_PROSE, _MUCH_PROSE = 400, 1_500
"""Characters of prose between the headline and a date."""
_BARE, _SHORT, _MEDIUM = 4, 40, 90
"""Characters beside the date of a block."""
_MAX_LABEL = 30
"""Characters of the longest block that labels the next one."""
_MAX_BYLINE = 24
"""Characters before a date from which they may be a sentence."""
_SENTENCE_WORDS = 3
"""Words in lower case from which they are one."""
_BESIDE = 3
"""Characters between two dates beside each other; also blocks between an entry of a list and its heading."""
_NOT_OURS = ("/nav/", "/blockquote/", "/figcaption/", "/pre/")
"""Elements whose dates are not the page's."""
_HEADING = re.compile(r"/h[1-6](?:/|\Z)")

_META = frozenset(
    crc32(b"c:" + word)
    for word in (
        *(b"meta", b"byline", b"info", b"details", b"author", b"entry", b"post"),
        *(b"dateline", b"subtitle", b"submitted", b"date", b"time", b"published"),
    )
)
"""Parts of the classes of elements that hold dates, as `Structure.tokens` has them."""
_META_LEVELS = 2
"""Elements around a block whose classes are looked at."""

WEIGHTS = {
    "after 1": 0.9,
    "after 15": -0.8,
    "after 2": 1.0,
    "after 30": -0.9,
    "after more": -1.6,
    "alike": -2.5,
    "alike 2": -1.7,
    "aside": -0.9,
    "before 1": 1.5,
    "before 14": -0.4,
    "before 2": 1.3,
    "begins": 0.3,
    "class meta": 0.3,
    "dl": -0.7,
    "earliest": 1.0,
    "first": 0.9,
    "first alike": 1.2,
    "footer in main": 1.6,
    "header": -1.9,
    "header in main": 0.8,
    "heading": 1.0,
    "hidden": -0.2,
    "in a sentence": -2.3,
    "label published": 0.7,
    "later of two": -1.3,
    "listed": -1.4,
    "long": -1.2,
    "medium": 0.5,
    "month of address": 0.6,
    "much prose": -0.4,
    "no headline": -1.8,
    "only day": 1.1,
    "p": -0.3,
    "prose": -0.7,
    "short": 0.7,
    "time": 0.5,
}
"""Weight of each feature of a candidate.

Fitted by multinomial regression, no date being one of the choices, to 1,275 pages whose declared dates were
removed, and to 92 lists and product pages, which have none.
"""
THRESHOLD = 0.5
"""Sum of weights from which a candidate is taken."""
_MODIFIED_THRESHOLD = -0.5
"""That of a date which is labeled as the one of the last change."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The text blocks of a page, as columns; `structure` has the fields of `Structure`."""

    title: str
    texts: Sequence[str]
    paths: Sequence[str]
    hidden: Sequence[bool]
    linked: Sequence[int]
    structure: Mapping[str, Any]
    headline_sources: HeadlineSources
    drop_hidden: bool = False
    """True if hidden blocks are not looked at."""


class VisibleDates(NamedTuple):
    """The dates of a page that readers see."""

    published: date | datetime | None
    modified: date | datetime | None


@dataclass(frozen=True, slots=True)
class Hints:
    """Knowledge of a page's dates from elsewhere."""

    language: str = ""
    order: DayOrder | None = None
    times: Sequence[tuple[str, str]] = ()
    """The text and the machine-readable time of each `<time>`."""
    month: tuple[int, int] | None = None
    """Year and month in the page's address."""


class Candidate(NamedTuple):
    """A date that may be the page's."""

    when: date | datetime
    label: DateLabel
    features: list[str]
    """Keys of `WEIGHTS`; those without a weight count nothing."""

    @property
    def weight(self) -> float:
        """Sum of the weights of its features."""
        return sum(WEIGHTS.get(feature, 0.0) for feature in self.features)


class _Dated(NamedTuple):
    """A block with dates."""

    at: int
    mentions: list[DateMention]
    prose: int
    """Characters of prose between the headline and the block."""


def find_dates(blocks: Blocks, head: int | None, hints: Hints) -> VisibleDates:
    """Return the dates of publication and of the last change that are shown near the headline.

    `head` is the block of the headline, None if there is none.
    """
    published = modified = None
    best = THRESHOLD
    for candidate in candidates(blocks, head, hints):
        if candidate.label is DateLabel.MODIFIED:
            if modified is None and candidate.weight >= _MODIFIED_THRESHOLD:
                modified = candidate.when
        elif (weight := candidate.weight) >= best and (published is None or weight > best):
            published, best = candidate.when, weight
    return VisibleDates(published, modified)


def candidates(blocks: Blocks, head: int | None, hints: Hints) -> list[Candidate]:
    """Return the dates near the headline, in document order."""
    dated = _dated_blocks(blocks, hints, head)
    if not dated:
        return []
    ends = blocks.structure["token_counts"].cumsum(dtype="int64")
    found: list[Candidate] = []
    has_first = False
    for each in dated:
        features = [
            *_place(each, head),
            *_surroundings(blocks, each),
            *_repetition(blocks, each.at, dated, head),
        ]
        if _is_meta(blocks.structure, ends, each.at):
            features.append("class meta")
        for mention, label, own in _labeled(blocks, each):
            if label is DateLabel.OTHER:
                continue
            if _month(mention) == hints.month:
                own.append("month of address")
            if not has_first and label is not DateLabel.MODIFIED and (head is None or each.at > head):
                has_first = True
                own.append("first")
            found.append(Candidate(mention.when, label, features + own))
    _mark_earliest(found)
    return found


def _mark_earliest(found: Sequence[Candidate]) -> None:
    """Add a feature to the candidates of the earliest day, apart from days of a change."""
    days = {day_of(each.when) for each in found if each.label is not DateLabel.MODIFIED}
    for candidate in found:
        if days and day_of(candidate.when) == min(days):
            candidate.features.append("only day" if len(days) == 1 else "earliest")


def _dated_blocks(blocks: Blocks, hints: Hints, head: int | None) -> list[_Dated]:
    """Return the blocks around the headline that hold a date which may be the page's."""
    start = 0 if head is None else max(0, head - _BEFORE)
    stop = _WITHOUT_HEADLINE if head is None else head + _AFTER
    times = [each for each in hints.times if 0 < len(each[0]) <= _MAX_TIME_TEXT][:_MAX_TIMES]
    places = texts_with_dates(blocks.texts, start, stop + _FAR, _LONGEST)
    if times:
        places = sorted({*places, *_places_of(times, blocks.texts, start, stop)})
    dated: list[_Dated] = []
    prose, after = 0, start
    for at in places:
        if at == head or (blocks.hidden[at] and blocks.drop_hidden):
            continue
        text = blocks.texts[at]
        if at >= stop and not may_tell_publication(text):
            continue
        mentions = _mentions_in(text, hints)
        if at >= stop:
            mentions = mentions if _tells_publication(text, mentions) else []
        elif times:
            mentions = _with_times(text, mentions, times, hints)
        if mentions and not any(tag in f"{blocks.paths[at]}/" for tag in _NOT_OURS):
            prose += _prose_between(blocks, max(after, (head or 0) + 1), at + 1)
            after = at + 1
            dated.append(_Dated(at, mentions, prose))
            if len(dated) == _MAX_DATED:
                break
    return dated


def _places_of(
    times: Sequence[tuple[str, str]], texts: Sequence[str], start: int, stop: int
) -> Iterator[int]:
    """Yield the blocks from `start` up to `stop` that are not too long and hold the text of a `<time>`."""
    for at, text in enumerate(texts[start:stop], start):
        if len(text) <= _LONGEST and any(shown in text for shown, _ in times):
            yield at


def _prose_between(blocks: Blocks, first: int, end: int) -> int:
    """Return the characters of the blocks of prose from `first` up to `end`."""
    lengths = ((len(blocks.texts[at]), blocks.linked[at]) for at in range(first, end))
    return sum(length for length, linked in lengths if length > _PROSE and linked * 2 < length)


def _tells_publication(text: str, mentions: Sequence[DateMention]) -> bool:
    """Return True if the first date in a text is labeled there as that of publication."""
    return bool(mentions) and label_in(text[: mentions[0].start]) is DateLabel.PUBLISHED


def _mentions_in(text: str, hints: Hints) -> list[DateMention]:
    """Return the dates in a text, those of the month in the address if day and month can be exchanged."""
    mentions = dates_in(text, hints.language, hints.order)
    if hints.month is None or not has_two_orders(text):
        return mentions
    if any(_month(mention) == hints.month for mention in mentions):
        return mentions
    for order in DayOrder:
        others = dates_in(text, hints.language, order)
        if any(_month(mention) == hints.month for mention in others):
            return others
    return mentions


def _month(mention: DateMention) -> tuple[int, int]:
    return mention.when.year, mention.when.month


def _with_times(
    text: str, mentions: list[DateMention], times: Sequence[tuple[str, str]], hints: Hints
) -> list[DateMention]:
    """Return dates with those of `<time>` elements whose text, perhaps `yesterday`, stands in a text."""
    for shown, when in times:
        start = text.find(shown)
        if start >= 0 and (day := read_date(when, hints.language, hints.order)):
            end = start + len(shown)
            apart = [each for each in mentions if each.end <= start or each.start >= end]
            mentions = sorted([*apart, DateMention(day, start, end)], key=lambda each: each.start)
    return mentions


def _place(block: _Dated, head: int | None) -> Iterator[str]:
    """Yield the place of a block relative to the headline."""
    if head is None:
        yield "no headline"
    elif block.at > head:
        distance = block.at - head
        yield next((f"after {most}" for most in (1, 2, 4, 8, 15, 30) if distance <= most), "after more")
    else:
        distance = head - block.at
        yield next(f"before {most}" for most in (1, 2, 7, _BEFORE) if distance <= most)
    if block.prose > _MUCH_PROSE:
        yield "much prose"
    elif block.prose > _SOME_PROSE:
        yield "prose"


def _surroundings(blocks: Blocks, block: _Dated) -> Iterator[str]:
    """Yield the length of a block, and the elements that hold it."""
    path = f"{blocks.paths[block.at]}/"
    rest = len(blocks.texts[block.at]) - sum(mention.end - mention.start for mention in block.mentions)
    lengths = ((_BARE, "bare"), (_SHORT, "short"), (_MEDIUM, "medium"))
    yield next((name for most, name in lengths if rest <= most), "long")
    in_main = "/article/" in path or "/main/" in path
    for tag in ("footer", "header"):
        if f"/{tag}/" in path:
            yield f"{tag} in main" if in_main else tag
    if "/aside/" in path and not in_main:
        yield "aside"
    for tag in ("p", "time", "dl"):
        if f"/{tag}/" in path:
            yield tag
    if _HEADING.search(path):
        yield "heading"
    if blocks.hidden[block.at]:
        yield "hidden"


def _repetition(blocks: Blocks, at: int, dated: Sequence[_Dated], head: int | None) -> Iterator[str]:
    """Yield features of a block whose path others with dates have: of lists, comments, posts of a forum."""
    same = [each.at for each in dated if blocks.paths[each.at] == blocks.paths[at]]
    if len(same) < 3:
        if len(same) == 2:
            yield "alike 2"
        return
    yield "alike"
    headed = sum(
        any(
            near not in {each, head} and _HEADING.search(blocks.paths[near])
            for near in range(max(0, each - _BESIDE), min(len(blocks.paths), each + _BESIDE + 1))
        )
        for each in same
    )
    if headed * 2 > len(same):
        yield "listed"
    elif at == same[0] and head is not None and at > head:
        yield "first alike"


def _labeled(blocks: Blocks, block: _Dated) -> Iterator[tuple[DateMention, DateLabel, list[str]]]:
    """Yield the dates of a block, each with its label and features of its own."""
    text, mentions = blocks.texts[block.at], block.mentions
    pairs = pairwise(mentions)
    adjacent = len(mentions) > 1 and all(after.start - before.end <= _BESIDE for before, after in pairs)
    earliest = min(mentions, key=lambda each: (day_of(each.when), each.start))
    end = 0
    for mention in mentions:
        before = text[end : mention.start]
        label = label_in(before) if end or before.strip() else _label_above(blocks, block.at)
        features = []
        if label:
            features.append(f"label {label}")
        elif not mention.start:
            features.append("begins")
        elif len(before) > _MAX_BYLINE and sum(map(str.islower, before.split())) >= _SENTENCE_WORDS:
            features.append("in a sentence")
        if adjacent and not label and mention is not earliest:
            features.append("later of two")
        yield mention, label, features
        end = mention.end


def _label_above(blocks: Blocks, at: int) -> DateLabel:
    """Return the label of a date that stands alone, from the short block before it."""
    above = blocks.texts[at - 1] if at else ""
    if len(above) > _MAX_LABEL:
        return DateLabel.NONE
    label = label_in(above)
    tells_other = above.endswith((":", "：")) or "/dl/" in blocks.paths[at]
    return DateLabel.NONE if label is DateLabel.OTHER and not tells_other else label


def _is_meta(structure: Mapping[str, Any], ends: Any, at: int) -> bool:  # noqa: ANN401 an array
    """Return True for a block in an element whose class is one of dates; its tokens end at its `ends`."""
    element = int(structure["elements"][at])
    for _ in range(_META_LEVELS):
        if element < 0:
            return False
        end = int(ends[element])
        if not _META.isdisjoint(
            structure["tokens"][end - int(structure["token_counts"][element]) : end].tolist()
        ):
            return True
        element = int(structure["parents"][element])
    return False
