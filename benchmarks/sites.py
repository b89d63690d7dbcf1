"""Cost of the statistics of sites in a Redis, compared with a plain hash and set per site.

The pages are made up, in the proportions of crawled ones: their 110 blocks have 90 different texts, 38 of
which no other page has, and stand in 22 structures, two of which no other page has.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from redis import Redis

from dehusk.schemas.sites import SiteObservation
from dehusk.streams.local.folder import temporary_folder
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import FlowLimits, RedisSettings
from dehusk.streams.sites.redis_store import RedisSiteStatistics
from dehusk.streams.sites.tally import Keys, tally

_BATCH = FlowLimits().batch_pages
_TEMPLATE_TEXTS, _OWN_TEXTS, _COPIES = 52, 38, 20
_STRUCTURES = 20
_PLAIN = """
if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then return end
local known = redis.call('HMGET', KEYS[2], unpack(ARGV, 2))
local values = {}
for at, count in ipairs(known) do
  values[2 * at - 1], values[2 * at] = ARGV[at + 1], tonumber(count or 0) + 1
end
redis.call('HSET', KEYS[2], unpack(values))
return known
"""


@dataclass(frozen=True, slots=True)
class Load:
    """Pages of some sites, which come in any order."""

    sites: int
    pages: int
    """Pages of each site."""

    def batches(self) -> Iterator[list[SiteObservation]]:
        """Return the pages, in micro-batches."""
        order = np.random.default_rng(0).permutation(np.repeat(np.arange(self.sites), self.pages))
        numbers = np.random.default_rng(1)
        for start in range(0, len(order), _BATCH):
            sites = order[start : start + _BATCH].tolist()
            yield [_page(site, numbers) for site in sites]


LOADS = (
    Load(1, 10),
    Load(1, 100),
    Load(1, 1_000),
    Load(1, 10_000),
    Load(1, 100_000),
    Load(200, 500),
    Load(2_000, 10),
    Load(20_000, 1),
)
_MAX_PLAIN_PAGES = 200_000
"""Most pages in the plain store, at four kilobytes each."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a load."""

    load: Load
    store: str
    bytes_per_page: float
    script_microseconds: float
    """Time that Redis says its scripts took, per page."""
    redis_microseconds: float
    """Redis' CPU time, per page: the scripts, and reading, writing and freeing what they are sent."""
    worker_microseconds: float
    """CPU time of this process, per page, without making the pages up."""


def measure(loads: Sequence[Load]) -> Iterator[Cost]:
    """Measure each load in both stores, on a Redis of its own; large sites in the packed one alone."""
    for load in loads:
        yield asyncio.run(_measure(load, PACKED, _packed))
        if load.pages <= 10_000 and load.sites * load.pages <= _MAX_PLAIN_PAGES:
            yield asyncio.run(_measure(load, PLAIN, _plain))


PACKED, PLAIN = "packed", "plain"
Observe = Callable[[Sequence[SiteObservation]], Awaitable[object]]
OpenStore = Callable[[str], AbstractAsyncContextManager[Observe]]


async def _measure(load: Load, name: str, open_store: OpenStore) -> Cost:
    with temporary_folder() as folder, LocalStack(folder, services=["redis"]) as stack:
        url = stack.addresses.redis
        async with open_store(url) as observe:
            with closing(Redis.from_url(url)) as client:
                client.config_set("maxmemory", 0)
                await observe([_page(-1, np.random.default_rng(0))])
                before, spent = _used(client), 0.0  # once what is used for the first time is there
                for batch in load.batches():
                    begun = time.process_time()
                    await observe(batch)
                    spent += time.process_time() - begun
                taken = _used(client) - before
    seconds, scripts, size = taken / (load.sites * load.pages)
    worker = spent / (load.sites * load.pages)
    return Cost(load, name, size, scripts, seconds * 1e6, worker * 1e6)


def _used(client: Redis) -> npt.NDArray[np.float64]:
    """Return the seconds of Redis' processor, the microseconds of scripts, and the bytes of all keys."""
    cpu, commands, pipeline = (
        client.info("cpu"),
        client.info("commandstats"),
        client.pipeline(transaction=False),
    )
    scripts = sum(commands.get(f"cmdstat_{name}", {"usec": 0})["usec"] for name in ("eval", "evalsha"))
    for key in client.scan_iter(count=1000):
        pipeline.memory_usage(key, samples=0)
    return np.array([cpu["used_cpu_user"] + cpu["used_cpu_sys"], scripts, sum(pipeline.execute())])


@asynccontextmanager
async def _packed(url: str) -> AsyncIterator[Observe]:
    statistics = RedisSiteStatistics(RedisSettings(url, timeout=60))
    try:
        yield statistics.observe
    finally:
        await statistics.close()


@asynccontextmanager
async def _plain(url: str) -> AsyncIterator[Observe]:
    """Store per site a set of pages and a hash of counts: of each text, and three of each structure."""
    with closing(Redis.from_url(url)) as client:

        async def observe(pages: Sequence[SiteObservation]) -> None:
            pipeline = client.pipeline(transaction=False)
            for page in pages:
                own = tally(page)
                fields = [key.tobytes() for key in own.texts]
                fields += [name + key.tobytes() for key in own.structures for name in (b"p", b"b", b"l")]
                pipeline.eval(_PLAIN, 2, f"{page.site}:pages", f"{page.site}:texts", page.page[:8], *fields)
            pipeline.execute()

        yield observe


def _page(site: int, numbers: np.random.Generator) -> SiteObservation:
    template = _hashes(site, numbers.choice(2 * _TEMPLATE_TEXTS, _TEMPLATE_TEXTS, replace=False))
    own = numbers.integers(0, 2**64, _OWN_TEXTS, np.uint64)
    texts = np.concatenate([template, own, numbers.choice(template, _COPIES)])
    structures = _hashes(site, 2000 + numbers.integers(0, _STRUCTURES, len(texts)))
    structures[-2:] = numbers.integers(0, 2**64, 2, np.uint64)
    name, likely = numbers.bytes(8).hex(), numbers.random(len(texts), np.float32)
    return SiteObservation(f"{site}.example", name, texts, structures, likely, chosen=likely >= 0.5)


def _hashes(site: int, numbers: npt.NDArray[np.int64]) -> Keys:
    """Return fingerprints of things of a site."""
    return (numbers.astype(np.uint64) + np.uint64(site % 2**32) * np.uint64(2**20)) * np.uint64(
        0x9E3779B97F4A7C15
    )


HEAD = "   sites pages each    store bytes/page scripts us/page Redis us/page worker us/page"
"""Heads of the columns of a row."""


def row(cost: Cost) -> str:
    """Return a cost as a row of a table."""
    numbers = (
        cost.bytes_per_page,
        cost.script_microseconds,
        cost.redis_microseconds,
        cost.worker_microseconds,
    )
    columns = zip(numbers, (10, 15, 13, 14), strict=True)
    load = f"{cost.load.sites:8,} {cost.load.pages:10,} {cost.store:>8} "
    return load + " ".join(f"{number:{width},.0f}" for number, width in columns)
