"""The markup of a page that its text blocks stand in: what Markdown and HTML are written from."""

from __future__ import annotations  # its arrays are annotations alone: who needs none does not load numpy

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Container(IntEnum):
    """An element that blocks stand in, by what it means."""

    HEADING = 1
    LIST = 2
    NUMBERED_LIST = 3
    ITEM = 4
    QUOTE = 5
    CODE = 6
    """Preformatted text."""
    TABLE = 7
    ROW = 8
    CELL = 9
    HEADER_CELL = 10
    CAPTION = 11
    """Of a table."""
    FIGURE = 12
    FIGURE_CAPTION = 13
    TERMS = 14
    """A list of terms and what describes them."""
    TERM = 15
    DESCRIPTION = 16


class Mark(IntEnum):
    """What part of a block's text is."""

    LINK = 1
    STRONG = 2
    EMPHASIS = 3
    CODE = 4
    FORMULA = 5
    """TeX."""
    DISPLAYED_FORMULA = 6
    """TeX on lines of its own."""
    RAISED = 7
    LOWERED = 8


@dataclass(frozen=True, slots=True, eq=False)
class Markup:
    """The C containers of a page's T blocks, the S marks in their texts, and its M images, in DOM order."""

    base: str
    """The address that the page gives for its relative ones, e.g. `/a/`; empty where it gives none."""
    containers: npt.NDArray[np.int32]
    """Shape [3, C]: 1 + the index of the container around each, which comes before it, 0 for none; its
    `Container`; and the level of a heading, the number of an item, the column of a cell from 1 on, or 1 + the
    index in `strings` of the language of code, 0 for none."""
    blocks: npt.NDArray[np.int32]
    """Shape [T]: 1 + the index of the innermost container of each block, 0 for none."""
    holders: npt.NDArray[np.int32]
    """Shape [T]: the innermost element that holds each block and is not part of a line."""
    marks: npt.NDArray[np.int32]
    """Shape [5, S]: the block of each mark; the characters of its text where it begins and ends; its `Mark`;
    and the index in `strings` of a link's address. Those that begin together come outermost first."""
    images: npt.NDArray[np.int32]
    """Shape [9, M]: the block that each image stands in, or before; the character of its text that it stands
    before, or -1 for an image between blocks; 1 + the index of its innermost container; the first block of
    the innermost element around it that holds blocks, and the one behind its last; the blocks before and
    behind the figure with text that it stands in, of the innermost element around that holds others, -1 for
    none; and the indices in `strings` of its address and its alternative text."""
    strings: tuple[str, ...]
