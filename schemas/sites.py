"""The statistics of a site: those that a page adds, and those that correct its labels."""

from __future__ import annotations  # its arrays are annotations alone: who needs none does not load numpy

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dehusk.schemas.pickled import PickledWithArrays

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class SiteObservation:
    """Observation of one page of T blocks for the statistics of its site."""

    site: str
    page: str
    """Identifier of the page on its site: its URL."""
    texts: npt.NDArray[np.uint64]
    """Shape [T]: `SiteKeys.texts`, repetitions included."""
    structures: npt.NDArray[np.uint64]
    """Shape [T]: `SiteKeys.structures`."""
    probabilities: npt.NDArray[np.float32]
    """Shape [T]: the model's probabilities of content."""
    chosen: npt.NDArray[np.bool_]
    """Shape [T]: True for the content that these make of the page alone."""
    title_parts: npt.NDArray[np.uint64] | None = None
    """Shape [P]: `SiteKeys.title_parts`, counted like texts; None for no part."""


@dataclass(frozen=True, slots=True, eq=False)
class SiteStatistics:
    """Statistics of a site before a page of T blocks came: other pages of it, copies counted once."""

    pages: int
    """Number of pages counted."""
    texts: npt.NDArray[np.uint32]
    """Shape [T]: pages with the block's text."""
    structure_pages: npt.NDArray[np.uint32]
    """Shape [T]: pages with a block in the block's structure."""
    structure_blocks: npt.NDArray[np.uint32]
    """Shape [T]: blocks of those pages in the structure."""
    structure_likely: npt.NDArray[np.float32]
    """Shape [T]: mean of the model's answers for those blocks; 0 without any."""
    is_counted: bool = False
    """True if the page itself had been counted before."""
    is_copy: bool = False
    """True if the page is not counted, as a copy of it under another URL was."""
    title_parts: npt.NDArray[np.uint32] | None = None
    """Shape [P]: pages with each part of the page's title; None where they were not counted."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockFrequencies(PickledWithArrays):
    """Number of distinct pages of the site that have each block of a page, this page included."""

    pages_seen: int
    """Distinct pages of the site counted so far, this one included; 0 where frequencies are unknown."""
    counts: npt.NDArray[np.uint32]
    """Shape [T]: distinct pages with the block; at most `pages_seen`."""
    title_parts: npt.NDArray[np.uint32] | None = None
    """Shape [P]: distinct pages with each part of the page's title; None where they are unknown."""
