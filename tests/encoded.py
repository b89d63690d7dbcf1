"""Pages as labelers take them, of nothing but tokens."""

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import EncodedPage


def page_of(ids: npt.NDArray[np.uint32], lengths: npt.ArrayLike) -> EncodedPage:
    """A page of these tokens, given the number of each block."""
    block_lengths = np.asarray(lengths, np.uint16)
    counts = np.zeros(len(block_lengths), np.uint32)
    return EncodedPage(
        ids,
        block_lengths,
        counts,
        counts,
        counts.astype(np.uint64),
        counts > 0,
        np.full(len(counts), -1, np.int32),
        structures=counts.astype(np.uint64),
    )


def random_page(known: npt.NDArray[np.uint32], blocks: int, seed: int = 0, longest: int = 29) -> EncodedPage:
    """A page of known tokens, up to so many in a block."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, blocks)
    return page_of(random.choice(known, lengths.sum()), lengths)
