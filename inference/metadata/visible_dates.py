"""Dates that readers see near the headline of a page: which of them are those of the page.

Each date in a window of text blocks around the headline is a candidate for the day of publication. It is
weighed by its place, the text around it, its label and the classes of the elements that hold it; the best one
is taken if it is good enough.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import islice, pairwise
from typing import Any, NamedTuple
from zlib import crc32

from dehusk.inference.metadata.dated_blocks import (
    BLOCKS_BEFORE,
    DatedBlock,
    Hints,
    changes_at_end,
    dated_blocks,
    month_of,
)
from dehusk.inference.metadata.dates import DateMention
from dehusk.inference.metadata.headline import is_heading
from dehusk.inference.metadata.labels import DateLabel, label_in
from dehusk.schemas.metadata import day_of
from dehusk.schemas.pages import SegmentedPage, Structure

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

_OTHERS = re.compile(r"\b(?:site|website|policy|privacy|terms|cookies?|notice)\b")
"""Words for what else a page may name with the date of its last change."""
_META = frozenset(
    crc32(b"c:" + word)
    for word in (
        *(b"meta", b"byline", b"info", b"details", b"author", b"entry", b"post"),
        *(b"dateline", b"subtitle", b"submitted", b"date", b"time", b"published"),
    )
)
"""Parts of the classes of elements that hold dates, as `Structure.tokens` has them."""
_OF_READER = frozenset(
    crc32(b"c:" + word) for word in (b"comment", b"review", b"reviews", b"testimonial", b"testimonials")
)
"""Parts that the classes of comments and reviews by readers and of what is in them have."""
_OF_POST = frozenset(crc32(b"c:" + word) for word in (b"postbit", b"postcontainer"))
"""Such parts of posts in vBulletin's threads, which some sites declare as comments."""
_META_LEVELS, _READER_LEVELS = 2, 4
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
    "class post": 0.8,
    "dl": -0.7,
    "earliest": 1.0,
    "first": 0.9,
    "first alike": 1.2,
    "first alike 2": 0.85,
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


class Dates(NamedTuple):
    """Dates of a page, each in the zone in which the page has it."""

    published: date | datetime | None
    modified: date | datetime | None


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


def find_dates(page: SegmentedPage, head: int | None, hints: Hints) -> Dates:
    """Return the dates of publication and of the last change that are shown near the headline.

    That of the last change may also stand at the end of the page.

    `head` is the block of the headline, None if there is none. On the page of a product, dates without a
    label are of deliveries, offers and reviews.
    """
    published = modified = None
    best = THRESHOLD
    for candidate in candidates(page, head, hints):
        if hints.of_product and not candidate.label:
            continue
        if candidate.label is DateLabel.MODIFIED:
            if modified is None and candidate.weight >= _MODIFIED_THRESHOLD:
                modified = candidate.when
        elif (weight := candidate.weight) >= best and (published is None or weight > best):
            published, best = candidate.when, weight
    return Dates(published, modified or _last_change(page, head, hints))


def candidates(page: SegmentedPage, head: int | None, hints: Hints) -> list[Candidate]:
    """Return the dates near the headline, in document order.

    Raises:
        ValueError: the page came without its structure.
    """
    structure = _structure_of(page)
    dated = dated_blocks(page, hints, head)
    if not dated:
        return []
    ends = structure.token_counts.cumsum(dtype="int64")
    around_head = frozenset[int]() if head is None else frozenset(_around(structure, head))
    found: list[Candidate] = []
    has_first = False
    for each in dated:
        if _is_within(_OF_READER, _READER_LEVELS, structure, ends, each.at, outside=around_head):
            continue
        features = [
            *_place(each, head),
            *_surroundings(page, each),
            *_repetition(page, each.at, dated, head),
        ]
        if _is_within(_META, _META_LEVELS, structure, ends, each.at):
            features.append("class meta")
        if _is_within(_OF_POST, _READER_LEVELS, structure, ends, each.at):
            features.append("class post")
        for mention, label, own in _labeled(page, each):
            if label is DateLabel.OTHER:
                continue
            if month_of(mention) == hints.month:
                own.append("month of address")
            if not has_first and label is not DateLabel.MODIFIED and (head is None or each.at > head):
                has_first = True
                own.append("first")
            found.append(Candidate(mention.when, label, features + own))
    _mark_earliest(found)
    return found


def _last_change(page: SegmentedPage, head: int | None, hints: Hints) -> date | datetime | None:
    """Return the date that one of the last blocks labels as that of a change, as wikis do in a page's footer.

    None if several do: those are of posts, or of other pages.
    """
    structure = _structure_of(page)
    ends = structure.token_counts.cumsum(dtype="int64")
    changes = [
        mention.when
        for block in changes_at_end(page, hints, head)
        if not _is_within(_OF_READER, _READER_LEVELS, structure, ends, block.at)
        and not _is_headed(page, block.at, head, after=0)
        for mention, label, _ in _labeled(page, block)
        if label is DateLabel.MODIFIED
        and mention.start
        and _names(page.texts[block.at][: mention.start]) <= _names("" if head is None else page.texts[head])
        and len(page.texts[block.at]) - (mention.end - mention.start) <= _MEDIUM
    ]
    return changes[0] if len(changes) == 1 else None


