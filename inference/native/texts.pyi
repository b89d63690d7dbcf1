import numpy as np
import numpy.typing as npt

def link_densities(
    texts: tuple[str, ...], linked: tuple[int, ...], words: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint32]]: ...
def describe_texts(
    texts: tuple[str, ...],
    words: npt.NDArray[np.uint32],
    density: npt.NDArray[np.float64],
    copies: npt.NDArray[np.int32],
    leaves: npt.NDArray[np.uint16],
    columns: npt.NDArray[np.uint8],
) -> tuple[int, int]: ...
