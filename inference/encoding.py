"""Segmented pages as tensors: BoilerNet's inputs (WWW 2020, section 3.1) as hashed tokens."""

import hashlib
from array import array

import numpy as np
import numpy.typing as npt

from inference.tokens import Remembered, tag_id, word_id, words
from schemas.pages import EncodedPage, SegmentedPage

MAX_BLOCK_TOKENS = 4096
"""A block's tokens beyond this many are dropped; `words` counts them all the same."""

_UINT32 = "I"
_DIGITS = b"0123456789"


def _path_ids(path: str) -> "array[int]":
    return array(_UINT32, map(tag_id, path.split("/")))


_word_ids = Remembered(word_id, 1 << 17)
_ids_of_paths = Remembered(_path_ids, 1 << 14)


def encode(page: SegmentedPage) -> EncodedPage:
    """The tokens (all ancestor tags, then the words), word counts and fingerprints of a page's blocks."""
    ids = array(_UINT32)
    ends: list[int] = []
    counts: list[int] = []
    for text, path in zip(page.texts, page.paths, strict=True):
        found = words(text)
        tags = _ids_of_paths[path]
        ids += tags
        ids.extend(map(_word_ids.__getitem__, found[: MAX_BLOCK_TOKENS - len(tags)]))
        ends.append(len(ids))
        counts.append(len(found))
    return EncodedPage(
        ids=np.array(ids, np.uint32),
        block_lengths=np.diff(np.array(ends, np.int64), prepend=0).astype(np.uint16),
        words=np.array(counts, np.uint32),
        linked_words=_linked_words(page, counts),
        fingerprints=_fingerprints(page.texts),
    )


def _linked_words(page: SegmentedPage, counts: list[int]) -> npt.NDArray[np.uint32]:
    """Each block's words times the share of its characters that are linked, rounded."""
    characters = np.array([len(text) for text in page.texts], np.float64)
    linked: npt.NDArray[np.float64] = np.rint(
        np.array(counts) * np.array(page.linked) / np.maximum(characters, 1)
    )
    return linked.astype(np.uint32)


def _fingerprints(texts: tuple[str, ...]) -> npt.NDArray[np.uint64]:
    """The 64-bit hash of each text in lower case, without digits and line breaks: a date tells none apart."""
    digests = [hashlib.blake2b(_normalised(text), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _normalised(text: str) -> bytes:
    if "\n" in text:
        text = " ".join(text.split())
    return text.lower().encode("utf-8", "surrogatepass").translate(None, _DIGITS)