def _names(text: str) -> set[str]:
    """Return the words of a text that name a site or its policies."""
    return set(_OTHERS.findall(text.lower()))


def _structure_of(page: SegmentedPage) -> Structure:
    if page.structure is None:
        raise ValueError("dates are weighed by the elements around them, which this page came without")
    return page.structure


def _mark_earliest(found: Sequence[Candidate]) -> None:
    """Add a feature to the candidates of the earliest day, apart from days of a change."""
    days = {day_of(each.when) for each in found if each.label is not DateLabel.MODIFIED}
    for candidate in found:
        if days and day_of(candidate.when) == min(days):
            candidate.features.append("only day" if len(days) == 1 else "earliest")


def _place(block: DatedBlock, head: int | None) -> Iterator[str]:
    """Yield the place of a block relative to the headline."""
    if head is None:
        yield "no headline"
    elif block.at > head:
        distance = block.at - head
        yield next((f"after {most}" for most in (1, 2, 4, 8, 15, 30) if distance <= most), "after more")
    else:
        distance = head - block.at
        yield next(f"before {most}" for most in (1, 2, 7, BLOCKS_BEFORE) if distance <= most)
    if block.prose > _MUCH_PROSE:
        yield "much prose"
    elif block.prose > _SOME_PROSE:
        yield "prose"


def _surroundings(page: SegmentedPage, block: DatedBlock) -> Iterator[str]:
    """Yield the length of a block, and the elements that hold it."""
    path = f"{page.paths[block.at]}/"
    rest = len(page.texts[block.at]) - sum(mention.end - mention.start for mention in block.mentions)
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
    if is_heading(path):
        yield "heading"
    if page.hidden[block.at]:
        yield "hidden"


def _repetition(page: SegmentedPage, at: int, dated: Sequence[DatedBlock], head: int | None) -> Iterator[str]:
    """Yield features of a block whose path others with dates have: of lists, comments, posts of a forum."""
    same = [each.at for each in dated if page.paths[each.at] == page.paths[at]]
    if len(same) < 2:
        return
    yield "alike" if len(same) > 2 else "alike 2"
    if 2 * sum(_is_headed(page, each, head) for each in same) > len(same):
        yield "listed"
    elif head is None or at != next((each for each in same if each > head), None):
        return
    elif len(same) > 2:
        yield "first alike"
    elif at == same[0] and len(page.texts[at]) <= _MEDIUM:
        yield "first alike 2"


def _is_headed(page: SegmentedPage, at: int, head: int | None, *, after: int = _BESIDE) -> bool:
    """Return True for a block near a heading that is neither the headline nor that of a reply to it.

    It stands up to `_BESIDE` blocks before, or up to `after` blocks behind.
    """
    headline = "" if head is None else page.texts[head]
    return any(
        near != at and is_heading(page.paths[near]) and not _is_of_post(page.texts[near], headline)
        for near in range(max(0, at - _BESIDE), min(len(page.paths), at + after + 1))
    )


def _is_of_post(heading: str, headline: str) -> bool:
    """Return True for a heading that is the headline, perhaps after a mark of a reply: `Re: …`."""
    mark = heading.removesuffix(headline)
    return bool(headline) and mark != heading and (not mark or mark.rstrip().endswith((":", "：")))


def _labeled(page: SegmentedPage, block: DatedBlock) -> Iterator[tuple[DateMention, DateLabel, list[str]]]:
    """Yield the dates of a block, each with its label and features of its own."""
    text, mentions = page.texts[block.at], block.mentions
    pairs = pairwise(mentions)
    adjacent = len(mentions) > 1 and all(after.start - before.end <= _BESIDE for before, after in pairs)
    earliest = min(mentions, key=lambda each: (day_of(each.when), each.start))
    end = 0
    for mention in mentions:
        before = text[end : mention.start]
        label = label_in(before) if end or before.strip() else _label_above(page, block.at)
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


def _label_above(page: SegmentedPage, at: int) -> DateLabel:
    """Return the label of a date that stands alone, from the short block before it."""
    above = page.texts[at - 1] if at else ""
    if len(above) > _MAX_LABEL:
        return DateLabel.NONE
    label = label_in(above)
    tells_other = above.endswith((":", "：")) or "/dl/" in page.paths[at]
    return DateLabel.NONE if label is DateLabel.OTHER and not tells_other else label


def _is_within(
    tokens: frozenset[int],
    levels: int,
    structure: Structure,
    ends: Any,  # noqa: ANN401 an array
    at: int,
    *,
    outside: frozenset[int] = frozenset(),
) -> bool:
    """Return True for a block in an element that has one of some tokens; those of each end at its `ends`.

    Elements `outside`, and those around them, are not looked at.
    """
    for element in islice(_around(structure, at), levels):
        if element in outside:
            return False
        end = int(ends[element])
        own = structure.tokens[end - int(structure.token_counts[element]) : end].tolist()
        if not tokens.isdisjoint(own):
            return tokens is not _OF_READER or _OF_POST.isdisjoint(own)
    return False


def _around(structure: Structure, at: int) -> Iterator[int]:
    """Yield the elements around a block, the innermost one first."""
    element = int(structure.elements[at])
    while element >= 0:
        yield element
        element = int(structure.parents[element])
