"""Crawls of a site in random orders: what is known of it before each page."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import SiteStatistics
from dehusk.training.site_signal.pages import Floats, SitePage

Numbers = npt.NDArray[np.int64]

COUNTED = (1, 2, 3, 5, 7, 10, 14, 20, 28)
"""After so many pages, the next one of a crawl is looked at."""


class Visit(NamedTuple):
    """A page that comes by in a crawl."""

    page: SitePage
    model: int
    """Which model answered, by its place in `SitePage.answers`."""
    statistics: SiteStatistics

    @property
    def answer(self) -> Floats:
        """The model's, shape [2, T]."""
        return self.page.answers[self.model]


class _Columns(NamedTuple):
    """The texts and structures of a page's blocks as numbers from 0 on."""

    texts: Numbers
    structures: Numbers


@dataclass(slots=True, eq=False)
class _Counts:
    """What was counted of a site's texts and structures."""

    texts: Numbers
    structure_pages: Numbers
    structure_blocks: Numbers
    structure_likely: npt.NDArray[np.float64]
    pages: int = 0

    def before(self, page: _Columns) -> SiteStatistics:
        """What a page is told that has not been counted."""
        texts, structures = page
        blocks = self.structure_blocks[structures]
        return SiteStatistics(
            pages=self.pages,
            texts=self.texts[texts].astype(np.uint32),
            structure_pages=self.structure_pages[structures].astype(np.uint32),
            structure_blocks=blocks.astype(np.uint32),
            structure_likely=(self.structure_likely[structures] / np.maximum(blocks, 1)).astype(np.float32),
        )

    def add(self, page: _Columns, probabilities: Floats) -> None:
        """Count a page."""
        texts, structures = page
        self.pages += 1
        np.add.at(self.structure_blocks, structures, 1)
        np.add.at(self.structure_likely, structures, probabilities)
        self.structure_pages[np.unique(structures)] += 1
        self.texts[np.unique(texts)] += 1


def crawls(sites: dict[str, list[SitePage]], orders: int, *, seed: int = 0) -> Iterator[Visit]:
    """The pages with gold that come by after `COUNTED` others, in so many orders, of each model's answers."""
    for site, pages in sites.items():
        for order in range(orders):
            random = np.random.default_rng([zlib.crc32(site.encode()), seed, order])
            shuffled = random.permutation(len(pages)).tolist()
            for model in range(len(pages[0].answers)):
                yield from _crawl(pages, shuffled, model)


def _crawl(pages: Sequence[SitePage], order: Sequence[int], model: int) -> Iterator[Visit]:
    columns, counts = _numbered(pages)
    for place in order:
        page = pages[place]
        if page.gold is not None and counts.pages in COUNTED:
            yield Visit(page, model, counts.before(columns[place]))
        counts.add(columns[place], page.answers[model][0])


def _numbered(pages: Sequence[SitePage]) -> tuple[list[_Columns], _Counts]:
    """The columns of each page, and counts of nothing yet."""
    ends = np.cumsum([len(page) for page in pages])[:-1]
    texts, text_of = np.unique(np.concatenate([page.texts for page in pages]), return_inverse=True)
    structures, structure_of = np.unique(
        np.concatenate([page.structures for page in pages]), return_inverse=True
    )
    split = zip(np.split(text_of, ends), np.split(structure_of, ends), strict=True)
    counts = _Counts(
        texts=np.zeros(len(texts), np.int64),
        structure_pages=np.zeros(len(structures), np.int64),
        structure_blocks=np.zeros(len(structures), np.int64),
        structure_likely=np.zeros(len(structures)),
    )
    return [_Columns(*each) for each in split], counts
