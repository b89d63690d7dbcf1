"""Content blocks as plain text: lines and paragraphs, items of lists, rows of tables."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.native.writing import written
from dehusk.schemas.pages import SegmentedPage


def plain_text(segmented: SegmentedPage, content: npt.NDArray[np.bool_]) -> str:
    """The blocks that `content`, of shape [T], has as they stand on the page.

    Blank lines part paragraphs, tabs the cells of a row, spaces the blocks in one of these cells. An item is
    marked by `- ` or its number, and what else stands in it is indented, lists in it included. A line goes on
    behind hidden text in it that is left out.
    """
    return written(
        segmented.texts,
        segmented.boundaries,
        segmented.hidden,
        segmented.lists_and_tables,
        segmented.items,
        content.view(np.uint8),
    )
