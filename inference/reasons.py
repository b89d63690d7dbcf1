"""Why a block of a labeled page is part of its document, or not."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from dehusk.inference.choice import Choice, candidates, choose
from dehusk.inference.selection import Bools, look_like_comments, weigh
from dehusk.schemas.documents import Comments
from dehusk.schemas.pages import EncodedPage, Prediction

Indices = npt.NDArray[np.int32]


class Reason(StrEnum):
    """What decided on a block."""

    LIKELY = "likely"
    """Content: it reaches the least probability."""
    THREAD = "thread"
    """Content: a comment of a page that has nothing but comments."""
    INCLUDED = "included"
    """A comment that is part of the text, as comments are to be."""
    COMMENT = "comment"
    """A comment, and no content."""
    UNLIKELY = "unlikely"
    """It is below the least probability."""
    REPEAT = "repeat"
    """It has what another block has that is kept."""
    HIDDEN = "hidden"
    """The page hides it at first, and such text is dropped."""
    NO_CONTENT = "no-content"
    """No block is likely enough for the page to have any content."""


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """What decided on the T blocks of a page."""

    choice: Choice
    reasons: tuple[Reason, ...]
    """One for each block."""
    least: float | None
    """The probability that content must reach, of this page; None where it has none."""
    copies: Indices
    """Shape [T]: for those left out as copies the block that is kept, else -1."""


def explain(
    page: EncodedPage,
    labels: Prediction,
    *,
    drop_hidden: bool = False,
    comments: Comments = Comments.SEPARATE,
) -> Explanation:
    """What `choose` chooses of a page's blocks, and why."""
    choice = choose(page, labels, drop_hidden=drop_hidden, comments=comments)
    like_comments = look_like_comments(labels.comments, page.words, page.alike)
    likely, is_comment = candidates(page, choice.probabilities, like_comments, drop_hidden=drop_hidden)
    weighed = weigh(likely, page.words, page.repeat, is_comment)
    copies = _copies(page.repeat, weighed.likely, likely > 0)
    rules = _rules(
        choice,
        is_comment=is_comment,
        dropped=page.hidden & drop_hidden,
        is_copy=copies >= 0,
        likely=likely,
        least=weighed.least,
    )
    chosen = np.select([mask for mask, _ in rules], range(len(rules)), len(rules))
    reasons = [reason for _, reason in rules] + [Reason.UNLIKELY]
    is_copy = chosen == reasons.index(Reason.REPEAT)
    return Explanation(
        choice,
        tuple(reasons[number] for number in chosen.tolist()),
        weighed.least,
        np.where(is_copy, copies, -1).astype(np.int32),
    )


def _rules(
    choice: Choice,
    *,
    is_comment: Bools,
    dropped: Bools,
    is_copy: Bools,
    likely: npt.NDArray[np.float64] | npt.NDArray[np.float32],
    least: float | None,
) -> list[tuple[Bools, Reason]]:
    """Which blocks each reason is true of, shape [T] each; the first true one counts."""
    everywhere = np.ones(len(is_comment), np.bool_)
    return [
        (choice.content & choice.comment, Reason.INCLUDED),
        (choice.content & is_comment, Reason.THREAD),
        (choice.content, Reason.LIKELY),
        (choice.comment, Reason.COMMENT),
        (dropped, Reason.HIDDEN),
        (everywhere & (least is None), Reason.NO_CONTENT),
        (is_copy & (likely >= (least or 0)), Reason.REPEAT),
    ]


def _copies(repeat: Indices, weighed: npt.NDArray[np.float64], is_likely: Bools) -> Indices:
    """For each block that is left out as a copy the one that is kept of its run's copies, else -1."""
    first = list(range(len(repeat)))
    for block, earlier in enumerate(repeat.tolist()):
        if earlier >= 0:
            first[block] = first[earlier]
    kept = {first[block]: block for block in np.flatnonzero(weighed).tolist()}
    copies = np.full(len(repeat), -1, np.int32)
    for block in np.flatnonzero((weighed == 0) & is_likely).tolist():
        copy = kept.get(first[block], block)
        copies[block] = -1 if copy == block else copy
    return copies
