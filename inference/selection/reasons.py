"""Reasons for which blocks of a labeled page are in its document or not."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from dehusk.inference.selection.selection import Bools, Choice, candidates, choose, weigh
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions
from dehusk.schemas.pages import EncodedPage, Prediction

Indices = npt.NDArray[np.int32]


class Reason(StrEnum):
    """Rule that decided on a block."""

    LIKELY = "likely"
    """Content, with the least probability or more."""
    THREAD = "thread"
    """Content: a comment of a page of nothing but comments."""
    HEADING = "heading"
    """Content: a heading below the least probability, between blocks of content."""
    LIST = "list"
    """Content: one of a list of links below the least probability, between blocks of content."""
    SYMBOLS = "symbols"
    """Content: a block without words below the least probability, between blocks of content."""
    INCLUDED = "included"
    """A comment that is part of the text by `Comments.INCLUDE`."""
    COMMENT = "comment"
    """A comment that is no content."""
    UNLIKELY = "unlikely"
    """A block below the least probability."""
    REPEAT = "repeat"
    """A copy of a block that is kept."""
    HIDDEN = "hidden"
    """A block that the page hides at first, where such text is dropped."""
    NO_CONTENT = "no-content"
    """A block of a page without content: none is likely enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Rules that decided on the T blocks of a page."""

    choice: Choice
    reasons: tuple[Reason, ...]
    """One for each block."""
    least: float | None
    """Probability that content of this page must reach; None if it has none."""
    copies: Indices
    """Shape [T]: kept block for those left out as copies, else -1."""


def explain(
    page: EncodedPage,
    labels: Prediction,
    options: DocumentOptions = DEFAULT_OPTIONS,
) -> Explanation:
    """Return the choice of `choose`, with the reason for each block."""
    choice = choose(page, labels, options)
    likely, is_comment = candidates(
        page, choice.probabilities, labels.comments, drop_hidden=options.drop_hidden
    )
    weights, threshold = weigh(likely, page.words, page.repeat, is_comment, options.favor)
    copies = _copies(page.repeat, weights, likely > 0)
    rules = _rules(
        choice,
        is_comment=is_comment,
        is_heading=np.zeros_like(is_comment) if page.headings is None else page.headings,
        is_wordless=page.words == 0,
        dropped=page.hidden & options.drop_hidden,
        is_copy=copies >= 0,
        likely=likely,
        least=threshold,
    )
    chosen = np.select([mask for mask, _ in rules], range(len(rules)), len(rules))
    reasons = [reason for _, reason in rules] + [Reason.UNLIKELY]
    is_copy = chosen == reasons.index(Reason.REPEAT)
    return Explanation(
        choice,
        tuple(reasons[number] for number in chosen.tolist()),
        threshold,
        np.where(is_copy, copies, -1).astype(np.int32),
    )


def _rules(
    choice: Choice,
    *,
    is_comment: Bools,
    is_heading: Bools,
    is_wordless: Bools,
    dropped: Bools,
    is_copy: Bools,
    likely: npt.NDArray[np.float64] | npt.NDArray[np.float32],
    least: float | None,
) -> list[tuple[Bools, Reason]]:
    """Return a mask of shape [T] per reason; the first true one decides."""
    everywhere = np.ones(len(is_comment), np.bool_)
    is_below = everywhere if least is None else likely < least  # by itself, it would not be content
    return [
        (choice.content & choice.comment, Reason.INCLUDED),
        (choice.content & is_comment, Reason.THREAD),
        (choice.content & is_heading & is_below, Reason.HEADING),
        (choice.content & is_below & is_wordless, Reason.SYMBOLS),
        (choice.content & is_below, Reason.LIST),
        (choice.content, Reason.LIKELY),
        (choice.comment, Reason.COMMENT),
        (dropped, Reason.HIDDEN),
        (everywhere & (least is None), Reason.NO_CONTENT),
        (is_copy & (likely >= (least or 0)), Reason.REPEAT),
    ]


def _copies(repeat: Indices, weights: npt.NDArray[np.float64], is_likely: Bools) -> Indices:
    """Return for each block left out as a copy the one that is kept of its run's copies, else -1."""
    first = list(range(len(repeat)))
    for block, earlier in enumerate(repeat.tolist()):
        if earlier >= 0:
            first[block] = first[earlier]
    kept = {first[block]: block for block in np.flatnonzero(weights).tolist()}
    copies = np.full(len(repeat), -1, np.int32)
    for block in np.flatnonzero((weights == 0) & is_likely).tolist():
        copy = kept.get(first[block], block)
        copies[block] = -1 if copy == block else copy
    return copies
