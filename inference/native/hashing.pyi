import numpy as np
import numpy.typing as npt

MAX_BLOCK_TOKENS: int

def hash_words(texts: tuple[str, ...]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
def hash_blocks(
    paths: tuple[str, ...], texts: tuple[str, ...]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint16]]: ...
def ends_of_blocks(
    words: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]: ...
def fingerprints(texts: tuple[str, ...]) -> npt.NDArray[np.uint64]: ...
def structures(
    parents: npt.NDArray[np.int32],
    tokens: npt.NDArray[np.uint32],
    token_counts: npt.NDArray[np.uint8],
    elements: npt.NDArray[np.int32],
) -> npt.NDArray[np.uint64]: ...
