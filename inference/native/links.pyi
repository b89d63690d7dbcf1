import numpy as np
import numpy.typing as npt

def describe_links(
    links: tuple[str | None, ...],
    url: str,
    base: str,
    title: str,
    words: npt.NDArray[np.uint32],
    counts: npt.NDArray[np.uint32],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]: ...
