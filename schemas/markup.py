"""The markup around the text blocks of a page, for Markdown and HTML, and whole documents as columns."""

from __future__ import annotations  # its arrays are annotations alone: who needs none does not load numpy

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from dehusk.schemas.pickled import PickledByFields, PickledWithArrays

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Container(IntEnum):
    """Meaning of an element around blocks."""

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
    """Caption of a table."""
    FIGURE = 12
    FIGURE_CAPTION = 13
    TERMS = 14
    """List of terms and their descriptions."""
    TERM = 15
    DESCRIPTION = 16
    TASK = 17
    """Content of an item that is a task."""
    NOTE = 18
    """Footnote."""


class Mark(IntEnum):
    """Meaning of a part of a block's text."""

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
    STRUCK = 9
    """Deleted, or no longer right."""
    REFERENCE = 10
    """Link to a footnote."""
    RETURN = 11
    """Link from a footnote back to its reference."""


class Embedded(IntEnum):
    """Kind of what stands between words or blocks and is no text."""

    IMAGE = 1
    FORMULA = 2
    """TeX of a script or an image."""
    DISPLAYED_FORMULA = 3
    """The same, on lines of its own."""
    VIDEO = 4
    AUDIO = 5
    RULE = 6
    """Line between sections: `<hr>`."""


@dataclass(frozen=True, slots=True, eq=False)
class Markup(PickledWithArrays):
    """The C containers of a page's T blocks, the S marks in their texts, and M embedded things, in order."""

    base: str
    """Base that the page declares for its relative addresses, e.g. `/a/`; empty without one."""
    containers: npt.NDArray[np.int32]
    """Shape [3, C]: 1 + the index of the container around each, which comes before it, 0 for none; its
    `Container`; and the level of a heading, the number of an item, the column of a cell from 1 on, 1 for a
    task that is done, or 1 + the index in `strings` of a footnote's id, or of the language of code, 0 for
    none."""
    blocks: npt.NDArray[np.int32]
    """Shape [T]: 1 + the index of the innermost container of each block, 0 for none."""
    holders: npt.NDArray[np.int32]
    """Shape [T]: the innermost element that holds each block and is not part of a line."""
    marks: npt.NDArray[np.int32]
    """Shape [5, S]: the block of each mark; the characters of its text where it begins and ends; its `Mark`;
    and the index in `strings` of a link's address, or of the TeX that a formula's text only shows, -1 for
    none. Those that begin together come outermost first."""
    embedded: npt.NDArray[np.int32]
    """Shape [11, M]: the `Embedded` that each is; the block that it stands in, or before; the character of
    its text that it stands before, or -1 between blocks; 1 for white space before it, 2 for some after it, 3
    for both, of which the text has but one; 1 + the index of its innermost container; the first block of the
    innermost element around it that holds blocks, and the one after its last; the blocks before and after the
    figure with text that it stands in, of the innermost element around that holds others, -1 for none; and
    the indices in `strings` of its address, -1 for none, and of its text: the alternative text of an image,
    the title of a player, TeX."""
    strings: tuple[str, ...]
    indents: dict[int, int]
    """Characters that code, or its first line beyond the others, is indented by, for some blocks."""
    typesets: bool
    """True if the page has a program that typesets the TeX in its text: MathJax or KaTeX."""
    typesets_dollars: bool
    """True if it takes single dollars for the marks of a formula, too."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentTree(PickledByFields):
    """The E elements of a document and its L texts, each in document order.

    Positions are characters of the document as a parser would write it: start tags with their attributes in
    double quotes, texts with no character escaped, end tags where an element has one; no comments.
    """

    tags: tuple[str, ...]
    """Shape [E]: the tag of each element, e.g. `div`."""
    parents: npt.NDArray[np.int32]
    """Shape [E]: the element that holds each, which comes before it; -1 for the root."""
    classes: tuple[str, ...]
    """Shape [E]: the class attribute, empty where there is none."""
    ids: tuple[str, ...]
    """Shape [E]: the id attribute, empty where there is none."""
    begins: npt.NDArray[np.int32]
    """Shape [E]: where the start tag of each element begins."""
    ends: npt.NDArray[np.int32]
    """Shape [E]: where each element has ended."""
    texts: tuple[str, ...]
    """Shape [L]: the texts, also of white space, and of scripts and styles."""
    holders: npt.NDArray[np.int32]
    """Shape [L]: the element that holds each text."""
    text_begins: npt.NDArray[np.int32]
    """Shape [L]: where each text begins."""
    blocks: npt.NDArray[np.int32]
    """Shape [L]: the block that each text is part of; -1 for white space, and for what is not read."""
