"""Site statistics in Redis, shared by all workers.

A site is one key, a hash that holds packed texts and structures, and keys of the pages counted so far, which
make counting exact under replay, and of their contents, by which copies are not counted. A script,
`observe.lua`, counts the pages of a site and reads what is known of them in one atomic step, so a micro-batch
is one round trip.

Keys of texts and structures have 37 bits, those of pages and contents 40: in a site with 10,000 texts, one
text in 10^7 is taken for another. Memory per site is bounded whatever it publishes, and old pages are
forgotten, at the price of four stated errors:

- After `SiteBounds.pages` pages the counts are frozen and stand for the site until they are halved: a share p
  of the pages is then known to a standard error of sqrt(p (1 - p) / pages), at most 0.4 % for 20,000 pages.
- Counts that began `SiteBounds.half_life_days` ago, or were halved then, are halved at the next page of the
  site, rounded down, and it is forgotten which pages were counted. So a page weighs half as much in each
  period as in the one before, and what was on one page alone is forgotten. A page that comes again is counted
  again, as it is now; of what it added before it sees a half, for each text less than half a page too much.
- When a site has more than `SiteBounds.texts` different texts, the rarer half is forgotten, and the highest
  count among it is taken off the others' counts: frequent-item counting (Misra and Gries 1982, in the form of
  Agarwal et al., PODS 2012) that prunes when it is full. With n texts counted, repetitions on other pages
  included, and at most m kept: a count is never too high, and too low by at most 2 n / m. Until the first
  pruning counts are exact.
- When a site has more than `SiteBounds.structures` structures, the half on fewer pages is forgotten; what is
  known of one of these begins anew with its next page. The others stay exact.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.copies import content_keys
from dehusk.streams.sites.redis_client import Call, RedisClient, Script, ServerUse, memory_advice
from dehusk.streams.sites.tally import (
    KEY_BITS,
    KEY_BYTES,
    Tally,
    name_hash,
    pack_structures,
    pack_texts,
    tally,
    unpack_counts,
    without,
)
from dehusk.streams.wording import printable

PLAIN_SITE = re.compile(r"[A-Za-z0-9._:/~%@-]{1,253}")
"""Names of sites that stand in keys as they are; other names are hashed."""
LAYOUT = 3
"""Version of the layout."""
KEY_PREFIX = f"dehusk:{LAYOUT}:"
"""With the version of the layout: workers of another one count for themselves."""
_SCRIPT = Script("observe.lua")
_TASK = "to count pages"
_DAY = 24 * 60 * 60
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SiteBounds:
    """Bounds of one site in Redis: at most about 500 kB with the defaults."""

    pages: int = 20_000
    """At most 65,535."""
    texts: int = 10_000
    structures: int = 2_000
    days: float = 30
    """Days that a site is kept after its last counted page."""
    half_life_days: float = 15
    """Age at which counts are halved."""


class RedisSiteStatistics:
    """Site statistics that all workers on one Redis, or Redis Cluster, count together.

    All coroutines but `close` raise:
        UnavailableError: Redis did not answer in time; what was counted is not counted again.
        ConfigurationError: Redis refuses the user or the commands.
    """

    def __init__(self, settings: RedisSettings, bounds: SiteBounds = SiteBounds()) -> None:
        """Create the client. Raises what `RedisClient` raises."""
        seconds = (int(days * _DAY) for days in (bounds.days, bounds.half_life_days))
        self._bounds = (bounds.pages, bounds.texts, bounds.structures, *seconds)
        self._redis = RedisClient(settings)
        self._has_advised = False

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        """Count the pages that were not counted before, and return what is known without each, in order."""
        if not pages:
            return []
        tallies = [tally(page, KEY_BITS) for page in pages]
        indices_by_site = _indices_by_site(pages)
        calls: list[Call] = [
            (
                site_key(site),
                *self._bounds,
                *_pack_arguments((pages[index], tallies[index]) for index in indices),
            )
            for site, indices in indices_by_site.items()
        ]
        replies: dict[int, bytes] = {}
        answers = await self.run(_SCRIPT, calls)
        for (site, indices), answer in zip(indices_by_site.items(), answers, strict=True):
            replies.update(zip(indices, answer, strict=False))
            if len(answer) > len(indices):
                _log.warning("what Redis kept of the site %s is damaged: it is counted anew", printable(site))
        return [without(each, unpack_counts(replies[index], each)) for index, each in enumerate(tallies)]

    async def check(self) -> None:
        """Count a page of no site on each server, which meets any error that a page would; it expires soon.

        Once all servers count, the log names those that are not set up for sites that grow in number.
        """
        nothing = (1, 1, 1, 1, _DAY, bytes(KEY_BYTES), b"", b"")
        async with self._redis.in_time(_TASK):
            if not self._has_advised:
                await self._redis.check_whole()
            keys = await self._redis.checked_keys()
        await self.run(_SCRIPT, [(key, *nothing) for key in keys])
        if not self._has_advised:
            await self._advise()
            self._has_advised = True

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def run(self, script: Script, calls: Sequence[Call]) -> list[list[bytes]]:
        """Run a script for each call in one round trip, and return the answers."""
        async with self._redis.in_time(_TASK):
            return await self._redis.run(script, calls)

    async def ping(self) -> None:
        """Ask all servers for a sign of life."""
        async with self._redis.in_time("a sign of life"):
            await self._redis.ping()

    async def use(self) -> ServerUse:
        """Return the use of the servers."""
        async with self._redis.in_time("to tell of its use"):
            return await self._redis.use()

    async def _advise(self) -> None:
        """Warn of servers that evict no site when their memory is full, unless they hide their settings."""
        try:
            async with self._redis.in_time("to tell of its memory"):
                for server in await self._redis.memory():
                    if advice := memory_advice(server):
                        _log.warning("%s", advice)
        except ConfigurationError as error:
            _log.info("%s", error)


def site_key(site: str) -> str:
    """Return the key of a site."""
    return f"{KEY_PREFIX}{{{site if PLAIN_SITE.fullmatch(site) else name_hash(site, 8).hex()}}}"


def _indices_by_site(pages: Sequence[SiteObservation]) -> dict[str, list[int]]:
    indices: defaultdict[str, list[int]] = defaultdict(list)
    for index, page in enumerate(pages):
        indices[page.site].append(index)
    return indices


def _pack_arguments(pages: Iterable[tuple[SiteObservation, Tally]]) -> Iterator[bytes]:
    """Yield the script's arguments for pages and their tallies."""
    for page, own in pages:
        yield name_hash(page.page, KEY_BYTES) + b"".join(content_keys(page, KEY_BYTES))
        yield pack_texts(own)
        yield pack_structures(own)
