from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTHS: tuple[int, ...]

class Network:
    def __init__(
        self,
        arrays: Mapping[str, npt.NDArray[Any]],
        width: int,
        network_share: float,
        trees_share: float,
        offset: float,
    ) -> None: ...
    def answer(
        self,
        words: npt.NDArray[np.uint32],
        word_lengths: npt.NDArray[np.uint8],
        heading: npt.NDArray[np.int32],
        element: npt.NDArray[np.int32],
        alike: npt.NDArray[np.int32],
        features: npt.NDArray[np.uint8],
        parent: npt.NDArray[np.int32],
        tokens: npt.NDArray[np.uint32],
        token_lengths: npt.NDArray[np.uint8],
        page: npt.NDArray[np.uint8],
        links: npt.NDArray[np.uint8],
        address: npt.NDArray[np.uint8],
    ) -> list[npt.NDArray[np.float32]]: ...
