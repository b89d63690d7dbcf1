"""Labeled pages as the default model learns from them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import StructureTensors

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An encoded page of T blocks and what is known of it."""

    site: str
    collection: str
    page_type: str
    """Empty where it is not known."""
    structure: StructureTensors
    words: npt.NDArray[np.uint32]
    """Shape [T]: words per block."""
    content: Bools
    """Shape [T]: which blocks are content."""
    comment: Bools
    """Shape [T]: which blocks are user comments, and not content."""
    certainty: Floats
    """Shape [T]: how far the labels of each block are believed, up to 1."""
    importance: float = 1.0
    """What the page counts beside others."""
    in_second_pass: bool = True
    """Whether the second pass learns from the page, too."""

    def __len__(self) -> int:
        return len(self.content)

    @property
    def weights(self) -> Floats:
        """Shape [T]: what each block counts, the root of its words as far as its labels are believed.

        It sums to the importance of the page.
        """
        roots = np.sqrt(self.words + 1) * self.certainty
        weights: Floats = (roots * (self.importance / roots.sum())).astype(np.float32)
        return weights


def with_repeats(content: Bools, repeat: npt.NDArray[np.int32]) -> Bools:
    """The labels, a block and the one that it repeats sharing theirs: the gold text has only one of them."""
    shared = content.copy()
    for block in np.flatnonzero(repeat >= 0):
        earlier = repeat[block]
        shared[block] = shared[earlier] = shared[block] or shared[earlier]
    return shared
