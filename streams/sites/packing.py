"""Tallies and counts as `observe.lua` reads and writes them: keys of five bytes, big-endian integers."""

import hashlib

import numpy as np
import numpy.typing as npt

from schemas.pages import SiteObservation
from streams.sites.tally import Counts, Keys, Numbers, Tally, tally

KEY_BYTES = 5
MOST_TEXTS = 5_000
"""Different texts of one page that are counted; the others are answered as if no other page had them."""
MOST_STRUCTURES = 500
"""Different structures of one page that are counted, likewise."""
_TEXT = np.dtype([("key", "u1", KEY_BYTES), ("structure", ">u2"), ("blocks", ">u4")])
_STRUCTURE = np.dtype([("key", "u1", KEY_BYTES), ("blocks", ">u4"), ("likely", ">u4")])
_ANSWER = np.dtype([("is_counted", "?"), ("pages", ">u4")])
_KEPT = np.dtype(
    [("pages", ">u2"), ("blocks", ">u4"), ("new", ">u4"), ("likely", [("high", ">u2"), ("low", ">u4")])]
)


def tally_to_pack(page: SiteObservation) -> Tally:
    """The tally of a page, by the keys that are packed."""
    return tally(page, 8 * KEY_BYTES, MOST_TEXTS, MOST_STRUCTURES)


def page_key(name: str) -> bytes:
    """The key of a page."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def pack_texts(page: Tally) -> bytes:
    """Each text that is counted, with the structures that it stands in, and how many blocks it has in each.

    A structure is 1 + its index, 0 where the text is folded or the structure is not counted. Of too many
    texts those with the lowest keys are counted, so that pages agree which.
    """
    structure = np.where(page.structure_of < page.most_structures, page.structure_of + 1, 0)
    folded = page.folded_of[page.folded_of != page.text_of]
    size = len(page.structures) + 1
    places, blocks = np.unique(
        np.concatenate([page.text_of * size + structure, folded * size]), return_counts=True
    )
    index = places // size
    is_counted = index < page.most_texts
    records = np.zeros(np.count_nonzero(is_counted), _TEXT)
    records["key"] = _packed_keys(page.texts)[index[is_counted]]
    records["structure"] = (places % size)[is_counted]
    records["blocks"] = blocks[is_counted]
    return records.tobytes()


def pack_structures(page: Tally) -> bytes:
    """Each structure that is counted, with its blocks and their likelihood in thousandths."""
    most = page.most_structures
    records = np.zeros(len(page.structures[:most]), _STRUCTURE)
    records["key"] = _packed_keys(page.structures[:most])
    records["blocks"] = page.blocks[:most]
    records["likely"] = page.likely[:most]
    return records.tobytes()


def unpack_counts(answer: bytes, page: Tally) -> Counts:
    """What was counted of a page's texts and structures."""
    head = np.frombuffer(answer, _ANSWER, 1)[0]
    texts, structures = np.zeros(len(page.texts), np.int64), np.zeros((4, len(page.structures)), np.int64)
    counted_texts = min(len(texts), page.most_texts)
    texts[:counted_texts] = np.frombuffer(answer, ">u2", counted_texts, _ANSWER.itemsize)
    kept = np.frombuffer(answer[_ANSWER.itemsize + 2 * counted_texts :], _KEPT)
    structures[:, : len(kept)] = kept["pages"], kept["blocks"], kept["new"], _likely(kept["likely"])
    return Counts(int(head["pages"]), bool(head["is_counted"]), texts, structures)


def _likely(packed: npt.NDArray[np.void]) -> Numbers:
    likely: Numbers = packed["high"].astype(np.int64) << 32 | packed["low"]
    return likely


def _packed_keys(keys: Keys) -> npt.NDArray[np.uint8]:
    """Shape [..., KEY_BYTES]."""
    return keys.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - KEY_BYTES :]
