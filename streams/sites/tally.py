"""What one page adds to the statistics of its site, and what is known of the site without it."""

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schemas.pages import SiteObservation, SiteStatistics

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
LIKELY_UNIT = 1000
"""Sums of probabilities are kept in thousandths."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """A page of T blocks with K different texts, as they are and folded, in S structures."""

    texts: Keys
    """Shape [K], ascending."""
    text_of: Numbers
    """Shape [T]: the index in `texts` of each block's text."""
    folded_of: Numbers
    """Shape [T]: of its folded text; the same where nothing was folded."""
    structures: Keys
    """Shape [S], ascending."""
    structure_of: Numbers
    """Shape [T]: the index in `structures` of each block's structure."""
    blocks: Numbers
    """Shape [S]: blocks in each structure."""
    likely: Numbers
    """Shape [S]: the sum of their probabilities, in thousandths."""
    most_texts: int = sys.maxsize
    """How many of the first texts are counted."""
    most_structures: int = sys.maxsize
    """How many of the first structures are counted."""

    def new_blocks(self, is_new: npt.NDArray[np.bool_]) -> Numbers:
        """Shape [S]: blocks in each structure with a text that is counted and new; `is_new` has shape [K]."""
        found = is_new[self.text_of] & (self.text_of < self.most_texts)
        return np.bincount(self.structure_of[found], minlength=len(self.structures))


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What a store has counted of a tally's texts and structures."""

    pages: int
    is_counted: bool
    """Whether the page itself is one of the pages."""
    texts: Numbers
    """Shape [K]: pages with each text."""
    structures: Numbers
    """Shape [4, S]: pages with each structure, its blocks, those that were new, and the sum of the blocks'
    probabilities in thousandths."""


def tally(
    page: SiteObservation,
    bits: int = 64,
    most_texts: int = sys.maxsize,
    most_structures: int = sys.maxsize,
) -> Tally:
    """The tally of a page whose texts and structures are told apart by keys of so many bits."""
    is_folded = page.folded != page.texts
    own = _keys(page.texts, bits)
    texts, indices = np.unique(
        np.concatenate([own, np.where(is_folded, _keys(~page.folded, bits), own)]), return_inverse=True
    )
    structures, structure_of = np.unique(_keys(page.structures, bits), return_inverse=True)
    thousandths = np.rint(page.probabilities.astype(np.float64) * LIKELY_UNIT)
    likely = np.bincount(structure_of, thousandths, len(structures))
    return Tally(
        texts,
        indices[: len(own)],
        indices[len(own) :],
        structures,
        structure_of,
        np.bincount(structure_of, minlength=len(structures)),
        likely.astype(np.int64),
        most_texts,
        most_structures,
    )


def without(page: Tally, counts: Counts) -> SiteStatistics:
    """What is known of the site by its other pages."""
    own = int(counts.is_counted)
    texts = np.maximum(counts.texts - own, 0)
    pages, blocks, new, likely = counts.structures
    pages = np.maximum(pages - own, 0)
    blocks = np.where(pages > 0, np.maximum(blocks - own * page.blocks, 0), 0)
    new = np.clip(new - own * page.new_blocks(texts == 0), 0, blocks)
    likely = np.clip(likely - own * page.likely, 0, LIKELY_UNIT * blocks)
    mean = likely / (LIKELY_UNIT * np.maximum(blocks, 1))
    return SiteStatistics(
        counts.pages - own,
        texts=texts[page.text_of].astype(np.uint32),
        folded=texts[page.folded_of].astype(np.uint32),
        structure_pages=pages[page.structure_of].astype(np.uint32),
        structure_blocks=blocks[page.structure_of].astype(np.uint32),
        structure_new=new[page.structure_of].astype(np.uint32),
        structure_likely=mean[page.structure_of].astype(np.float32),
    )


def _keys(fingerprints: Keys, bits: int) -> Keys:
    """The highest bits of the fingerprints, once each depends on all bits below it."""
    return (
        fingerprints if bits == 64 else fingerprints * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits)
    )
