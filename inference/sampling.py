"""Which texts of a page are samples of what its site repeats, and of what that changed."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.choice import Choice
from dehusk.inference.cleaning import PreparedPage
from dehusk.inference.selection import Bools
from dehusk.schemas.pages import BlockFrequencies
from dehusk.schemas.samples import TextSample

MOST_CHARACTERS = 200
MOST_CHANGED = 8
"""Texts of one page that were dropped or saved: those on the most pages."""
MOST_REPEATED = 20
"""Texts of one page that are on many pages, likewise."""
LEAST_PAGES = 4
"""Counted pages, this one included, of which a site has a text on many of them."""
_MANY = 0.25
"""Of all pages."""


def sample(page: PreparedPage, choice: Choice, frequencies: BlockFrequencies) -> tuple[TextSample, ...]:
    """The texts of a page that were dropped or saved, and at times those that are on many pages.

    What a site repeats changes slowly: the 4th, 8th, 16th … page shows it.
    """
    counts = frequencies.counts
    blocks = _most_frequent(choice.dropped | choice.saved, counts)[:MOST_CHANGED]
    if _shows_repeated(frequencies.pages_seen):
        blocks += _most_frequent(_on_many(page, frequencies), counts)[:MOST_REPEATED]
    of_text: dict[int, int] = {}
    for block in blocks:
        of_text.setdefault(int(page.encoded.fingerprints[block]), block)
    return tuple(_sample(page, choice, frequencies, *each) for each in of_text.items())


def _most_frequent(wanted: Bools, counts: npt.NDArray[np.uint32]) -> list[int]:
    """The wanted blocks, those with the highest counts first."""
    (blocks,) = wanted.nonzero()
    order = (-counts[blocks].astype(np.int64)).argsort(kind="stable")
    ordered: list[int] = blocks[order].tolist()
    return ordered


def _shows_repeated(seen: int) -> bool:
    """Whether a page that is one of so many shows what is on many of them."""
    return seen >= LEAST_PAGES and not seen & (seen - 1)


def _on_many(page: PreparedPage, frequencies: BlockFrequencies) -> Bools:
    """Which blocks are on many pages."""
    seen, counts = frequencies.pages_seen, frequencies.counts
    return (counts > 1) & (counts >= _MANY * seen) & (page.encoded.words > 0)


def _sample(
    page: PreparedPage, choice: Choice, frequencies: BlockFrequencies, fingerprint: int, block: int
) -> TextSample:
    return TextSample(
        fingerprint,
        page.segmented.texts[block][:MOST_CHARACTERS],
        int(frequencies.counts[block]),
        dropped=bool(choice.dropped[block]),
        saved=bool(choice.saved[block]),
    )
