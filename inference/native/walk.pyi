from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.inference.native.head import Head
from dehusk.inference.native.properties import Marked
from dehusk.inference.native.recording import Recording
from dehusk.inference.native.tree import BlockTexts

class Walk:
    texts: list[str]
    paths: list[str]
    linked: list[int]
    links: list[str | None]
    boundaries: list[int]
    hidden: list[bool]
    noscripts: list[str]
    head: Head
    has_shadow_roots: bool
    structure: dict[str, Any]
    markup: dict[str, Any] | None
    xpaths: list[str | None] | None
    hiding: dict[int, bool]
    items: npt.NDArray[np.int32]
    struck: npt.NDArray[np.int32] | None
    lists_and_tables: npt.NDArray[np.int32]
    def __init__(
        self,
        document: object,
        address: int,
        max_blocks: int,
        *,
        fallback: bool,
        recording: Recording,
        block_texts: BlockTexts | None = None,
        marked: Marked | None = None,
        xpaths: bool = False,
    ) -> None: ...
