"""What one page adds to the statistics of its site, and what is known of the site without it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import SiteObservation, SiteStatistics

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
LIKELIHOOD_UNIT = 1 << 16
"""What sums of probabilities are counted in: so many make 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """A page of T blocks with K different texts in S structures."""

    texts: Keys
    """Shape [K], ascending."""
    text_of: Numbers
    """Shape [T]: the index in `texts` of each block's text."""
    structures: Keys
    """Shape [S], ascending."""
    structure_of: Numbers
    """Shape [T]: the index in `structures` of each block's structure."""
    blocks: Numbers
    """Shape [S]: blocks in each structure."""
    likelihood: Numbers
    """Shape [S]: the sum of their probabilities, in units."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What a store has counted of a tally's texts and structures."""

    pages: int
    is_counted: bool
    """Whether the page itself is one of the pages."""
    texts: Numbers
    """Shape [K]: pages with each text."""
    structures: Numbers
    """Shape [3, S]: pages with each structure, its blocks, and the sum of their probabilities in units."""


def tally(page: SiteObservation, bits: int = 64) -> Tally:
    """The tally of a page whose texts and structures are told apart by keys of so many bits."""
    texts, text_of = np.unique(highest_bits(page.texts, bits), return_inverse=True)
    structures, structure_of, blocks = np.unique(
        highest_bits(page.structures, bits), return_inverse=True, return_counts=True
    )
    likelihood = np.bincount(structure_of, page.probabilities, len(structures)) * LIKELIHOOD_UNIT
    return Tally(texts, text_of, structures, structure_of, blocks, np.rint(likelihood).astype(np.int64))


def without(page: Tally, counts: Counts) -> SiteStatistics:
    """What is known of the site by its other pages."""
    own = int(counts.is_counted)
    texts = np.maximum(counts.texts - own, 0)
    pages, blocks, likelihood = counts.structures
    pages = np.maximum(pages - own, 0)
    blocks = np.where(pages > 0, np.maximum(blocks - own * page.blocks, 0), 0)
    likelihood = np.clip(likelihood - own * page.likelihood, 0, LIKELIHOOD_UNIT * blocks)
    mean = likelihood / (LIKELIHOOD_UNIT * np.maximum(blocks, 1))
    return SiteStatistics(
        counts.pages - own,
        texts=texts[page.text_of].astype(np.uint32),
        structure_pages=pages[page.structure_of].astype(np.uint32),
        structure_blocks=blocks[page.structure_of].astype(np.uint32),
        structure_likely=mean[page.structure_of].astype(np.float32),
        is_counted=counts.is_counted,
    )


def highest_bits(fingerprints: Keys, bits: int) -> Keys:
    """The highest bits of the fingerprints, once each depends on all bits below it."""
    return (
        fingerprints if bits == 64 else fingerprints * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits)
    )
