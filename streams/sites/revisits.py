"""The first pages of each site, which Redis keeps until they are cleaned again.

Redis keeps the position of the newest message of each page. A page is kept from the delivery of its first
document on, and marked once the document of a second cleaning is delivered, unless a newer message has come
meanwhile: then that one is cleaned again, too, so that no document of an older message stays the last. Two
workers may clean a page again at a time, where one of them was cut off. So the position of a marked page is
kept, too, and the newest message is cleaned once more where an older one was delivered after it.

The pages of a site are one key, which expires as its statistics do. Workers of different groups keep pages of
their own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import TypeVar

from dehusk.schemas.documents import Origin
from dehusk.streams.sites.redis_client import Script
from dehusk.streams.sites.redis_store import RedisSiteStatistics, SiteBounds
from dehusk.streams.sites.tally import name_hash

KEY_PREFIX = "dehusk:revisits:2:"
"""With the version of the layout."""
_SCRIPT = Script("revisits.lua")
_DAY = 24 * 60 * 60
_KEY_BYTES = 8
_Arguments = Sequence[bytes | str | int]
"""Arguments of a script for one site, after the command."""


class VisitReason(StrEnum):
    """Reason to remember a page, as `revisits.lua` explains it."""

    FIRST = "first"
    AGAIN = "again"
    LATE = "late"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Visit:
    """A page of a site that was cleaned, and is no copy of another one, or is gone, and its message."""

    site: str
    url: str
    origin: Origin
    known: int | None
    """Pages of the site that were counted beside it; None if it is gone, or Redis was."""
    is_counted: bool
    """True if it is known to have been counted before."""

    @property
    def may_be_kept(self) -> bool:
        """True if an earlier message of it may be kept."""
        return self.known is None or self.is_counted


@dataclass(frozen=True, slots=True)
class FirstPage:
    """A page that is to be cleaned again."""

    site: str
    key: bytes
    """`url_key` of its URL."""
    origin: Origin


def url_key(url: str) -> bytes:
    """Return the key of a page."""
    return name_hash(url, _KEY_BYTES)


def key_prefix(of_site: str) -> str:
    """Return the prefix of the keys of a site, one for each group of workers, by the hash of its name."""
    return f"{KEY_PREFIX}{{{of_site}}}:"


class FirstPages:
    """The first `pages` pages of each site that a group of workers has cleaned.

    All methods raise what `RedisSiteStatistics` raises.
    """

    def __init__(
        self, redis: RedisSiteStatistics, group: str, pages: int, days: float = SiteBounds().days
    ) -> None:
        self._redis = redis
        self._group = group
        self._pages = pages
        self._seconds = int(days * _DAY)

    async def update(self, visits: Iterable[Visit]) -> None:
        """Note newer messages of pages that are kept, before their documents are delivered."""
        repeated = _by_site(visit for visit in visits if visit.may_be_kept)
        await self._run(
            "update", {site: _flat(map(_key_and_position, visits)) for site, visits in repeated.items()}
        )

    async def remember(self, visits: Iterable[Visit]) -> list[str]:
        """Keep pages whose documents are delivered; return the sites of which enough pages are known now."""
        kept = _by_site(visit for visit in visits if self._reason(visit))
        bounds = (self._pages, self._seconds)
        answers = await self._run(
            "remember",
            {
                site: (
                    *bounds,
                    *_flat((*_key_and_position(visit), self._reason(visit) or "") for visit in visits),
                )
                for site, visits in kept.items()
            },
        )
        return [site for site, is_due in zip(kept, answers, strict=True) if is_due]

    async def schedule(self, sites: Iterable[str]) -> None:
        """Keep no further pages of these sites, as the second cleaning of those kept is scheduled."""
        await self._run("schedule", dict.fromkeys(sites, ()))

    async def take(self, sites: Iterable[str]) -> list[FirstPage]:
        """Return the pages of these sites that are still to be cleaned again; no further ones are kept."""
        asked: dict[str, _Arguments] = dict.fromkeys(sites, ())
        answers = await self._run("take", asked)
        return [
            FirstPage(site, key, _origin(position))
            for site, answer in zip(asked, answers, strict=True)
            for key, position in zip(answer[::2], answer[1::2], strict=True)
        ]

    async def catch_up(self, pages: Iterable[FirstPage]) -> list[str]:
        """Note newer messages of pages whose documents are delivered already; return the sites to take.

        Those of older messages may have come behind them, so the pages are to be cleaned again, also if they
        were before.
        """
        told = _by_site(pages)
        answers = await self._run("catch_up", {site: _flat_pages(pages) for site, pages in told.items()})
        return [site for site, is_due in zip(told, answers, strict=True) if is_due]

    async def settle(self, pages: Iterable[FirstPage]) -> None:
        """Mark pages that are done, except those of which a newer message has come."""
        done = _by_site(pages)
        await self._run("settle", {site: _flat_pages(pages) for site, pages in done.items()})

    async def _run(self, command: str, arguments: Mapping[str, _Arguments]) -> list[list[bytes]]:
        calls = [(self._key(site), command, *values) for site, values in arguments.items()]
        return await self._redis.run(_SCRIPT, calls) if calls else []

    def _reason(self, visit: Visit) -> VisitReason | None:
        """Return the reason to remember a page; None if it is no first page and cannot be kept already."""
        if visit.known is None:
            return VisitReason.GONE
        if visit.known < self._pages:
            return VisitReason.FIRST
        if visit.known == 2 * self._pages - 1:
            return VisitReason.LATE
        return VisitReason.AGAIN if visit.is_counted else None

    def _key(self, site: str) -> str:
        return f"{key_prefix(url_key(site).hex())}{url_key(self._group).hex()}"


_OfSite = TypeVar("_OfSite", Visit, FirstPage)


def _by_site(pages: Iterable[_OfSite]) -> dict[str, list[_OfSite]]:
    sites: defaultdict[str, list[_OfSite]] = defaultdict(list)
    for page in pages:
        sites[page.site].append(page)
    return sites


def _flat(parts: Iterable[Sequence[bytes | str]]) -> list[bytes | str | int]:
    return [*chain.from_iterable(parts)]


def _flat_pages(pages: Iterable[FirstPage]) -> _Arguments:
    return _flat((page.key, _position(page.origin)) for page in pages)


def _key_and_position(visit: Visit) -> tuple[bytes, bytes]:
    return url_key(visit.url), _position(visit.origin)


def _position(origin: Origin) -> bytes:
    return f"{origin.partition}/{origin.offset}/{origin.topic}".encode()


def _origin(position: bytes) -> Origin:
    partition, offset, topic = position.decode().split("/")
    return Origin(topic, int(partition), int(offset))
