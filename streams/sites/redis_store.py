"""Site statistics in Redis, shared by all workers.

A site is one key, a hash that holds packed texts and structures, and the pages counted so far, which makes
counting exact under replay. A script, `observe.lua`, counts the pages of a site and reads what is known of
them in one atomic step, so a micro-batch is one round trip.

Keys of pages, texts and structures have 40 bits: in a site with 10,000 texts, one text in 10^8 is taken for
another. Memory per site is bounded whatever it publishes, at the price of three stated errors:

- After `SiteBounds.pages` pages the counts are frozen and stand for the site until it expires: a share p of
  the pages is then known to a standard error of sqrt(p (1 - p) / pages), at most 0.4 % for 20,000 pages.
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
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    RedisClusterException,
    RedisError,
)

from schemas.errors import ConfigurationError, UnavailableError
from schemas.pages import SiteObservation, SiteStatistics
from streams.printable import without_password
from streams.settings import RedisSettings
from streams.sites.packing import (
    KEY_BYTES,
    pack_structures,
    pack_texts,
    page_key,
    tally_to_pack,
    unpack_counts,
)
from streams.sites.tally import Tally, without

_PLAIN_SITE = re.compile(r"[a-z0-9._:-]{1,253}")
_DAY = 24 * 60 * 60
_NO_SITE = " "
"""What no host is called."""
Call = Sequence[bytes | str | int]
"""A script's key and arguments, in its order."""


class Script:
    """A Lua script that reads and writes one key."""

    def __init__(self, name: str) -> None:
        """Read the script of this name, a file beside this one."""
        self.source = Path(__file__).with_name(name).read_bytes()
        self.sha1 = hashlib.sha1(self.source, usedforsecurity=False).hexdigest()


_OBSERVE = Script("observe.lua")


@dataclass(frozen=True, slots=True)
class SiteBounds:
    """What Redis keeps of one site: at most about 200 kB with the defaults."""

    pages: int = 20_000
    """At most 65,535."""
    texts: int = 10_000
    structures: int = 2_000
    days: float = 30
    """How long a site is kept after its last counted page."""


class RedisSiteStatistics:
    """The site statistics that all workers on one Redis, or Redis Cluster, count together."""

    def __init__(self, settings: RedisSettings, bounds: SiteBounds = SiteBounds()) -> None:
        """Connections are made when they are needed.

        Raises:
            ConfigurationError: the URL is none of a Redis.
        """
        self._settings = settings
        self._bounds = (bounds.pages, bounds.texts, bounds.structures, int(bounds.days * _DAY))
        self._client = _create_client(settings)

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
            (_key(site), *self._bounds, *_packed((pages[index].page, tallies[index]) for index in indices))
            for site, indices in of_site.items()
        ]
        replies = dict(zip(chain(*of_site.values()), chain(*await self._call(calls)), strict=True))
        return [without(each, unpack_counts(replies[index], each)) for index, each in enumerate(tallies)]

    async def check(self) -> None:
        """Count a page of no site, which Redis forgets within a second, to meet whatever a page would meet.

        Raises what `observe` raises.
        """
        await self._call([(_key(_NO_SITE), 1, 1, 1, 1, bytes(KEY_BYTES), b"", b"")])

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _call(self, calls: Sequence[Call]) -> list[list[bytes]]:
        """The script's answers, of each call one per page."""
        return await self.run(_OBSERVE, calls)

    async def run(self, script: Script, calls: Sequence[Call]) -> list[list[bytes]]:
        """A script's answers, in one round trip.

        Calls that fail are made again, with the script: their server may not know it yet.

        Raises what `observe` raises.
        """
        with self._errors():
            async with asyncio.timeout(self._settings.timeout):
                replies = await self._pipeline("EVALSHA", script.sha1, calls, raise_on_error=False)
                failed = [at for at, reply in enumerate(replies) if isinstance(reply, Exception)]
                again = await self._pipeline("EVAL", script.source, [calls[at] for at in failed])
                for at, reply in zip(failed, again, strict=True):
                    replies[at] = reply
                return replies

    async def _pipeline(
        self, command: str, script: str | bytes, calls: Sequence[Call], *, raise_on_error: bool = True
    ) -> list[list[bytes]]:
        pipeline = self._client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(command, script, 1, *call)
        replies: list[list[bytes]] = await pipeline.execute(raise_on_error=raise_on_error)
        return replies

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
            raise ConfigurationError(f"Redis refuses to count pages: {error}") from error
        except TimeoutError as error:
            seconds = f"{self._settings.timeout:g} s (--redis-seconds)"
            raise UnavailableError(f"Redis did not answer within {seconds}") from error
        except (RedisError, RedisClusterException, OSError) as error:
            raise UnavailableError(f"Redis does not answer: {error}") from error


def _create_client(settings: RedisSettings) -> "Redis | RedisCluster":
    """A client that tries once more, at once: a pooled connection may have been closed by a restart."""
    kind = RedisCluster if settings.cluster else Redis
    try:
        return kind.from_url(
            settings.url,
            retry=Retry(NoBackoff(), 1),
            socket_timeout=settings.timeout,
            socket_connect_timeout=settings.timeout,
        )
    except ValueError:
        url = without_password(settings.url)
        advice = "redis[s]://[user:password@]host[:port][/number], with %XX for what has a meaning in a URL"
        raise ConfigurationError(f"{url} is no URL of a Redis: {advice}") from None  # it may say the password


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


def _key(site: str) -> str:
    """The key of a site, with the version of its layout: workers of another one count for themselves."""
    name = site if _PLAIN_SITE.fullmatch(site) else _hash(site)
    return f"dehusk:1:{{{name}}}"


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
