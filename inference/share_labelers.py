"""The labelers that decide on the texts of the document: of a block they say how much of it they keep.

It is computed where the document is at hand, and comes with the encoded page.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, ModelVersion, Prediction

Shares = npt.NDArray[np.float32]


class _ShareLabeler:
    """Answers with the share of each block that is kept."""

    NAME = ""
    READS: Encoding

    @property
    def encodings(self) -> frozenset[Encoding]:
        """What it reads beside what each page has."""
        return frozenset((self.READS,))

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """One answer per page, in order."""
        return [self.label_here(page) for page in pages]

    def label_here(self, page: EncodedPage) -> Prediction:
        """The answer to one page, in the calling thread.

        Raises:
            NotEncodedError: the page came without the encoding that is read.
        """
        shares = self._shares(page)
        if shares is None:
            raise NotEncodedError(self.READS)
        return Prediction(shares, ModelVersion(self.NAME, "1"), self.NAME)

    async def close(self) -> None:
        """Nothing is held."""

    def _shares(self, page: EncodedPage) -> Shares | None:
        raise NotImplementedError


class BoilerpipeWords(_ShareLabeler):
    """Boilerpipe by the number of words and link density."""

    NAME = "boilerpipe-words"
    READS = Encoding.BOILERPIPE

    def _shares(self, page: EncodedPage) -> Shares | None:
        return None if page.boilerpipe is None else page.boilerpipe[0]


class BoilerpipeDensity(_ShareLabeler):
    """Boilerpipe by text density and link density."""

    NAME = "boilerpipe-density"
    READS = Encoding.BOILERPIPE

    def _shares(self, page: EncodedPage) -> Shares | None:
        return None if page.boilerpipe is None else page.boilerpipe[1]


class Declutter(_ShareLabeler):
    """Simple HTML decluttering."""

    NAME = "declutter"
    READS = Encoding.DECLUTTER

    def _shares(self, page: EncodedPage) -> Shares | None:
        return page.declutter
