"""Site statistics of an offline run: its own, or those shared with workers."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.preparation.batch import Note
from dehusk.streams.settings import IN_MEMORY, NO_STATISTICS, RedisSettings
from dehusk.streams.sites.store import MemorySiteStatistics, SiteStatisticsStore

_ADVICE = "run the command again, which counts no page twice, or clean with --site-statistics memory"


@dataclass(frozen=True, slots=True)
class RequiredStatistics:
    """Store whose failure ends the run; the error says what to do."""

    _store: SiteStatisticsStore

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        """Count pages in the store and return its answers."""
        with _advising():
            return await self._store.observe(pages)


@asynccontextmanager
async def open_statistics(where: str, redis: RedisSettings) -> AsyncIterator[SiteStatisticsStore | None]:
    """Open the statistics of this run alone, or those in Redis once it has answered; yield None for `none`.

    Args:
        where: `none`, `memory` or a URL.
        redis: settings of the client; their URL is ignored.

    Raises:
        UnavailableError: Redis does not answer.
        ConfigurationError: Redis refuses the user, or the URL is none of a Redis.
    """
    if not is_shared(where):
        yield MemorySiteStatistics() if where == IN_MEMORY else None
        return
    from dehusk.streams.sites.redis_store import RedisSiteStatistics  # noqa: PLC0415 its client is loaded only for it

    store = RedisSiteStatistics(replace(redis, url=where))
    try:
        with _advising():
            await store.check()
        yield RequiredStatistics(store)
    finally:
        await store.close()


def is_shared(where: str) -> bool:
    """Return True if the statistics are in Redis, where others share them: see `open_statistics`."""
    return where not in (NO_STATISTICS, IN_MEMORY)


@asynccontextmanager
async def sampling(where: str, redis: RedisSettings) -> AsyncIterator[Note | None]:
    """Yield a function that takes samples, written to Redis each second and at the end; else None."""
    if not is_shared(where):
        yield None
        return
    from dehusk.streams.sites.samples import open_samples  # noqa: PLC0415 its client is loaded only for it

    async with open_samples(replace(redis, url=where)) as samples:
        writing = asyncio.create_task(samples.run())
        try:
            yield samples.note
        finally:
            writing.cancel()


@contextmanager
def _advising() -> Iterator[None]:
    try:
        yield
    except UnavailableError as error:
        raise UnavailableError(f"{error}; {_ADVICE}") from error
