import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import Structure

class BlockContexts:
    total: float
    linked: float
    paragraphs: int
    groups: int
    first_heading: int
    hidden: int
    longest: float
    repeated: float
    def __init__(
        self, words: npt.NDArray[np.uint32], density: npt.NDArray[np.float64], structure: Structure
    ) -> None: ...
    def longest_of(
        self, tag: int, tokens: npt.NDArray[np.uint32], token_counts: npt.NDArray[np.uint8]
    ) -> float: ...
    def describe(
        self,
        hidden: npt.NDArray[np.uint8],
        repeating: npt.NDArray[np.uint32],
        repeated: npt.NDArray[np.uint32],
        repeats: npt.NDArray[np.int32],
        columns: npt.NDArray[np.uint8],
    ) -> npt.NDArray[np.int32]: ...
    def first_alike(self) -> npt.NDArray[np.int32]: ...
