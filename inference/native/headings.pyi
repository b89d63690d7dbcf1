import numpy as np
import numpy.typing as npt

def headings_of(
    levels: npt.NDArray[np.uint8],
    parents: npt.NDArray[np.int32],
    elements: npt.NDArray[np.int32],
    max_level: int,
    most: int,
) -> list[tuple[int, int, int]]: ...
