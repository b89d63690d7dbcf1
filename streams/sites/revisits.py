"""The first pages of each site, as Redis keeps them until they are cleaned again.

Of each page there is the position of its newest message. A page is kept from the delivery of its first
document on, and forgotten once the document of a second cleaning is delivered, unless a newer message has
come meanwhile: then that one is cleaned again, too, so that no document of an older message stays the last.

The pages of a site are one key, which expires as its statistics do. Workers of different groups keep pages of
their own.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from dehusk.schemas.documents import Origin
from dehusk.streams.sites.redis_store import SiteBounds
from dehusk.streams.sites.scripts import Call, Script

KEY_PREFIX = "dehusk:revisits:1:"
"""With the version of the layout."""
_SCRIPT = Script("revisits.lua")
_DAY = 24 * 60 * 60
_KEY_BYTES = 8


class Why(StrEnum):
    """Why a page is told; `revisits.lua` says what each means."""

    FIRST = "first"
    AGAIN = "again"
    LATE = "late"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Visit:
    """A page of a site that was cleaned, or has gone, and its message."""

    site: str
    url: str
    origin: Origin
    known: int | None
    """Pages of the site that were counted beside it; None where it has gone."""
    is_counted: bool
    """Whether it had been counted before."""


@dataclass(frozen=True, slots=True)
class FirstPage:
    """A page that is to be cleaned again."""

    site: str
    key: bytes
    """What `url_key` says of its URL."""
    origin: Origin


class Scripts(Protocol):
    """What runs scripts in Redis."""

    async def run(self, script: Script, calls: Sequence[Call]) -> list[list[bytes]]:
        """The answers of a script to each call.

        Raises:
            UnavailableError: Redis did not answer.
            ConfigurationError: Redis refuses the user or the commands.
        """
        ...


def url_key(url: str) -> bytes:
    """What a page is kept under."""
    return hashlib.blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


def key_prefix(site: str) -> str:
    """What the keys of a site begin with, one for each group of workers."""
    return f"{KEY_PREFIX}{{{url_key(site).hex()}}}:"


class FirstPages:
    """The first `pages` pages of each site that a group of workers has cleaned.

    All methods raise what `Scripts.run` raises.
    """

    def __init__(self, redis: Scripts, group: str, pages: int, days: float = SiteBounds().days) -> None:
        self._redis = redis
        self._group = group
        self._pages = pages
        self._seconds = int(days * _DAY)

    async def update(self, visits: Iterable[Visit]) -> None:
        """Take note of newer messages of pages that are kept, before their documents are delivered."""
        moved = _by_site(visit for visit in visits if visit.known is None or visit.is_counted)
        await self._run("update", {site: _flat(each, _place) for site, each in moved.items()})

    async def remember(self, visits: Iterable[Visit]) -> list[str]:
        """Keep pages whose documents are delivered; answers the sites of which enough are known now."""
        told = _by_site(visit for visit in visits if self._why(visit))
        bounds = (self._pages, self._seconds)
        answers = await self._run(
            "remember", {site: (*bounds, *_flat(each, self._told)) for site, each in told.items()}
        )
        return [site for site, is_due in zip(told, answers, strict=True) if is_due]

    async def schedule(self, sites: Iterable[str]) -> None:
        """Keep no further pages of these sites: it is scheduled that those kept are cleaned again."""
        await self._run("schedule", dict.fromkeys(sites, ()))

    async def take(self, sites: Iterable[str]) -> list[FirstPage]:
        """The pages of these sites that are still to be cleaned again; no further ones are kept."""
        asked: dict[str, Sequence[bytes | str | int]] = dict.fromkeys(sites, ())
        answers = await self._run("take", asked)
        return [
            FirstPage(site, key, _origin(position))
            for site, answer in zip(asked, answers, strict=True)
            for key, position in zip(answer[::2], answer[1::2], strict=True)
        ]

    async def settle(self, pages: Iterable[FirstPage]) -> None:
        """Forget pages that are dealt with, but those of which a newer message has come."""
        done = _by_site(pages)
        await self._run("settle", {site: _flat(each, _kept) for site, each in done.items()})

    async def _run(
        self, command: str, arguments: dict[str, Sequence[bytes | str | int]]
    ) -> list[list[bytes]]:
        calls = [(self._key(site), command, *each) for site, each in arguments.items()]
        return await self._redis.run(_SCRIPT, calls) if calls else []

    def _why(self, visit: Visit) -> Why | None:
        """Why a page is told, or None where it is neither one of the first nor may be kept already."""
        if visit.known is None:
            return Why.GONE
        if visit.known < self._pages:
            return Why.FIRST
        if visit.known == 2 * self._pages - 1:
            return Why.LATE
        return Why.AGAIN if visit.is_counted else None

    def _told(self, visit: Visit) -> tuple[bytes, bytes, str]:
        return (*_place(visit), self._why(visit) or "")

    def _key(self, site: str) -> str:
        return f"{key_prefix(site)}{url_key(self._group).hex()}"


_OfSite = TypeVar("_OfSite", Visit, FirstPage)


def _by_site(pages: Iterable[_OfSite]) -> dict[str, list[_OfSite]]:
    found: defaultdict[str, list[_OfSite]] = defaultdict(list)
    for page in pages:
        found[page.site].append(page)
    return found


def _flat(
    pages: Iterable[_OfSite], told: Callable[[_OfSite], Sequence[bytes | str]]
) -> list[bytes | str | int]:
    return [part for page in pages for part in told(page)]


def _place(visit: Visit) -> tuple[bytes, bytes]:
    return url_key(visit.url), _position(visit.origin)


def _kept(page: FirstPage) -> tuple[bytes, bytes]:
    return page.key, _position(page.origin)


def _position(origin: Origin) -> bytes:
    return f"{origin.partition}/{origin.offset}/{origin.topic}".encode()


def _origin(position: bytes) -> Origin:
    partition, offset, topic = position.decode().split("/")
    return Origin(topic, int(partition), int(offset))
