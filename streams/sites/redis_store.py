"""Site statistics in Redis, shared by all workers.

A site is one key, a hash that holds packed texts and structures, and the pages counted so far, which makes
counting exact under replay. A script, `observe.lua`, counts the pages of a site and reads what is known of
them in one atomic step, so a micro-batch is one round trip.

Keys of texts and structures have 37 bits, those of pages 40: in a site with 10,000 texts, one text in 10^7 is
taken for another. Memory per site is bounded whatever it publishes, and old pages are forgotten, at the price
of four stated errors:

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

import asyncio
import hashlib
import logging
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    MovedError,
    NoPermissionError,
    RedisClusterException,
    RedisError,
    ResponseError,
)

from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.schemas.pages import SiteObservation, SiteStatistics
from dehusk.streams.printable import without_password
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.packing import (
    KEY_BYTES,
    pack_structures,
    pack_texts,
    page_key,
    tally_to_pack,
    unpack_counts,
)
from dehusk.streams.sites.redis_trouble import is_of_a_cluster, meaning, slowness
from dehusk.streams.sites.scripts import Call, Script
from dehusk.streams.sites.server_memory import HOW_TO_BOUND, ServerUse, memory_advice, server_use
from dehusk.streams.sites.tally import Tally, without
from dehusk.streams.tls import tls_context

_SCRIPT = Script("observe.lua")
PLAIN_SITE = re.compile(r"[A-Za-z0-9._:/~%@-]{1,253}")
"""The names of sites that keys say as they are; of others they say a hash."""
KEY_PREFIX = "dehusk:2:"
"""With the version of the layout: workers of another one count for themselves."""
Client: TypeAlias = "Redis | RedisCluster"
_DAY = 24 * 60 * 60
_CHECKED_KEYS = tuple(f"dehusk:check:{{{number}}}" for number in range(256))
"""Keys of no site, of which each server of a cluster has some."""
_REFUSALS = (AuthenticationError, AuthorizationError, NoPermissionError)
_NO_MEMORY, _NO_RIGHT = "used memory > 'maxmemory'", "can't run this command"
_NO_CLUSTER = "Cluster mode is not enabled"
"""What Redis says in an error, wherever in its words."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SiteBounds:
    """What Redis keeps of one site: at most about 200 kB with the defaults."""

    pages: int = 20_000
    """At most 65,535."""
    texts: int = 10_000
    structures: int = 2_000
    days: float = 30
    """How long a site is kept after its last counted page."""
    half_life_days: float = 15
    """How old counts get before they are halved."""


class RedisSiteStatistics:
    """The site statistics that all workers on one Redis, or Redis Cluster, count together."""

    def __init__(self, settings: RedisSettings, bounds: SiteBounds = SiteBounds()) -> None:
        """Connections are made when they are needed.

        Raises:
            ConfigurationError: the URL is none of a Redis, or a file of TLS cannot be read.
        """
        self._settings = settings
        seconds = (int(days * _DAY) for days in (bounds.days, bounds.half_life_days))
        self._bounds = (bounds.pages, bounds.texts, bounds.structures, *seconds)
        self._client = create_client(settings)
        self._has_advised = False

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        """Count the pages that were not counted before and answer what is known without each, in order.

        Raises:
            UnavailableError: Redis did not answer in time; what was counted is not counted again.
            ConfigurationError: Redis refuses the user or the commands.
        """
        if not pages:
            return []
        tallies = [tally_to_pack(page) for page in pages]
        of_site = _indices_by_site(pages)
        calls: list[Call] = [
            (
                site_key(site),
                *self._bounds,
                *_packed((pages[index].page, tallies[index]) for index in indices),
            )
            for site, indices in of_site.items()
        ]
        replies = dict(zip(chain(*of_site.values()), chain(*await self._call(calls)), strict=True))
        return [without(each, unpack_counts(replies[index], each)) for index, each in enumerate(tallies)]

    async def check(self) -> None:
        """Count a page of no site on each server, to meet whatever a page would meet; it is soon forgotten.

        Once they all count, the log says which of them are not set up for sites that grow in number.

        Raises what `observe` raises.
        """
        nothing = (1, 1, 1, 1, _DAY, bytes(KEY_BYTES), b"", b"")
        await self._call([(key, *nothing) for key in await self._keys_of_no_site()])
        if not self._has_advised:
            await self._advise()
            self._has_advised = True

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _call(self, calls: Sequence[Call]) -> list[list[bytes]]:
        """The answers of the script that counts, of each call one per page."""
        return await self.run(_SCRIPT, calls)

    async def run(self, script: Script, calls: Sequence[Call]) -> list[list[bytes]]:
        """A script's answers to calls, in one round trip.

        After an error connections are made anew: they may lead to a server that is none for writing any more.

        Raises what `observe` raises.
        """
        with redis_errors(self._settings, "to count pages"):
            async with asyncio.timeout(self._settings.timeout):
                try:
                    return await script.run(self._client, calls)
                except ResponseError:
                    await self._disconnect()
                    raise

    async def _disconnect(self) -> None:
        """Close the connections that nobody uses; a cluster's client follows its servers by itself."""
        if isinstance(self._client, Redis):
            await self._client.connection_pool.disconnect(inuse_connections=False)

    async def _keys_of_no_site(self) -> list[str]:
        """A key on each server that has keys."""
        if isinstance(self._client, Redis):
            return [_CHECKED_KEYS[0]]
        with redis_errors(self._settings, "to count pages"):
            async with asyncio.timeout(self._settings.timeout):
                await self._client.initialize()
            return list({self._client.get_node_from_key(key): key for key in _CHECKED_KEYS}.values())

    async def _advise(self) -> None:
        """Warn of servers that forget no site when their memory is full; without leave to look, of none."""
        try:
            with redis_errors(self._settings, "to tell of its memory"):
                async with asyncio.timeout(self._settings.timeout):
                    for server in await self._info("memory"):
                        if advice := memory_advice(server):
                            _log.warning("%s", advice)
        except ConfigurationError as error:
            _log.info("%s", error)

    async def use(self) -> ServerUse:
        """What the servers hold, and how often they were asked.

        Raises what `observe` raises.
        """
        with redis_errors(self._settings, "to tell of its use"):
            async with asyncio.timeout(self._settings.timeout):
                memory, stats = await self._info("memory"), await self._info("stats")
        return server_use(memory, stats)

    async def _info(self, section: str) -> list[Mapping[str, Any]]:
        """What each server tells of itself."""
        if isinstance(self._client, Redis):
            return [await self._client.info(section)]
        answers = await self._client.info(section, target_nodes=RedisCluster.PRIMARIES)
        return list(answers.values()) if len(self._client.get_primaries()) > 1 else [answers]


