import numpy as np
import numpy.typing as npt

def written(
    texts: tuple[str, ...],
    boundaries: tuple[int, ...],
    hidden: tuple[bool, ...],
    lists_and_tables: npt.NDArray[np.int32] | None,
    items: npt.NDArray[np.int32] | None,
    content: npt.NDArray[np.uint8],
) -> str: ...
