import numpy as np
import numpy.typing as npt

def find_repeats(
    words: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
def redundant(
    repeats: npt.NDArray[np.int32],
    repeating: npt.NDArray[np.uint32],
    alike: npt.NDArray[np.int32] | None,
    features: npt.NDArray[np.uint8] | None,
    in_cell: int,
    counts: npt.NDArray[np.uint32],
    code: npt.NDArray[np.uint8] | None,
) -> npt.NDArray[np.int32]: ...