@contextmanager
def redis_errors(settings: RedisSettings, task: str) -> Iterator[None]:
    """Errors of the client as dehusk's own; `task` is what Redis may refuse, e.g. `to count pages`."""
    try:
        yield
    except _REFUSALS as error:
        raise ConfigurationError(f"Redis refuses {task}: {meaning(str(error), settings)}") from error
    except TimeoutError as error:
        raise UnavailableError(slowness(settings)) from error
    except (RedisError, RedisClusterException, OSError) as error:
        raise _trouble(error, settings, task) from error


def _trouble(error: Exception, settings: RedisSettings, task: str) -> DehuskError:
    """What an error means that the client raises, or that Redis or a script of it answers."""
    said = str(error)
    if isinstance(error.__cause__, _REFUSALS):
        return ConfigurationError(f"Redis refuses {task}: {meaning(str(error.__cause__), settings)}")
    if _NO_MEMORY in said:
        return UnavailableError(f"Redis has no memory left (OOM): {HOW_TO_BOUND}")
    if _NO_RIGHT in said:
        return ConfigurationError(f"Redis refuses {task}: {meaning(said, settings)}")
    if isinstance(error, MovedError) and not settings.cluster:
        return ConfigurationError(f"Redis refuses {task}: {is_of_a_cluster(settings)}")
    if _NO_CLUSTER in said:
        return ConfigurationError(f"Redis refuses {task}: {meaning(said, settings)}")
    return UnavailableError(f"Redis does not answer: {meaning(said, settings)}")


@asynccontextmanager
async def open_client(settings: RedisSettings) -> AsyncIterator[Client]:
    """A client, whose connections are made when they are needed and closed at the end.

    Raises what `create_client` raises.
    """
    client = create_client(settings)
    try:
        yield client
    finally:
        await client.aclose()


def create_client(settings: RedisSettings) -> Client:
    """A client that tries once more, at once: a pooled connection may have been closed by a restart.

    Raises:
        ConfigurationError: the URL is none of a Redis, or a file of TLS cannot be read.
    """
    kind = RedisCluster if settings.cluster else Redis
    try:
        return kind.from_url(
            settings.url,
            retry=Retry(NoBackoff(), 1),
            socket_timeout=settings.timeout,
            socket_connect_timeout=settings.timeout,
            **_tls_options(settings),
        )
    except RedisClusterException as error:
        raise ConfigurationError(
            f"{without_password(settings.url)} is no URL of a Redis Cluster: it has the database 0 alone"
        ) from error
    except ValueError:
        url = without_password(settings.url)
        advice = "redis[s]://[user:password@]host[:port][/number], with %XX for what has a meaning in a URL"
        raise ConfigurationError(f"{url} is no URL of a Redis: {advice}") from None  # it may say the password


def _tls_options(settings: RedisSettings) -> dict[str, Any]:
    files = (settings.ca_file, settings.certificate_file, settings.key_file)
    tls_context(*files)
    names = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
    return {name: str(file) for name, file in zip(names, files, strict=True) if file}


def _indices_by_site(pages: Sequence[SiteObservation]) -> dict[str, list[int]]:
    """Which of the pages each site has."""
    indices: defaultdict[str, list[int]] = defaultdict(list)
    for index, page in enumerate(pages):
        indices[page.site].append(index)
    return indices


def _packed(pages: Iterable[tuple[str, Tally]]) -> Iterator[bytes]:
    """What the script reads of each page, by its name and its tally."""
    for name, page in pages:
        yield page_key(name)
        yield pack_texts(page)
        yield pack_structures(page)


def site_key(site: str) -> str:
    """The key of a site."""
    return f"{KEY_PREFIX}{{{site if PLAIN_SITE.fullmatch(site) else _hash(site)}}}"


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
