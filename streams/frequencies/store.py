"""What a block-frequency store is: there is one in Redis, and one in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from schemas.pages import BlockFrequencies


@dataclass(frozen=True, slots=True, eq=False)
class SiteObservation:
    """The blocks of one page, as the site's statistics count them."""

    site: str
    page: str
    """What makes the page distinct on its site: its URL."""
    fingerprints: npt.NDArray[np.uint64]
    """Shape [T]: `EncodedPage.fingerprints`, repetitions included."""


class BlockFrequencyStore(Protocol):
    """Counts, per site and block, the distinct pages that hold the block."""

    async def observe(self, pages: Sequence[SiteObservation]) -> list[BlockFrequencies]:
        """Count the pages that were not counted before and answer the counts of all, in order.

        A page is counted once, however often it is observed.

        Raises:
            UnavailableError: the store did not answer; some pages may have been counted, which is harmless.
            ConfigurationError: the store refuses the user, or what is asked of it.
        """
        ...

    async def check(self) -> None:
        """See whether the store counts.

        Raises what `observe` raises.
        """
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
