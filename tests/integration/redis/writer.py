"""`python writer.py URL SEED`: counts the pages of a site, in an order of its own, and says each batch."""

import asyncio
import sys

import numpy as np

from dehusk.schemas.sites import SiteObservation
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.redis_store import RedisSiteStatistics

PAGES, BATCH = 600, 7


def pages() -> list[SiteObservation]:
    """The pages of the site, the same for every writer."""
    numbers = np.random.default_rng(5)
    return [_page(number, numbers) for number in range(PAGES)]


def _page(number: int, numbers: np.random.Generator) -> SiteObservation:
    texts = numbers.integers(0, 400, 30, np.uint64)
    likely = numbers.integers(0, 5, 30).astype(np.float32) / 4
    return SiteObservation("a.test", f"/{number}", texts, texts % np.uint64(9), likely, likely > 1)


async def _write(url: str, seed: int) -> None:
    store = RedisSiteStatistics(RedisSettings(url, timeout=30))
    made = pages()
    order = np.random.default_rng(seed).permutation(PAGES)
    for start in range(0, PAGES, BATCH):
        await store.observe([made[at] for at in order[start : start + BATCH]])
        print(start, flush=True)  # noqa: T201
    await store.close()


if __name__ == "__main__":
    asyncio.run(_write(sys.argv[1], int(sys.argv[2])))
