import numpy as np
import numpy.typing as npt

def visible_lengths(texts: tuple[str, ...]) -> npt.NDArray[np.int32]: ...
def are_blank(texts: tuple[str, ...]) -> npt.NDArray[np.bool_]: ...
def describe_blocks(
    texts: tuple[str, ...],
    numbers: npt.NDArray[np.int32],
    linked: npt.NDArray[np.uint8],
    blocks: int,
    width: int,
) -> npt.NDArray[np.float64]: ...
