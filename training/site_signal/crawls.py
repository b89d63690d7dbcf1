"""Pages of whole sites, answered by models that never saw the site, and crawls of them in random orders."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding.encoding import encode, site_keys
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding
from dehusk.schemas.sites import SiteStatistics
from dehusk.training.arrays import Bools, Doubles, Floats, Integers
from dehusk.training.pages.gold import GoldPage, align, each_labeled, read_gold
from dehusk.training.runs import read_records, write_records
from dehusk.training.scores import Words

_PAGES = "site-pages.pickle"
MIN_PAGES = 3
"""Least number of pages of a site; smaller ones are left out."""
COUNTED = (1, 2, 3, 5, 7, 10, 14, 20, 28)
"""Numbers of pages after which the next one of a crawl is looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class SitePage:
    """An encoded page of T blocks, its labels, and the answers of models."""

    id: str
    site: str
    kind: str
    """Kind of the site, such as `blog`; empty where it is not known."""
    words: Words
    gold: tuple[str, ...] | None
    """Words of the gold text; None where it is not known: such a page only counts."""
    content: Bools
    """Shape [T]: the blocks that the gold text labels as content."""
    word_counts: npt.NDArray[np.uint32]
    """Shape [T]: words per block, as a worker counts them."""
    repeat: npt.NDArray[np.int32]
    """Shape [T]: `EncodedPage.repeat`."""
    alike: npt.NDArray[np.int32] | None
    """Shape [T]: `EncodedPage.alike`."""
    texts: npt.NDArray[np.uint64]
    """Shape [T]: `SiteKeys.texts`."""
    structures: npt.NDArray[np.uint64]
    """Shape [T]: `SiteKeys.structures`."""
    answers: tuple[Floats, ...]
    """Of each model, shape [2, T]: the probabilities that a block is content, and that it is a comment."""

    def __len__(self) -> int:
        return len(self.content)


Answer = Callable[[EncodedPage, str], Floats]
"""Answer of a model that never saw the page's site, which is named, shape [1, T] or [2, T]."""


def prepare_site_pages(
    files: Sequence[Path], directory: Path, content_share: float, answers: Sequence[Answer], processes: int
) -> list[Broken]:
    """Label, encode and write the pages of the files; return those that cannot be segmented."""
    broken: list[Broken] = []
    label = partial(_labeled, content_share=content_share)
    pages = each_labeled(read_gold(files), label, processes, broken)
    answered = (
        replace(page, answers=tuple(_both(each(encoded, page.site)) for each in answers))
        for page, encoded in pages
        if len(encoded)
    )
    write_records(directory / _PAGES, answered)
    return broken


def site_pages(directory: Path) -> dict[str, list[SitePage]]:
    """Read the pages that `prepare_site_pages` wrote, by site."""
    found: dict[str, list[SitePage]] = {}
    for page in read_records("signal prepare", directory / _PAGES):
        found.setdefault(page.site, []).append(page)
    return {site: pages for site, pages in found.items() if len(pages) >= MIN_PAGES}


def _labeled(page: GoldPage, content_share: float) -> tuple[SitePage, EncodedPage]:
    aligned = align(page, content_share)
    encoded, keys = encode(aligned.segmented, (Encoding.TOKENS,)), site_keys(aligned.segmented)
    labeled = SitePage(
        id=page.id,
        site=page.site,
        kind=page.kind,
        words=aligned.words,
        gold=None if page.text is None else aligned.gold,
        content=aligned.content,
        word_counts=encoded.words,
        repeat=encoded.repeat,
        alike=encoded.alike,
        texts=keys.texts,
        structures=keys.structures,
        answers=(),
    )
    return labeled, encoded


def _both(answer: Floats) -> Floats:
    """Add comments that are never likely to an answer that says nothing of them."""
    return answer if len(answer) > 1 else np.stack([answer[0], np.zeros_like(answer[0])])


class Visit(NamedTuple):
    """A page that comes by in a crawl."""

    page: SitePage
    model: int
    """Model that answered, by its place in `SitePage.answers`."""
    statistics: SiteStatistics

    @property
    def answer(self) -> Floats:
        """Answer of the model, shape [2, T]."""
        return self.page.answers[self.model]


class _Columns(NamedTuple):
    """Texts and structures of a page's blocks as numbers from 0 on."""

    texts: Integers
    structures: Integers


@dataclass(slots=True, eq=False)
class _Counts:
    """Counts of a site's texts and structures."""

    texts: Integers
    structure_pages: Integers
    structure_blocks: Integers
    structure_likely: Doubles
    pages: int = 0

    def before(self, page: _Columns) -> SiteStatistics:
        """Return the statistics for a page that has not been counted."""
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
    """Yield the pages with gold that come by after `COUNTED` others, in so many orders, for each model."""
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
    """Return the columns of each page, and counts of nothing yet."""
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
