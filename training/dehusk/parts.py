"""How pages are parted, so that each is answered by a model that learned from the other parts alone."""

import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import Literal, Protocol


class Origin(Protocol):
    """Where a page comes from."""

    @property
    def site(self) -> str:
        """Its site."""
        ...

    @property
    def collection(self) -> str:
        """Its collection."""
        ...


LeftOut = Literal["site", "collection"]
"""What is left out as a whole where models are cross-validated."""

PartOf = Callable[[Origin], Hashable]
"""The part that a page belongs to."""


def fold_of(site: str, folds: int) -> int:
    """The fold that a site belongs to; no other site's pages change it."""
    return zlib.crc32(site.encode()) % 997 % folds


def by_site(folds: int) -> PartOf:
    """So many parts, the pages of a site in one."""
    return lambda page: f"part {fold_of(page.site, folds) + 1} of {folds}"


def by_collection(page: Origin) -> Hashable:
    """A part for each collection; its halves, such as `-train` and `-val`, are one."""
    return page.collection.partition("-")[0]


def parts_of(pages: Iterable[Origin], part_of: PartOf) -> list[Hashable]:
    """The parts that there are, in order of their names."""
    return sorted({part_of(page) for page in pages}, key=str)
