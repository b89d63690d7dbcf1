"""Tallies and counts as `observe.lua` reads and writes them: keys of five bytes, big-endian integers."""

import hashlib

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import SiteObservation
from dehusk.streams.sites.tally import Counts, Keys, Tally, highest_bits, tally

KEY_BYTES = 5
_KEY_BITS = 37
"""Of the keys of texts and structures: five of the group, 32 within it."""
MOST_TEXTS = 5_000
"""Different texts of one page that are counted; the others are answered as if no other page had them.

Those with the lowest keys are counted, so that pages agree which.
"""
MOST_STRUCTURES = 500
"""Different structures of one page that are counted, likewise."""
_LONG = np.dtype([("high", ">u2"), ("low", ">u4")])
"""An integer of six bytes."""
_STRUCTURE = np.dtype([("key", "u1", KEY_BYTES), ("blocks", ">u4"), ("likelihood", _LONG)])
_HEAD = np.dtype([("is_counted", "?"), ("pages", ">u4")])
_KNOWN = np.dtype([("pages", ">u2"), ("blocks", ">u4"), ("likelihood", _LONG)])


def tally_to_pack(page: SiteObservation) -> Tally:
    """The tally of a page, by the keys that are packed."""
    return tally(page, _KEY_BITS)


def page_key(name: str) -> bytes:
    """The key of a page."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def text_key(fingerprint: int) -> bytes:
    """The key of a text."""
    return _packed(highest_bits(np.array([fingerprint], np.uint64), _KEY_BITS)).tobytes()


def pack_texts(page: Tally) -> bytes:
    """The keys of the texts that are counted."""
    return _packed(page.texts[:MOST_TEXTS]).tobytes()


def pack_structures(page: Tally) -> bytes:
    """The structures that are counted: key, blocks and likelihood of each."""
    records = np.zeros(len(page.structures[:MOST_STRUCTURES]), _STRUCTURE)
    records["key"] = _packed(page.structures[:MOST_STRUCTURES])
    records["blocks"] = page.blocks[:MOST_STRUCTURES]
    likelihood = page.likelihood[:MOST_STRUCTURES]
    records["likelihood"]["high"], records["likelihood"]["low"] = likelihood >> 32, likelihood & 0xFFFFFFFF
    return records.tobytes()


def unpack_counts(answer: bytes, page: Tally) -> Counts:
    """What was counted of a page's texts and structures."""
    head = np.frombuffer(answer, _HEAD, 1)[0]
    texts, structures = np.zeros(len(page.texts), np.int64), np.zeros((3, len(page.structures)), np.int64)
    counted = min(len(texts), MOST_TEXTS)
    texts[:counted] = np.frombuffer(answer, ">u2", counted, _HEAD.itemsize)
    known = np.frombuffer(answer[_HEAD.itemsize + 2 * counted :], _KNOWN)
    likelihood = known["likelihood"]["high"].astype(np.int64) << 32 | known["likelihood"]["low"]
    structures[:, : len(known)] = known["pages"], known["blocks"], likelihood
    return Counts(int(head["pages"]), bool(head["is_counted"]), texts, structures)


def _packed(keys: Keys) -> npt.NDArray[np.uint8]:
    """Shape [..., KEY_BYTES]."""
    return keys.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - KEY_BYTES :]
