"""Alignment of a page's blocks with its gold text (Web2Text, ECIR 2018, §4.1).

Every block is looked for in the gold text as a run of words that may drift by a few insertions or
omissions; dynamic programming picks the placements that cover most of the text in the page's order, and
blocks left over may take what is still uncovered, out of order. A block is content when at least the given
share of its words is found at its place.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dehusk.training.arrays import Bools, Doubles, Integers

CONTENT_SHARE = 0.6666
"""Share of a block's words that a text must have for the block to be part of it: two words of three."""
_PLACEMENT_COST = 0.05
"""Words that a placement costs, so that one long block is preferred to two short ones."""
_MIN_OUT_OF_ORDER = 3
"""Words of the shortest block that is believed where the page's order does not put it."""
_UNCOVERED_SHARE = 0.8
"""Share of a place that must be uncovered for a block to take it out of order."""


@dataclass(frozen=True, slots=True, eq=False)
class _Placements:
    """Places of a block in the gold text: from each start to its end, so many words found."""

    starts: Integers
    ends: Integers
    scores: Doubles


@dataclass(frozen=True, slots=True)
class _Link:
    """One placement in a chain of placements that follow one another in block and gold order."""

    block: int
    start: int
    end: int
    previous: int
    """Index of the link before, -1 for none."""


def content_blocks(blocks: Sequence[Sequence[str]], gold: Sequence[str], share: float) -> Bools:
    """Return the blocks, each given as its words, that are part of the gold text."""
    positions = _positions(gold)
    placements = {
        index: found
        for index, words in enumerate(blocks)
        if (found := _placements(words, positions, len(gold), share)) is not None
    }
    content = np.zeros(len(blocks), np.bool_)
    covered = np.zeros(len(gold), np.bool_)
    for link in _best_chain(placements, len(gold)):
        content[link.block] = True
        covered[link.start : link.end] = True
    _place_leftovers(blocks, placements, content, covered)
    return content


def _positions(gold: Sequence[str]) -> dict[str, Integers]:
    found: dict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(gold):
        found[word].append(position)
    return {word: np.array(places, np.int64) for word, places in found.items()}


def _placements(
    words: Sequence[str], positions: dict[str, Integers], gold_length: int, share: float
) -> _Placements | None:
    """Return the places at which at least the share of a block's words is found."""
    length = len(words)
    starts = [positions[word] - offset for offset, word in enumerate(words) if word in positions]
    if not starts or len(starts) < share * length:
        return None
    found = np.bincount(np.concatenate(starts) + length, minlength=gold_length + length)
    found = np.minimum(_with_drift(found, _drift(length)), length)
    places = np.flatnonzero(found >= share * length)
    if not len(places):
        return None
    return _Placements(
        starts=np.maximum(places - length, 0),
        ends=np.minimum(places, gold_length),
        scores=found[places].astype(np.float64) - _PLACEMENT_COST,
    )


def _drift(length: int) -> int:
    """Return the words by which a block may be shifted within itself against the gold text."""
    return 0 if length < 6 else 1 if length < 30 else 4


def _with_drift(found: Integers, drift: int) -> Integers:
    """Return, for each start, the words found at it and at its neighbours up to `drift` away."""
    sums = np.cumsum(np.pad(found, (drift + 1, drift)))
    return sums[2 * drift + 1 :] - sums[: -2 * drift - 1]


def _best_chain(placements: dict[int, _Placements], gold_length: int) -> list[_Link]:
    """Return the placements, at most one per block, that find most words in order of page and gold text."""
    links: list[_Link] = []
    best = np.zeros(gold_length + 1)  # most words found in each prefix of the gold text; never falls
    last = np.full(gold_length + 1, -1)  # the link that ends that chain
    for block, found in placements.items():
        totals, previous = best[found.starts] + found.scores, last[found.starts]
        for start, end, total, before in zip(found.starts, found.ends, totals, previous, strict=True):
            upto = int(np.searchsorted(best, total))
            if upto > end:
                best[end:upto], last[end:upto] = total, len(links)
                links.append(_Link(block, int(start), int(end), int(before)))
    chain: list[_Link] = []
    index = int(last[-1])
    while index >= 0:
        chain.append(links[index])
        index = links[index].previous
    return chain


def _place_leftovers(
    blocks: Sequence[Sequence[str]],
    placements: dict[int, _Placements],
    content: Bools,
    covered: Bools,
) -> None:
    """Mark blocks whose best place is still uncovered, and cover it."""
    for block, found in placements.items():
        if content[block] or len(blocks[block]) < _MIN_OUT_OF_ORDER:
            continue
        before = np.concatenate([[0], np.cumsum(~covered)])
        uncovered = (before[found.ends] - before[found.starts]) / (found.ends - found.starts)
        best = int(np.argmax(uncovered * found.scores))
        if uncovered[best] >= _UNCOVERED_SHARE:
            content[block] = True
            covered[found.starts[best] : found.ends[best]] = True
