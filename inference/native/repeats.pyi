import numpy as np
import numpy.typing as npt

def find_repeats(
    words: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
