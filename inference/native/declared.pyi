import numpy as np
import numpy.typing as npt

def describe_declared(
    words: npt.NDArray[np.uint32],
    counts: npt.NDArray[np.uint32],
    declared_words: npt.NDArray[np.uint32],
    declared_counts: npt.NDArray[np.uint32],
    columns: npt.NDArray[np.uint8],
) -> None: ...
