"""Pages as labelers take them: of nothing but tokens, or whole."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import EncodedPage, TokenTensors


def page_of(ids: npt.NDArray[np.uint32], lengths: npt.ArrayLike) -> EncodedPage:
    """A page of these tokens, given the number of each block."""
    block_lengths = np.asarray(lengths, np.uint16)
    counts = np.zeros(len(block_lengths), np.uint32)
    tokens = TokenTensors(ids, block_lengths)
    return EncodedPage(counts, counts, counts > 0, np.full(len(counts), -1, np.int32), tokens=tokens)


def tokens_of(page: EncodedPage) -> TokenTensors:
    """The tokens that a page was encoded with."""
    assert page.tokens is not None
    return page.tokens


def with_tokens(page: EncodedPage, **columns: npt.NDArray[np.generic]) -> EncodedPage:
    """A page with other tokens or lengths."""
    return replace(page, tokens=replace(tokens_of(page), **columns))


def random_page(known: npt.NDArray[np.uint32], blocks: int, seed: int = 0, longest: int = 29) -> EncodedPage:
    """A page of known tokens, up to so many in a block."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, blocks)
    return page_of(random.choice(known, lengths.sum()), lengths)


def whole_page(blocks: int) -> EncodedPage:
    """A page of so many paragraphs, encoded with its elements."""
    return encode(segment("".join(f"<p>part {number}" for number in range(blocks)).encode()))
