import numpy as np
import numpy.typing as npt

def link_lists(
    texts: tuple[str, ...], paths: tuple[str, ...], linked: tuple[int, ...], hidden: tuple[bool, ...]
) -> npt.NDArray[np.int32] | None: ...
