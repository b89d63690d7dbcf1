"""Selection of content by probabilities: the blocks that a cleaned text is made of."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dehusk.inference.native.choosing import (
    best_expected_f,
    expected_f1_of,
    expected_words,
    headings_within,
    leave_repeats_out,
    likely_comments,
    most_probable,
    rounded,
    symbols_within,
)
from dehusk.schemas.documents import Comments
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions, Favor
from dehusk.schemas.pages import EncodedPage, Prediction

Bools = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.float32] | npt.NDArray[np.float64]

MIN_WORDS = 15.0
"""Expected words of content below which a page has none, unless a block of words is likely enough."""
MIN_PROBABILITY = 0.25
"""Probability that a block of words must reach for it."""
FEW_BLOCKS = 10
"""Number of blocks up to which an unlikely block may be the whole content, as there is no room for a menu."""
MIN_PROBABILITY_OF_FEW = 0.05
"""Probability that a block of such a page, or one above comments, must reach."""
MIN_PROBABILITY_OF_THREAD = 0.05
"""Mean probability of content, by their words, from which what looks like comments may be a thread."""
LIKELY = 0.5
MIN_PROBABILITY_AMONG_COMMENTS = 0.25
"""Probability that suffices for a comment among blocks of its kind that are likely comments."""
_BETTER_COPY = 0.5
"""Probability from which the first copy of a repeated run is kept, however likely a later one is.

No block needs more to be content: half of the greatest F1.
"""
MIN_PROBABILITY_OF_HEADING = 0.1
"""Probability from which a heading between blocks of content goes with them."""
MIN_PROBABILITY_OF_SYMBOLS = 0.1
"""Probability from which a block without words between blocks of content goes with them."""
MIN_PROBABILITY_OF_LIST = 0.1
"""Mean probability of the words of a list of links from which it does."""
_MIN_LEFT = 0.1
"""Share of the words of a page's content that a correction leaves, unless it finds likely content."""

_DIGITS = 4
"""Decimals of a published probability: fewer than a labeler's, so that the same page gives the same bytes."""


_SLOPE, _INTERCEPT = 0.7, 0.53
"""Calibration of an expected F1: docs/reference/messages.md says what by."""
_LEAST_F1 = 0.001
"""Bound of an expected F1, at both ends, where its logarithm is taken."""


class ContentWeights(NamedTuple):
    """Weights that decide on the T blocks of a page."""

    weights: npt.NDArray[np.float64]
    """Shape [T]: probability that each is content; 0 for comments, and for copies that are left out."""
    threshold: float | None
    """Probability that content must reach; None if the page has none."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Choice among the T blocks of a page; all of shape [T]."""

    probabilities: npt.NDArray[np.float64]
    """Probability of content, as published."""
    content: Bools
    """True if part of the text."""
    comment: Bools
    """True for a user comment that is no content."""
    dropped: Bools
    """True if part of the text only without the statistics of the site."""
    saved: Bools
    """True if part of the text only by the statistics of the site."""
    expected_f1: float | None = None
    """F1 of the words of the content that the probabilities let expect; None without content."""


def select(
    probabilities: Probabilities,
    words: npt.NDArray[np.uint32],
    repeat: npt.NDArray[np.int32],
    comments: Probabilities | None = None,
    alike: npt.NDArray[np.int32] | None = None,
) -> Bools:
    """Return True for the blocks that are content, shape [T].

    They are the most probable ones, as many as maximise the expected F1 of their words. It counts words
    expected to be missed as well as wrong ones, so an unsure page keeps more than at a threshold of one half.
    A block raises it when its probability is above half of it, and so blocks without words are decided on,
    too. Of a repeated run only the better copy is kept. User comments are no content, unless there is nothing
    else: such a page is a thread. Where they are hardly likely to be content, little suffices above them.

    `words` are the words of each block, `repeat` the index of the earlier block that a block repeats, or -1,
    `alike` is as in `user_comments`.

    Raises:
        ValueError: the arguments are not of the same blocks.
    """
    lengths = words.astype(np.uint32, copy=False)
    is_comment = user_comments(probabilities, comments, lengths, alike)
    weights, threshold = weigh(probabilities, lengths, repeat, is_comment)
    return is_comment if threshold is None else weights >= threshold


def weigh(
    probabilities: Probabilities,
    words: npt.NDArray[np.uint32],
    repeat: npt.NDArray[np.int32],
    is_comment: Bools,
    favor: Favor = Favor.BALANCE,
) -> ContentWeights:
    """Return the weights that decide on content, given the user comments; all of shape [T].

    The threshold is that of the greatest expected F-beta of the words, an F1 by default.

    Raises:
        ValueError: the arguments are not of the same blocks.
    """
    if not len(probabilities) == len(words) == len(repeat) == len(is_comment):
        raise ValueError(f"a mismatch: {len(probabilities)} probabilities of {len(words)} blocks")
    weights = probabilities.astype(np.float64)
    weights[is_comment] = 0.0
    leave_repeats_out(weights, repeat, _BETTER_COPY)
    expected = expected_words(weights, words)
    if expected < MIN_WORDS:
        stands_alone = len(words) > FEW_BLOCKS and not _are_below_content(probabilities, words, is_comment)
        if most_probable(weights, words) < (MIN_PROBABILITY if stands_alone else MIN_PROBABILITY_OF_FEW):
            return ContentWeights(weights, None)
    beta = favor.beta
    return ContentWeights(weights, best_expected_f(weights, words, expected, beta) / (1 + beta * beta))


def _are_below_content(
    probabilities: Probabilities, words: npt.NDArray[np.uint32], is_comment: Bools
) -> bool:
    """Return True for comments that are no thread: hardly likely to be content, they are about something."""
    of_comments = words[is_comment]
    likely = float((probabilities[is_comment] * of_comments).sum())
    return likely < MIN_PROBABILITY_OF_THREAD * int(of_comments.sum())


