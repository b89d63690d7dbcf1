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
    counts = frequencies.counts.astype(np.int64)
    changed = _most_frequent(choice.dropped | choice.saved, counts)[:MOST_CHANGED]
    repeated = _most_frequent(_on_many(page, frequencies), counts)[:MOST_REPEATED]
    of_text: dict[int, TextSample] = {}
    for block in (*changed, *repeated):
        found = _sample(page, choice, frequencies, block)
        of_text.setdefault(found.fingerprint, found)
    return tuple(of_text.values())


def _most_frequent(wanted: Bools, counts: npt.NDArray[np.int64]) -> list[int]:
    """The wanted blocks, those with the highest counts first."""
    blocks = np.flatnonzero(wanted)
    ordered: list[int] = blocks[np.argsort(-counts[blocks], kind="stable")].tolist()
    return ordered


def _on_many(page: PreparedPage, frequencies: BlockFrequencies) -> Bools:
    """Which blocks are on many pages, if it is the time to say so."""
    seen, counts = frequencies.pages_seen, frequencies.counts
    if seen < LEAST_PAGES or seen & (seen - 1):
        return np.zeros(len(counts), np.bool_)
    return (counts > 1) & (counts >= _MANY * seen) & (page.encoded.words > 0)


def _sample(page: PreparedPage, choice: Choice, frequencies: BlockFrequencies, block: int) -> TextSample:
    return TextSample(
        int(page.encoded.fingerprints[block]),
        page.segmented.texts[block][:MOST_CHARACTERS],
        int(frequencies.counts[block]),
        dropped=bool(choice.dropped[block]),
        saved=bool(choice.saved[block]),
    )
