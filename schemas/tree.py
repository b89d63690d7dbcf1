"""A parsed document as columns: for labelers that read more of it than its text blocks."""

from __future__ import annotations  # its arrays are annotations alone: who needs none does not load numpy

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dehusk.schemas.pickled import PickledByFields

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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
