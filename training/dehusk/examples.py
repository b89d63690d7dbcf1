"""Pages as the model learns from them, and their parts."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import StructureTensors
from dehusk.training.arrays import Bools, Floats
from dehusk.training.dehusk.config import DehuskConfig, fold_of
from dehusk.training.pages.gold import collection_of
from dehusk.training.pages.prepared import RENAMED, PreparedPage


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An encoded page of T blocks and its labels, as the model learns from it."""

    site: str
    collection: str
    page_type: str
    """One of PAGE_KINDS; empty where it is not known."""
    structure: StructureTensors
    words: npt.NDArray[np.uint32]
    """Shape [T]: words per block."""
    content: Bools
    """Shape [T]: the blocks that are content."""
    comment: Bools
    """Shape [T]: the blocks that are user comments, and not content."""
    certainty: Floats
    """Shape [T]: weight of the labels of each block, up to 1."""
    importance: float = 1.0
    """Weight of the page relative to others."""
    in_second_pass: bool = True
    """True if the second pass learns from the page, too."""

    def __len__(self) -> int:
        return len(self.content)

    @property
    def weights(self) -> Floats:
        """Weight of each block, shape [T]: the root of its words, less for uncertain labels.

        It sums to the importance of the page.
        """
        roots = np.sqrt(self.words + 1) * self.certainty
        weights: Floats = (roots * (self.importance / roots.sum())).astype(np.float32)
        return weights


def example_of(page: PreparedPage, config: DehuskConfig) -> Example:
    """Return a page as the model learns from it."""
    content = with_repeats(page.content, page.encoded.repeat)
    importance = config.importance.get(page.collection, 1.0)
    return Example(
        site=page.site,
        collection=page.collection,
        page_type=page.page_type,
        structure=page.structure,
        words=page.encoded.words,
        content=content,
        comment=page.comment & ~content,
        certainty=np.where(page.uncertain, config.trainer.doubtful, 1).astype(np.float32),
        importance=importance * config.trainer.altered if page.altered else importance,
        in_second_pass=page.altered != RENAMED,
    )


def with_repeats(content: Bools, repeat: npt.NDArray[np.int32]) -> Bools:
    """Return the labels, a block and the one that it repeats sharing theirs: the gold has only one."""
    shared = content.copy()
    for block in np.flatnonzero(repeat >= 0):
        earlier = repeat[block]
        shared[block] = shared[earlier] = shared[block] or shared[earlier]
    return shared


PartOf = Callable[[PreparedPage | Example], Hashable]
"""Function that returns the part that a page belongs to."""


def by_site(folds: int) -> PartOf:
    """Return so many parts, the pages of a site in one."""
    return lambda page: name_of_part(page.site, folds)


def name_of_part(site: str, folds: int) -> str:
    """Return the name of the part that a site is in, of so many."""
    return f"part {fold_of(site, folds) + 1} of {folds}"


def by_collection(page: PreparedPage | Example) -> Hashable:
    """Return a part for each collection; its halves, such as `-train` and `-val`, are one."""
    return collection_of(page.collection)


def parts_of(pages: Iterable[PreparedPage | Example], part_of: PartOf) -> list[Hashable]:
    """Return the parts that there are, in order of their names."""
    return sorted({part_of(page) for page in pages}, key=str)


def learned_from(pages: Iterable[PreparedPage], config: DehuskConfig) -> list[PreparedPage]:
    """Return the reliable pages, at most so many of one site, and as many that were altered alike.

    Those of collections that weigh nothing are left out.
    """
    taken: Counter[tuple[str, str]] = Counter()
    learned: list[PreparedPage] = []
    for page in pages:
        of_site = (page.site, page.altered)
        is_wanted = page.reliable and config.importance.get(page.collection, 1.0) > 0
        if is_wanted and taken[of_site] < config.trainer.most_of_a_site:
            taken[of_site] += 1
            learned.append(page)
    return learned
