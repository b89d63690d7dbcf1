"""A pool for a command: what one page does to its process, the others do not notice."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from dehusk.inference.sites import SiteKey
from dehusk.streams.preparation.extraction import Writing
from dehusk.streams.preparation.leftovers import claim_folder
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.process import Work
from dehusk.streams.preparation.steps import open_steps
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.source import Source

_WRITING = Writing()


@asynccontextmanager
async def open_pool(
    open_source: Callable[[], Source],
    processes: int,
    limits: PageLimits,
    writing: Writing = _WRITING,
    site_key: SiteKey = SiteKey.HOST,
) -> AsyncIterator[PreparationPool]:
    """A pool that reads messages with a source opened in each process, and ends pages that take too long.

    Raises:
        ConfigurationError: the source or the processes cannot be opened.
    """
    open_work = partial(open_steps, open_source, limits.max_blocks, writing, site_key)
    async with open_pool_of(open_work, processes, limits) as pool:
        yield pool


@asynccontextmanager
async def open_pool_of(
    open_work: Callable[[], Work], processes: int, limits: PageLimits
) -> AsyncIterator[PreparationPool]:
    """A pool that does the work which is opened in each process, and ends tasks that take too long.

    Raises:
        ConfigurationError: the work or the processes cannot be opened.
    """
    claim_folder()
    pool = PreparationPool(open_work, processes, limits)
    guard = asyncio.create_task(pool.kill_the_stuck())
    try:
        await pool.start()
        yield pool
    finally:
        guard.cancel()
        pool.close()
