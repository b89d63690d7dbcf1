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
    texts, text_of = _distinct(highest_bits(page.texts, bits))
    structures, structure_of = _distinct(highest_bits(page.structures, bits))
    blocks = np.bincount(structure_of, minlength=len(structures))
    likelihood = np.bincount(structure_of, page.probabilities, len(structures)) * LIKELIHOOD_UNIT
    return Tally(texts, text_of, structures, structure_of, blocks, np.rint(likelihood).astype(np.int64))


def _distinct(keys: Keys) -> tuple[Keys, Numbers]:
    """The different keys, ascending, and where each key is among them: what `np.unique` takes longer for."""
    ordered = np.sort(keys)
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    different = ordered[is_first]
    return different, different.searchsorted(keys)


def without(page: Tally, counts: Counts) -> SiteStatistics:
    """What is known of the site by its other pages."""
    own = int(counts.is_counted)
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
        structure_pages=pages.astype(np.uint32)[page.structure_of],
        structure_blocks=blocks.astype(np.uint32)[page.structure_of],
        structure_likely=mean.astype(np.float32)[page.structure_of],
        is_counted=counts.is_counted,
    )


def highest_bits(fingerprints: Keys, bits: int) -> Keys:
    """The highest bits of the fingerprints, once each depends on all bits below it."""
    return (
        fingerprints if bits == 64 else fingerprints * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits)
    )
