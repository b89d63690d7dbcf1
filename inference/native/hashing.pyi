import numpy as np
import numpy.typing as npt

MAX_BLOCK_TOKENS: int

def hash_tokens(
    texts: tuple[str, ...], paths: tuple[str, ...]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint16], npt.NDArray[np.uint32]]: ...
def fingerprints(texts: tuple[str, ...]) -> npt.NDArray[np.uint64]: ...
