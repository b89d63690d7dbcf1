"""What a store of site statistics is: there is one in Redis, and one in memory."""

from collections.abc import Sequence
from typing import Protocol

from dehusk.schemas.pages import SiteObservation, SiteStatistics


class SiteStatisticsStore(Protocol):
    """Counts, per site, the pages that hold each text and each structure."""

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        """Count the pages that were not counted before and answer what is known without each, in order.

        A page is counted once, as it was first, however often it is observed; it sees those of its site that
        come before it in the sequence. A page that was counted before sees all others: what it would add now
        is taken off, which is exact where it is the page that was counted, with the same probabilities. Where
        it has changed since, each text and structure is known of at most one page too few, and never too
        many. The blocks of a structure, where pages of it are known, are then wrong by at most what the page
        has in it, or had. A store that forgets says in its module what and when.

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
