"""Labeled pages as the default model learns from them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schemas.pages import StructureTensors

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An encoded page of T blocks and what is known of it."""

    site: str
    page_type: str
    """Empty where it is not known."""
    structure: StructureTensors
    words: npt.NDArray[np.uint32]
    """Shape [T]: words per block."""
    content: npt.NDArray[np.bool_]
    """Shape [T]: which blocks are content."""

    def __len__(self) -> int:
        return len(self.content)

    @property
    def weights(self) -> Floats:
        """Shape [T]: what each block counts in the loss, the root of its words; sums to 1."""
        roots = np.sqrt(self.words + 1)
        weights: Floats = (roots / roots.sum()).astype(np.float32)
        return weights


def with_repeats(content: npt.NDArray[np.bool_], repeat: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """The labels, a block and the one that it repeats sharing theirs: the gold text has only one of them."""
    shared = content.copy()
    for block in np.flatnonzero(repeat >= 0):
        earlier = repeat[block]
        shared[block] = shared[earlier] = shared[block] or shared[earlier]
    return shared
