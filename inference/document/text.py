"""The chosen blocks of a page as plain text."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from dehusk.inference.native.writing import written
from dehusk.schemas.pages import SegmentedPage

_AFTER_WORDS = ("", *" .,;:!?)/")
"""Characters before which none or one space stands."""


def plain_text(segmented: SegmentedPage, content: npt.NDArray[np.bool_]) -> str:
    """Return the kept blocks as plain text, laid out as on the page; `content` has shape [T].

    Blank lines part paragraphs, tabs the cells of a row, spaces the blocks in one of these cells. An item is
    marked by `- ` or its number, and further blocks of it are indented, lists included. A line goes on after
    hidden text in it that is left out. What is struck is left out, too.
    """
    texts = segmented.texts
    if segmented.struck is not None:
        texts, content = _without_struck(texts, segmented.struck, content)
    return written(
        texts,
        segmented.boundaries,
        segmented.hidden,
        segmented.lists_and_tables,
        segmented.items,
        content.view(np.uint8),
    )


def _without_struck(
    texts: tuple[str, ...], struck: npt.NDArray[np.int32], content: npt.NDArray[np.bool_]
) -> tuple[tuple[str, ...], npt.NDArray[np.bool_]]:
    """Return texts without what is struck, and the content without blocks of which nothing is left."""
    left, kept = list(texts), content.copy()
    for block, parts in groupby(struck.T.tolist(), itemgetter(0)):
        left[block] = _without([(start, end) for _, start, end in parts], left[block]).strip()
        kept[block] = kept[block] and bool(left[block])
    return tuple(left), kept


def _without(parts: Sequence[tuple[int, int]], text: str) -> str:
    """Return a text without some parts, and without the space before one that stood before punctuation."""
    pieces: list[str] = []
    stop, is_parted = len(text), False
    for start, end in [*reversed(parts), (0, 0)]:
        piece = text[end:stop].rstrip(" ") if is_parted else text[end:stop]
        pieces += [piece] if piece else []
        after = pieces[-1][0] if pieces else ""
        is_parted = text[max(start - 1, 0) : start] in ("", " ") and after in _AFTER_WORDS
        stop = start
    return "".join(reversed(pieces))
