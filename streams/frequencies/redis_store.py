"""Block frequencies in Redis, shared by all workers.

A site has two keys, in one hash slot: the set of the pages counted so far, which makes counting exact under
replay, and the count of each block. A script, `observe.lua`, counts a page and reads its blocks in one
atomic step, so a micro-batch is one round trip.

Memory per site is bounded whatever it publishes, at the price of two stated errors:

- After `SiteBounds.pages` pages the counts are frozen and stand for the site until it expires: a share p of
  the pages is then known to a standard error of sqrt(p (1 - p) / pages), at most 0.4 % for 20,000 pages.
- When a site has more than `SiteBounds.blocks` different blocks, the rarer half is forgotten and its highest
  count becomes the floor: lossy counting (Manku and Motwani, VLDB 2002, section 4.2) that prunes when it is
  full. With n blocks counted, repetitions on other pages included, and at most m kept: a count is never too
  high, and too low by at most the floor, which is at most 2 n / m. Until the first pruning counts are exact.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    NoScriptError,
    RedisClusterException,
    RedisError,
)

from schemas.errors import ConfigurationError, UnavailableError
from schemas.pages import BlockFrequencies
from streams.frequencies.store import SiteObservation
from streams.printable import without_password
from streams.settings import RedisSettings

_SCRIPT = Path(__file__).with_name("observe.lua").read_bytes()
_SCRIPT_SHA1 = hashlib.sha1(_SCRIPT, usedforsecurity=False).hexdigest()
_MAX_PAGE_BLOCKS = 10_000
"""Different blocks of one page that are counted; the others are answered as if no other page had them."""
_PLAIN_SITE = re.compile(r"[a-z0-9._:-]{1,253}")
_DAY = 24 * 60 * 60
_NO_SITE = " "
"""What no host is called."""
_Call = Sequence[bytes | str | int]
"""The script's keys and arguments, in its order."""


@dataclass(frozen=True, slots=True)
class SiteBounds:
    """What Redis keeps of one site: at most about 3 MB with the defaults."""

    pages: int = 20_000
    blocks: int = 20_000
    days: float = 30
    """How long a site is kept after its last counted page."""


class RedisFrequencyStore:
    """The block frequencies that all workers on one Redis, or Redis Cluster, count together."""

    def __init__(self, settings: RedisSettings, bounds: SiteBounds = SiteBounds()) -> None:
        """Connections are made when they are needed.

        Raises:
            ConfigurationError: the URL is none of a Redis.
        """
        self._settings = settings
        self._bounds = (bounds.pages, bounds.blocks, int(bounds.days * _DAY))
        self._client = _create_client(settings)

    async def observe(self, pages: Sequence[SiteObservation]) -> list[BlockFrequencies]:
        """Count the pages that were not counted before and answer the counts of all, in order.

        Raises:
            UnavailableError: Redis did not answer in time; what was counted is not counted again.
            ConfigurationError: Redis refuses the user or the commands.
        """
        if not pages:
            return []
        blocks = [np.unique(page.fingerprints, return_inverse=True) for page in pages]
        calls = [
            (*_keys(page.site), _hash(page.page), _packed(distinct), *self._bounds)
            for page, (distinct, _) in zip(pages, blocks, strict=True)
        ]
        replies = await self._call(calls)
        return [_frequencies(reply, inverse) for reply, (_, inverse) in zip(replies, blocks, strict=True)]

    async def check(self) -> None:
        """Count a page of no site, which Redis forgets within a second, to meet whatever a page would meet.

        Raises what `observe` raises.
        """
        await self._call([(*_keys(_NO_SITE), b"", b"", 1, 1, 1)])

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _call(self, calls: Sequence[_Call]) -> list[bytes]:
        """The script's answers; a server that does not know it yet is sent it, and asked again."""
        with self._errors():
            async with asyncio.timeout(self._settings.timeout):
                try:
                    return await self._pipeline("EVALSHA", _SCRIPT_SHA1, calls)
                except NoScriptError:
                    return await self._pipeline("EVAL", _SCRIPT, calls)

    async def _pipeline(self, command: str, script: str | bytes, calls: Sequence[_Call]) -> list[bytes]:
        pipeline = self._client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(command, script, 2, *call)
        replies: list[bytes] = await pipeline.execute()
        return replies

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
            raise ConfigurationError(f"Redis refuses to count block frequencies: {error}") from error
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


def _keys(site: str) -> tuple[str, str]:
    """The keys of a site; the braces put both in one slot of a cluster."""
    name = site if _PLAIN_SITE.fullmatch(site) else _hash(site).hex()
    return f"dehusk:{{{name}}}:pages", f"dehusk:{{{name}}}:blocks"


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _packed(distinct: npt.NDArray[np.uint64]) -> bytes:
    """The fingerprints as the script reads them; of too many the lowest, so that pages agree which."""
    return distinct[:_MAX_PAGE_BLOCKS].astype("<u8").tobytes()


def _frequencies(reply: bytes, inverse: npt.NDArray[np.intp]) -> BlockFrequencies:
    """The counts of a page's blocks, from those of its distinct blocks."""
    answer = np.frombuffer(reply, "<u4")
    counts = np.ones(inverse.max(initial=-1) + 1, np.uint32)
    counts[: len(answer) - 1] = answer[1:]
    return BlockFrequencies(int(answer[0]), counts[inverse])
