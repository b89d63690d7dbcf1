"""Segmented pages as tensors: BoilerNet's inputs (WWW 2020, section 3.1) as hashed tokens."""

import numpy as np
import numpy.typing as npt

from inference.native.hashing import MAX_BLOCK_TOKENS, fingerprints, hash_tokens
from schemas.pages import EncodedPage, SegmentedPage

__all__ = ["MAX_BLOCK_TOKENS", "encode"]


def encode(page: SegmentedPage) -> EncodedPage:
    """The tokens (all ancestor tags, then the words), word counts and fingerprints of a page's blocks."""
    ids, block_lengths, words = hash_tokens(page.texts, page.paths)
    return EncodedPage(
        ids=ids,
        block_lengths=block_lengths,
        words=words,
        linked_words=_linked_words(page, words),
        fingerprints=fingerprints(page.texts),
        hidden=np.array(page.hidden, np.bool_),
    )


def _linked_words(page: SegmentedPage, words: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Each block's words times the share of its characters that are linked, rounded."""
    characters = np.array([len(text) for text in page.texts], np.float64)
    linked: npt.NDArray[np.float64] = np.rint(words * np.array(page.linked) / np.maximum(characters, 1))
    return linked.astype(np.uint32)
