"""Text blocks near the headline of a page that hold dates which readers see."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dehusk.inference.metadata.dates import DateMention, DayOrder, dates_in, has_two_orders, read_date
from dehusk.inference.metadata.labels import DateLabel, label_in, may_tell
from dehusk.inference.native.dates import any_with_date, texts_with_dates
from dehusk.schemas.pages import SegmentedPage

BLOCKS_BEFORE, _AFTER = 14, 60
"""Blocks before and after the headline in which dates are looked for."""
_FAR = 150
"""Blocks after these in which a date is looked for that is labeled as that of publication."""
_AT_END = 40
"""Last blocks of a page, in which the date of its last change is looked for."""
_MANY_ALIKE = 3
"""Blocks of one path with dates among them from which these are of posts or a list."""
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
_NOT_OURS = ("/nav/", "/blockquote/", "/figcaption/", "/pre/")
"""Elements whose dates are not the page's."""


@dataclass(frozen=True, slots=True)
class Hints:
    """Knowledge of a page's dates from elsewhere."""

    language: str = ""
    order: DayOrder | None = None
    times: Sequence[tuple[str, str]] = ()
    """The text and the machine-readable time of each `<time>`."""
    month: tuple[int, int] | None = None
    """Year and month in the page's address."""
    of_product: bool = False
    """True if the page declares that it is about something to buy."""
    drop_hidden: bool = False
    """True if hidden blocks are not looked at."""


class DatedBlock(NamedTuple):
    """A block with dates."""

    at: int
    mentions: list[DateMention]
    prose: int
    """Characters of prose between the headline and the block."""


def may_show_dates(page: SegmentedPage, hints: Hints) -> bool:
    """Return False for a page none of whose blocks holds a date, wherever its headline is."""
    return bool(hints.times) or any_with_date(page.texts, _LONGEST)


def dated_blocks(page: SegmentedPage, hints: Hints, head: int | None) -> list[DatedBlock]:
    """Return the blocks around the headline that hold a date which may be the page's."""
    start = 0 if head is None else max(0, head - BLOCKS_BEFORE)
    stop = _WITHOUT_HEADLINE if head is None else head + _AFTER
    times = _short_times(hints)[:_MAX_TIMES]
    places = texts_with_dates(page.texts, start, stop + _FAR, _LONGEST)
    if times:
        places = sorted({*places, *_places_of(times, page.texts, start, stop)})
    dated: list[DatedBlock] = []
    prose, after = 0, start
    for at in places:
        if at == head or not _may_be_ours(page, at, hints):
            continue
        text = page.texts[at]
        if at >= stop and not may_tell(DateLabel.PUBLISHED, text):
            continue
        mentions = _mentions_in(text, hints)
        if at >= stop:
            mentions = mentions if _tells_publication(text, mentions) else []
        elif times:
            mentions = _with_times(text, mentions, times, hints)
        if mentions:
            prose += _prose_between(page, max(after, (head or 0) + 1), at + 1)
            after = at + 1
            dated.append(DatedBlock(at, mentions, prose))
            if len(dated) == _MAX_DATED:
                break
    return dated


def changes_at_end(page: SegmentedPage, hints: Hints, head: int | None) -> Iterator[DatedBlock]:
    """Yield the last blocks of a page, after its headline, that hold a date which may be that of a change.

    None is yielded where several blocks of one path hold dates, as posts and lists do, nor such as are links.
    """
    start = max(0 if head is None else head + 1, len(page) - _AT_END)
    times = _short_times(hints)[-_MAX_TIMES:]
    places = texts_with_dates(page.texts, start, len(page), _LONGEST)
    alike = Counter(page.paths[at] for at in places)
    if max(alike.values(), default=0) >= _MANY_ALIKE:
        return
    for at in sorted({*places, *_places_of(times, page.texts, start, len(page))}):
        text = page.texts[at]
        is_linked = 3 * page.linked[at] > len(text)
        if may_tell(DateLabel.MODIFIED, text) and not is_linked and _may_be_ours(page, at, hints):
            mentions = _with_times(text, _mentions_in(text, hints), times, hints)
            if mentions:
                yield DatedBlock(at, mentions, 0)


def _may_be_ours(page: SegmentedPage, at: int, hints: Hints) -> bool:
    """Return False for a block in an element whose dates are not the page's, or that is not looked at."""
    if page.hidden[at] and hints.drop_hidden:
        return False
    return not any(tag in f"{page.paths[at]}/" for tag in _NOT_OURS)


def _short_times(hints: Hints) -> list[tuple[str, str]]:
    return [each for each in hints.times if 0 < len(each[0]) <= _MAX_TIME_TEXT]


def _places_of(
    times: Sequence[tuple[str, str]], texts: Sequence[str], start: int, stop: int
) -> Iterator[int]:
    """Yield the blocks from `start` up to `stop` that are not too long and hold the text of a `<time>`."""
    for at, text in enumerate(texts[start:stop], start):
        if len(text) <= _LONGEST and any(shown in text for shown, _ in times):
            yield at


def _prose_between(page: SegmentedPage, first: int, end: int) -> int:
    """Return the characters of the blocks of prose from `first` up to `end`."""
    lengths = ((len(page.texts[at]), page.linked[at]) for at in range(first, end))
    return sum(length for length, linked in lengths if length > _PROSE and linked * 2 < length)


def _tells_publication(text: str, mentions: Sequence[DateMention]) -> bool:
    """Return True if the first date in a text is labeled there as that of publication."""
    return bool(mentions) and label_in(text[: mentions[0].start]) is DateLabel.PUBLISHED


def _mentions_in(text: str, hints: Hints) -> list[DateMention]:
    """Return the dates in a text, those of the month in the address if day and month can be exchanged."""
    mentions = dates_in(text, hints.language, hints.order)
    if hints.month is None or not has_two_orders(text):
        return mentions
    if any(month_of(mention) == hints.month for mention in mentions):
        return mentions
    for order in DayOrder:
        others = dates_in(text, hints.language, order)
        if any(month_of(mention) == hints.month for mention in others):
            return others
    return mentions


def month_of(mention: DateMention) -> tuple[int, int]:
    """Return the year and the month of a date."""
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
