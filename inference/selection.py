"""From probabilities to content: which blocks a cleaned text is made of."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dehusk.inference.native.choosing import (
    best_expected_f1,
    expected_words,
    leave_repeats_out,
    like_comments,
    most_probable,
)

Bools = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.float32] | npt.NDArray[np.float64]

LEAST_WORDS = 15.0
"""A page of which fewer words are expected to be content, and no block of words may well be, has none."""
LEAST_PROBABILITY = 0.25
"""What a block of words must reach for it."""
FEW_BLOCKS = 10
"""A page of no more has hardly room for a menu, so that an unlikely block may be all that it says."""
LEAST_OF_FEW = 0.05
"""What a block of such a page must reach."""
LIKELY = 0.5
AMONG_LIKELY = 0.25
"""What suffices for a comment among blocks of its kind that are likely to be comments."""
_BETTER_COPY = 0.25
"""The probability from which the first copy of a repeated run is kept, however likely a later one is."""


class Weighed(NamedTuple):
    """What decides on the T blocks of a page."""

    likely: npt.NDArray[np.float64]
    """Shape [T]: the probability that each is content; 0 of comments, and of copies that are left out."""
    least: float | None
    """What a block must reach to be content; None where the page has none."""


def select(
    probabilities: Probabilities,
    words: npt.NDArray[np.uint32],
    repeat: npt.NDArray[np.int32],
    comments: Probabilities | None = None,
    alike: npt.NDArray[np.int32] | None = None,
) -> Bools:
    """Which blocks are content, shape [T].

    They are the most probable ones, as many as make the F1 of their words greatest if the probabilities are
    right: it counts what is expected to be missed as well as what is expected to be wrong, so an unsure page
    keeps more than at a threshold of one half. A block raises it when its probability is above half of it,
    and so blocks without words are decided on, too. Of a repeated run only the better copy is kept. User
    comments are no content, unless there is nothing else: such a page is a thread.

    `words` are the words of each block, `repeat` the index of the earlier block that a block repeats, or -1,
    `alike` is as in `likely_comments`.

    Raises:
        ValueError: they are not of the same blocks.
    """
    lengths = words.astype(np.uint32, copy=False)
    is_comment = likely_comments(probabilities, comments, lengths, alike)
    return choose_content(probabilities, lengths, repeat, is_comment)


def choose_content(
    probabilities: Probabilities,
    words: npt.NDArray[np.uint32],
    repeat: npt.NDArray[np.int32],
    is_comment: Bools,
) -> Bools:
    """Which blocks are content, as in `select`, given which are user comments, all of shape [T].

    Raises:
        ValueError: they are not of the same blocks.
    """
    likely, least = weigh(probabilities, words, repeat, is_comment)
    return is_comment if least is None else likely >= least


def weigh(
    probabilities: Probabilities,
    words: npt.NDArray[np.uint32],
    repeat: npt.NDArray[np.int32],
    is_comment: Bools,
) -> Weighed:
    """What decides which blocks are content, given which are user comments, all of shape [T].

    Raises:
        ValueError: they are not of the same blocks.
    """
    if not len(probabilities) == len(words) == len(repeat) == len(is_comment):
        raise ValueError(f"a mismatch: {len(probabilities)} probabilities of {len(words)} blocks")
    likely = probabilities.astype(np.float64)
    likely[is_comment] = 0.0
    leave_repeats_out(likely, repeat, _BETTER_COPY)
    expected = expected_words(likely, words)
    if _has_none(likely, words, expected):
        return Weighed(likely, None)
    return Weighed(likely, best_expected_f1(likely, words, expected) / 2)


def _has_none(probabilities: npt.NDArray[np.float64], words: npt.NDArray[np.uint32], expected: float) -> bool:
    """Whether a page has no content, being all menu and footer."""
    least = LEAST_PROBABILITY if len(words) > FEW_BLOCKS else LEAST_OF_FEW
    return expected < LEAST_WORDS and most_probable(probabilities, words) < least


def likely_comments(
    probabilities: Probabilities,
    comments: Probabilities | None,
    words: npt.NDArray[np.uint32],
    alike: npt.NDArray[np.int32] | None = None,
) -> Bools:
    """Which blocks are user comments, shape [T]: likely to be some, and not likely to be content.

    `alike` has for each block the index of the first whose innermost elements have the same tags and classes:
    among such blocks that are likely comments on the average, by their words, one may be less likely.

    Raises:
        ValueError: they are not of the same blocks.
    """
    return look_like_comments(comments, words, alike) & (probabilities < LIKELY)


def look_like_comments(
    comments: Probabilities | None,
    words: npt.NDArray[np.uint32],
    alike: npt.NDArray[np.int32] | None = None,
) -> Bools:
    """Which blocks are user comments, shape [T], unless they are likely to be content.

    Raises:
        ValueError: they are not of the same blocks.
    """
    if comments is None:
        return np.zeros(len(words), np.bool_)
    kinds = np.arange(len(words), dtype=np.int32) if alike is None else alike
    return like_comments(comments.astype(np.float64, copy=False), words, kinds, LIKELY, AMONG_LIKELY)
