"""Tallies and counts as `observe.lua` reads and writes them: keys of five bytes, big-endian integers."""

import hashlib
import struct

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import SiteObservation
from dehusk.streams.sites.tally import Counts, Keys, Numbers, Tally, highest_bits, tally

KEY_BYTES = 5
_KEY_BITS = 37
"""Of the keys of texts and structures: five of the group, 32 within it."""
MOST_TEXTS = 5_000
"""Different texts of one page that are counted; the others are answered as if no other page had them.

Those with the lowest keys are counted, so that pages agree which.
"""
MOST_STRUCTURES = 500
"""Different structures of one page that are counted, likewise."""
_BLOCKS_BYTES, _LIKELIHOOD_BYTES = 4, 6
_HEAD = struct.Struct(">?I")
"""Of an answer: whether the page is counted, and the pages."""
_KNOWN = np.array([(1, 0, 0), (0, 1 << 16, 0), (0, 1, 0), (0, 0, 1 << 32), (0, 0, 1 << 16), (0, 0, 1)])
"""What each of the two-byte parts of an entry adds to the pages, blocks and likelihood of its structure."""


def tally_to_pack(page: SiteObservation) -> Tally:
    """The tally of a page, by the keys that are packed."""
    return tally(page, _KEY_BITS)


def page_key(name: str) -> bytes:
    """The key of a page."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def text_key(fingerprint: int) -> bytes:
    """The key of a text."""
    return _lowest_bytes(highest_bits(np.array([fingerprint], np.uint64), _KEY_BITS), KEY_BYTES).tobytes()


def pack_texts(page: Tally) -> bytes:
    """The keys of the texts that are counted."""
    return _lowest_bytes(page.texts[:MOST_TEXTS], KEY_BYTES).tobytes()


def pack_structures(page: Tally) -> bytes:
    """The structures that are counted: key, blocks and likelihood of each."""
    columns = (
        _lowest_bytes(page.structures[:MOST_STRUCTURES], KEY_BYTES),
        _lowest_bytes(page.blocks[:MOST_STRUCTURES], _BLOCKS_BYTES),
        _lowest_bytes(page.likelihood[:MOST_STRUCTURES], _LIKELIHOOD_BYTES),
    )
    return np.concatenate(columns, axis=1).tobytes()


def unpack_counts(answer: bytes, page: Tally) -> Counts:
    """What was counted of a page's texts and structures."""
    is_counted, pages = _HEAD.unpack_from(answer)
    numbers = np.frombuffer(answer, ">u2", offset=_HEAD.size).astype(np.int64)
    texts, structures = np.zeros(len(page.texts), np.int64), np.zeros((3, len(page.structures)), np.int64)
    counted = min(len(page.texts), MOST_TEXTS)
    texts[:counted] = numbers[:counted]
    known = numbers[counted:].reshape(-1, len(_KNOWN)) @ _KNOWN
    structures[:, : len(known)] = known.T
    return Counts(pages, is_counted, texts, structures)


def _lowest_bytes(numbers: Keys | Numbers, width: int) -> npt.NDArray[np.uint8]:
    """N numbers as so many bytes each, shape [N, width]."""
    return numbers.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - width :]
