"""One page as the statistics of its site count it, and the bytes in which `observe.lua` reads and writes it.

The bytes hold keys of five bytes and big-endian integers.
"""

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from dehusk.schemas.sites import SiteObservation, SiteStatistics

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
LIKELIHOOD_UNIT = 1 << 16
"""Units of a sum of probabilities that make 1."""
KEY_BYTES = 5
KEY_BITS = 37
"""Bits of packed keys of texts and structures: five of the group, 32 within it."""
MAX_TEXTS = 5_000
"""Different texts of one page that are counted: those with the lowest keys, so that pages agree on them.

The others are answered as if no other page had them.
"""
MAX_STRUCTURES = 500
"""Different structures of one page that are counted, likewise."""
_BLOCKS_BYTES, _LIKELIHOOD_BYTES = 4, 6
_HEAD = struct.Struct(">BI")
"""Head of an answer: the `PageStatus` of the page, and the pages."""
_KNOWN = np.array([(1, 0, 0), (0, 1 << 16, 0), (0, 1, 0), (0, 0, 1 << 32), (0, 0, 1 << 16), (0, 0, 1)])
"""Weights of the two-byte parts of an entry in the pages, blocks and likelihood of its structure."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """A page of T blocks with K different texts in S structures."""

    texts: Keys
    """Shape [K], ascending: those of blocks and of parts of the title."""
    text_of: Numbers
    """Shape [T]: the index in `texts` of each block's text."""
    title_of: Numbers
    """Shape [P]: the index in `texts` of each part of the title."""
    structures: Keys
    """Shape [S], ascending."""
    structure_of: Numbers
    """Shape [T]: the index in `structures` of each block's structure."""
    blocks: Numbers
    """Shape [S]: blocks in each structure."""
    likelihood: Numbers
    """Shape [S]: the sum of their probabilities, in units."""


class PageStatus(IntEnum):
    """Status of a page among the counted ones."""

    NEW = 0
    COUNTED = 1
    COPY = 2
    """A page that is not counted, as a copy of it was."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts that a store has of a tally's texts and structures."""

    pages: int
    status: PageStatus
    """Status of the page before this observation."""
    texts: Numbers
    """Shape [K]: pages with each text."""
    structures: Numbers
    """Shape [3, S]: pages with each structure, its blocks, and the sum of their probabilities in units."""


def tally(page: SiteObservation, bits: int = 64) -> Tally:
    """Return the tally of a page whose texts and structures have keys of so many bits."""
    blocks_and_title = [page.texts] if page.title_parts is None else [page.texts, page.title_parts]
    texts, text_of = distinct(_highest_bits(np.concatenate(blocks_and_title), bits))
    text_of, title_of = np.split(text_of, [len(page.texts)])
    structures, structure_of = distinct(_highest_bits(page.structures, bits))
    blocks = np.bincount(structure_of, minlength=len(structures))
    likelihood = np.bincount(structure_of, page.probabilities, len(structures)) * LIKELIHOOD_UNIT
    return Tally(
        texts, text_of, title_of, structures, structure_of, blocks, np.rint(likelihood).astype(np.int64)
    )


def without(page: Tally, counts: Counts) -> SiteStatistics:
    """Return the statistics of a site by its other pages, without the page or the copy that was counted."""
    own = int(counts.status is not PageStatus.NEW)
    texts, (pages, blocks, likelihood) = counts.texts, counts.structures
    if own:
        texts, pages = np.maximum(texts - 1, 0), np.maximum(pages - 1, 0)
        blocks, likelihood = np.maximum(blocks - page.blocks, 0), likelihood - page.likelihood
    blocks = blocks * (pages > 0)
    likelihood = np.minimum(np.maximum(likelihood, 0), LIKELIHOOD_UNIT * blocks)
    mean = likelihood / (LIKELIHOOD_UNIT * np.maximum(blocks, 1))
    return SiteStatistics(
        counts.pages - own,
        texts=texts.astype(np.uint32)[page.text_of],
        title_parts=texts.astype(np.uint32)[page.title_of],
        structure_pages=pages.astype(np.uint32)[page.structure_of],
        structure_blocks=blocks.astype(np.uint32)[page.structure_of],
        structure_likely=mean.astype(np.float32)[page.structure_of],
        is_counted=counts.status is PageStatus.COUNTED,
        is_copy=counts.status is PageStatus.COPY,
    )


def name_hash(name: str, size: int) -> bytes:
    """Return a hash of so many bytes of a URL or of a site's name."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def text_key(fingerprint: int) -> bytes:
    """Return the packed key of a text."""
    return _lowest_bytes(_highest_bits(np.array([fingerprint], np.uint64), KEY_BITS), KEY_BYTES).tobytes()


def pack_texts(page: Tally) -> bytes:
    """Pack the keys of the texts that are counted."""
    return _lowest_bytes(page.texts[:MAX_TEXTS], KEY_BYTES).tobytes()


def pack_structures(page: Tally) -> bytes:
    """Pack the key, the blocks and the likelihood of each structure that is counted."""
    columns = (
        _lowest_bytes(page.structures[:MAX_STRUCTURES], KEY_BYTES),
        _lowest_bytes(page.blocks[:MAX_STRUCTURES], _BLOCKS_BYTES),
        _lowest_bytes(page.likelihood[:MAX_STRUCTURES], _LIKELIHOOD_BYTES),
    )
    return np.concatenate(columns, axis=1).tobytes()


def unpack_counts(answer: bytes, page: Tally) -> Counts:
    """Unpack the counts of a page's texts and structures."""
    status, pages = _HEAD.unpack_from(answer)
    numbers = np.frombuffer(answer, ">u2", offset=_HEAD.size).astype(np.int64)
    texts, structures = np.zeros(len(page.texts), np.int64), np.zeros((3, len(page.structures)), np.int64)
    counted = min(len(page.texts), MAX_TEXTS)
    texts[:counted] = numbers[:counted]
    known = numbers[counted:].reshape(-1, len(_KNOWN)) @ _KNOWN
    structures[:, : len(known)] = known.T
    return Counts(pages, PageStatus(status), texts, structures)


def distinct(keys: Keys) -> tuple[Keys, Numbers]:
    """Return the different keys, ascending, and the index of each key among them; faster than `np.unique`."""
    ordered = np.sort(keys)
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    different = ordered[is_first]
    return different, different.searchsorted(keys)


def _highest_bits(fingerprints: Keys, bits: int) -> Keys:
    """Return the highest bits of fingerprints, after a mix in which each depends on all bits below it."""
    if bits == 64:
        return fingerprints
    return fingerprints * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits)


def _lowest_bytes(numbers: Keys | Numbers, width: int) -> npt.NDArray[np.uint8]:
    """Return N numbers as so many bytes each, shape [N, width]."""
    return numbers.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - width :]