def user_comments(
    probabilities: Probabilities,
    comments: Probabilities | None,
    words: npt.NDArray[np.uint32],
    alike: npt.NDArray[np.int32] | None = None,
) -> Bools:
    """Return True for user comments, shape [T]: likely to be some, and not likely to be content.

    `alike` has for each block the index of the first whose innermost elements have the same tags and classes:
    among such blocks that are likely comments on the average, by their words, one may be less likely.

    Raises:
        ValueError: the arguments are not of the same blocks.
    """
    if comments is None:
        return np.zeros(len(words), np.bool_)
    kinds = np.arange(len(words), dtype=np.int32) if alike is None else alike
    likely = likely_comments(
        comments.astype(np.float64, copy=False), words, kinds, LIKELY, MIN_PROBABILITY_AMONG_COMMENTS
    )
    return likely & (probabilities < LIKELY)


class Content(NamedTuple):
    """Content of a page of T blocks."""

    probabilities: Probabilities
    """Shape [T]."""
    chosen: Bools
    """Shape [T]: True for content."""


def takes_content(before: Content, after: Content, words: npt.NDArray[np.uint32]) -> bool:
    """Return True if a correction takes all or nearly all content of a page, and finds none that is likely.

    A site tells which blocks of a page are content, but not that there are none. `words` are the words of
    each block, shape [T].
    """
    left, all_words = (int(words[each].sum()) for each in (before.chosen & after.chosen, before.chosen))
    if left >= _MIN_LEFT * all_words:
        return False
    return _likeliest(after, words) < min(LIKELY, _likeliest(before, words))


def _likeliest(content: Content, words: npt.NDArray[np.uint32]) -> float:
    return float(content.probabilities[content.chosen & (words > 0)].max(initial=0.0))


def choose(
    page: EncodedPage,
    labels: Prediction,
    options: DocumentOptions = DEFAULT_OPTIONS,
) -> Choice:
    """Choose the blocks of a document; with `drop_hidden`, none that is hidden at first is kept.

    A correction that takes a page's content is not followed: see `takes_content`.
    """
    corrected = _chosen(page, labels.probabilities, labels.comments, options)
    if labels.uncorrected is None:
        return corrected
    alone = _chosen(page, labels.uncorrected, labels.comments, options)
    before, after = (Content(each.probabilities, each.content & ~each.comment) for each in (alone, corrected))
    if takes_content(before, after, page.words):
        return alone
    dropped, saved = alone.content & ~corrected.content, corrected.content & ~alone.content
    return replace(corrected, dropped=dropped, saved=saved)


def candidates(
    page: EncodedPage,
    probabilities: npt.NDArray[np.float64],
    comments: npt.NDArray[np.float32] | None,
    *,
    drop_hidden: bool,
) -> tuple[npt.NDArray[np.float64], Bools]:
    """Return the probability of each block to be chosen, and True for user comments, both of shape [T]."""
    likely = probabilities * ~page.hidden if drop_hidden else probabilities
    return likely, user_comments(probabilities, comments, page.words, page.alike)


def _chosen(
    page: EncodedPage,
    labels: npt.NDArray[np.float32],
    comments: npt.NDArray[np.float32] | None,
    options: DocumentOptions,
) -> Choice:
    """Choose the blocks of a document by these probabilities alone."""
    probabilities = rounded(labels, _DIGITS)
    likely, is_comment = candidates(page, probabilities, comments, drop_hidden=options.drop_hidden)
    weights, threshold = weigh(likely, page.words, page.repeat, is_comment, options.favor)
    content = is_comment if threshold is None else weights >= threshold
    expected_f1 = expected_f1_of(likely if threshold is None else weights, page.words, content.view(np.uint8))
    is_comment = is_comment & ~content
    if page.headings is not None:
        content |= headings_within(
            page.headings.view(np.uint8),
            content.view(np.uint8),
            likely,
            page.hidden.view(np.uint8),
            page.repeat,
            MIN_PROBABILITY_OF_HEADING,
        )
    if page.link_lists is not None:
        content |= _lists_within(page.link_lists, content, likely, page) & ~is_comment
    symbols = symbols_within(
        page.words, content.view(np.uint8), likely, page.repeat, MIN_PROBABILITY_OF_SYMBOLS
    )
    content |= symbols & ~is_comment
    if options.drop_hidden:
        content &= ~page.hidden
        is_comment &= ~page.hidden
    if options.comments is Comments.INCLUDE:
        content |= is_comment
    none = np.zeros_like(content)
    return Choice(probabilities, content, is_comment, dropped=none, saved=none, expected_f1=expected_f1)


def _lists_within(
    lists: npt.NDArray[np.int32], content: Bools, probabilities: Probabilities, page: EncodedPage
) -> Bools:
    """Return True for the blocks of lists of links that go with the content around them, shape [T]."""
    found = np.zeros_like(content)
    for first, end in lists.T.tolist():
        if end == len(content) or not (content[first - 1] and content[end]):
            continue
        words = page.words[first:end]
        if (probabilities[first:end] * words).sum() >= MIN_PROBABILITY_OF_LIST * max(1, words.sum()):
            found[first:end] = page.repeat[first:end] < 0
    return found


def calibrate(expected_f1: float) -> float:
    """Return the mean F1 of pages of which the default model lets expect this one, by a logistic function."""
    bounded = min(max(expected_f1, _LEAST_F1), 1 - _LEAST_F1)
    log_odds = math.log(bounded / (1 - bounded))
    return 1 / (1 + math.exp(-(_SLOPE * log_odds + _INTERCEPT)))
