"""Which blocks of a labeled page its document has, and what the statistics of its site changed of that."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.native.choosing import rounded
from dehusk.inference.selection import LIKELY, Bools, Probabilities, choose_content, look_like_comments
from dehusk.schemas.documents import Comments
from dehusk.schemas.pages import EncodedPage, Prediction

_DIGITS = 4
"""Decimals of a published probability: fewer than a labeler's, so that the same page gives the same bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What becomes of the T blocks of a page; all of shape [T]."""

    probabilities: npt.NDArray[np.float64]
    """That each is content, as published."""
    content: Bools
    """Whether it is part of the text."""
    comment: Bools
    """Whether it is a user comment, and no content."""
    dropped: Bools
    """Whether it would be part of the text, were nothing known of the site."""
    saved: Bools
    """Whether it would not."""


def choose(
    page: EncodedPage,
    labels: Prediction,
    *,
    drop_hidden: bool = False,
    comments: Comments = Comments.SEPARATE,
) -> Choice:
    """What becomes of the blocks of a page; with `drop_hidden`, none that is not shown at first is kept."""
    like_comments = look_like_comments(labels.comments, page.words, page.alike)
    probabilities = rounded(labels.probabilities, _DIGITS)
    content, comment = _choose(page, probabilities, like_comments, drop_hidden, comments)
    alone = content
    if labels.uncorrected is not None:
        before = rounded(labels.uncorrected, _DIGITS)
        alone, _ = _choose(page, before, like_comments, drop_hidden, comments)
    return Choice(probabilities, content, comment, dropped=alone & ~content, saved=content & ~alone)


def candidates(
    page: EncodedPage, probabilities: npt.NDArray[np.float64], like_comments: Bools, *, drop_hidden: bool
) -> tuple[Probabilities, Bools]:
    """How likely each block is chosen as content, and which are user comments, both of shape [T]."""
    likely = probabilities * ~page.hidden if drop_hidden else probabilities
    return likely, like_comments & (probabilities < LIKELY)


def _choose(
    page: EncodedPage,
    probabilities: npt.NDArray[np.float64],
    like_comments: Bools,
    drop_hidden: bool,  # noqa: FBT001
    comments: Comments,
) -> tuple[Bools, Bools]:
    """Which blocks are part of the text, and which are comments."""
    likely, is_comment = candidates(page, probabilities, like_comments, drop_hidden=drop_hidden)
    content = choose_content(likely, page.words, page.repeat, is_comment)
    is_comment = is_comment & ~content
    if drop_hidden:
        content &= ~page.hidden
        is_comment &= ~page.hidden
    if comments is Comments.INCLUDE:
        content |= is_comment
    return content, is_comment
