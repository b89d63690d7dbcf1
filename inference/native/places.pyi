import numpy as np
import numpy.typing as npt

from schemas.pages import Structure

class Places:
    total: float
    linked: float
    paragraphs: int
    groups: int
    first_heading: int
    def __init__(
        self, words: npt.NDArray[np.uint32], density: npt.NDArray[np.float64], structure: Structure
    ) -> None: ...
    def longest(self, tokens: npt.NDArray[np.uint32], tag: int) -> float: ...
    def describe(
        self,
        hidden: npt.NDArray[np.uint8],
        repeating: npt.NDArray[np.uint32],
        repeated: npt.NDArray[np.uint32],
        columns: npt.NDArray[np.uint8],
    ) -> npt.NDArray[np.int32]: ...
