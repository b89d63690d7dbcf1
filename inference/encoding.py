"""Segmented pages as tensors: BoilerNet's inputs (WWW 2020, section 3.1) as hashed tokens."""

import hashlib
import re

import numpy as np
import numpy.typing as npt

from inference.tokens import CachedIds, tag_id, word_id, words
from schemas.pages import EncodedPage, SegmentedPage

MAX_BLOCK_TOKENS = 4096
"""A block's tokens beyond this many are dropped; `words` counts them all the same."""

_DIGITS = re.compile(r"\d+")
_word_ids = CachedIds(word_id)
_tag_ids = CachedIds(tag_id)


def encode(page: SegmentedPage) -> EncodedPage:
    """The tokens (all ancestor tags, then the words), word counts and fingerprints of a page's blocks."""
    ids: list[int] = []
    lengths: list[int] = []
    counts: list[int] = []
    for text, path in zip(page.texts, page.paths, strict=True):
        found = words(text)
        block = [*map(_tag_ids.__getitem__, path.split("/"))]
        block.extend(map(_word_ids.__getitem__, found[: MAX_BLOCK_TOKENS - len(block)]))
        ids.extend(block)
        lengths.append(len(block))
        counts.append(len(found))
    return EncodedPage(
        ids=np.array(ids, np.uint32),
        block_lengths=np.array(lengths, np.uint16),
        words=np.array(counts, np.uint32),
        linked_words=_linked_words(page, counts),
        fingerprints=np.array([fingerprint(text) for text in page.texts], np.uint64),
    )


def fingerprint(text: str) -> int:
    """The 64-bit hash of a text but for case, white space and numbers: a date does not tell blocks apart."""
    normalised = _DIGITS.sub("0", " ".join(text.lower().split()))
    digest = hashlib.blake2b(normalised.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _linked_words(page: SegmentedPage, counts: list[int]) -> npt.NDArray[np.uint32]:
    """Each block's words times the share of its characters that are linked, rounded."""
    characters = np.array([len(text) for text in page.texts], np.float64)
    share = np.array(page.linked, np.float64) / np.maximum(characters, 1)
    linked: npt.NDArray[np.float64] = np.rint(np.minimum(share, 1) * np.array(counts, np.float64))
    return linked.astype(np.uint32)
