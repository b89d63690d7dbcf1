"""Which pages Web2Text learns from, which its iteration is chosen by, and which it is scored on."""

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dehusk.training.dehusk.pages import DehuskPage
from dehusk.training.web2text.config import DataConfig


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The parts of the prepared pages, no site in two of them."""

    learned: list[DehuskPage] = field(default_factory=list)
    validated: list[DehuskPage] = field(default_factory=list)
    held_out: list[DehuskPage] = field(default_factory=list)
    """Good gold or not, all that have a gold text."""


def split(pages: Iterable[DehuskPage], config: DataConfig) -> Split:
    """The parts of the pages: the name of a site decides, so that no other site's pages change it.

    Of the first two, the pages that can be learned from, so many of a site.
    """
    parts, taken = Split(), Counter[str]()
    for page in pages:
        if page.altered:
            continue
        place = zlib.crc32(page.site.encode()) % 1000 / 1000
        if place < config.held_out:
            if page.has_gold:
                parts.held_out.append(page)
        elif page.reliable and len(page.content) and taken[page.site] < config.most_of_a_site:
            taken[page.site] += 1
            is_validated = place < config.held_out + config.validation
            (parts.validated if is_validated else parts.learned).append(page)
    return parts
