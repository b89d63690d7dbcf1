"""The sites that a Redis, or Redis Cluster, keeps: to find, read, forget and restore them.

It walks through the keys with SCAN and asks for a few sites at once, so that workers are served in between.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from dehusk.inference.sites import SiteKey, key_of
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites import revisits
from dehusk.streams.sites.redis_store import (
    KEY_PREFIX,
    PLAIN_SITE,
    Client,
    SiteBounds,
    open_client,
    redis_errors,
    site_key,
)
from dehusk.streams.sites.scripts import Call, Script
from dehusk.streams.sites.stored import CorruptError, State, unpack_name, unpack_state

_SCANNED = 250
"""Keys that Redis looks at for one answer to SCAN: about a millisecond of its time."""
_SUMMARIES = 500
"""Sites that are asked for at once."""
_WHOLE_SITES = 32
"""Those of which everything is asked for: a few MB."""
_KEY = re.compile(rf"{KEY_PREFIX}\{{({PLAIN_SITE.pattern})\}}".encode())
_HASH = re.compile("[0-9a-f]{16}")
"""What a key says instead of a name that is no plain one."""
_SUMMARY = Script("summary.lua")
_IMPORT = Script("import.lua")
_WRONG_TYPE = "WRONGTYPE"
"""What Redis answers where a key is no hash."""
_NO_HASH = "it is no hash"
_GONE = -2
"""The milliseconds that a key has to live which is not there; -1 is for ever."""
Fields = Mapping[bytes, bytes]
"""The hash of a site."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of a site at a glance."""

    site: str
    """Its name, or, where that is no plain host, the hash of it that its key says."""
    name: str | None
    """The name of such a site, where a worker has said it."""
    state: State
    bytes: int
    """What it takes in Redis."""
    seconds_left: float | None
    """Until it expires; None for never."""

    @property
    def last_counted(self) -> datetime | None:
        """When a page of it was last counted; None if it never expires."""
        if self.seconds_left is None:
            return None
        ago = timedelta(days=SiteBounds().days, seconds=-self.seconds_left)
        return (datetime.now(UTC) - ago).replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class WholeSite:
    """A site as it is kept."""

    site: str
    fields: Fields = field(repr=False)
    milliseconds_left: int | None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What is named like a site, and is none."""

    site: str
    """As its key names it; a key that names none; or a line of an export."""
    why: str


class Catalogue:
    """The sites of one Redis, whose workers may go on counting."""

    def __init__(self, settings: RedisSettings, client: Client) -> None:
        self._settings = settings
        self._client = client

    async def names(self) -> AsyncGenerator[list[str | Unreadable], None]:
        """The sites as their keys name them, some at a time; one may come twice, as SCAN has it.

        Raises:
            UnavailableError: Redis did not answer in time.
            ConfigurationError: Redis refuses the user or the commands.
        """
        found: list[str | Unreadable] = []
        with self._errors():
            async for key in self._client.scan_iter(match=f"{KEY_PREFIX}*", count=_SCANNED):
                found.append(_site(key))
                if len(found) == _SUMMARIES:
                    yield found
                    found = []
        if found:
            yield found

    async def counted_by(self) -> SiteKey | None:
        """The key by which most of the sites that are found first are named; None without any.

        Raises what `names` raises.
        """
        async with aclosing(self.names()) as names:
            async for found in names:
                return prevailing_key(each for each in found if isinstance(each, str))
        return None

    async def summaries(self) -> AsyncIterator[Summary | Unreadable]:
        """A summary of each site. Raises what `names` raises."""
        async for found in self.names():
            for unreadable in (each for each in found if isinstance(each, Unreadable)):
                yield unreadable
            sites = [each for each in found if isinstance(each, str)]
            for site, reply in zip(sites, await self._run(_SUMMARY, map(_call, sites)), strict=True):
                if (summary := _summary(site, reply)) is not None:
                    yield summary

    async def summary(self, site: str) -> Summary | Unreadable | None:
        """A summary of one site, by its name; None if there is none. Raises what `names` raises."""
        named = _site(site_key(site).encode())
        if isinstance(named, Unreadable):
            return named
        (reply,) = await self._run(_SUMMARY, [_call(named)])
        return _summary(named, reply)

    async def read(self, sites: Sequence[str]) -> AsyncIterator[WholeSite | Unreadable]:
        """All that is kept of sites, as keys name them, if there is anything. Raises what `names` raises."""
        for start in range(0, len(sites), _WHOLE_SITES):
            asked = sites[start : start + _WHOLE_SITES]
            pipeline = self._client.pipeline(transaction=False)
            for site in asked:
                pipeline.hgetall(site_key(site))
                pipeline.pttl(site_key(site))
            replies = await self._in_time(pipeline.execute(raise_on_error=False))
            for site, fields, lifetime in zip(asked, replies[::2], replies[1::2], strict=True):
                if isinstance(fields, Exception):
                    yield Unreadable(site, _NO_HASH)
                elif fields and lifetime != _GONE:
                    yield WholeSite(site, fields, None if lifetime < 0 else max(1, lifetime))

    async def forget(self, sites: Sequence[str]) -> int:
        """Remove sites, as keys name them; how many there were. Raises what `names` raises."""
        pipeline = self._client.pipeline(transaction=False)
        for site in sites:
            pipeline.execute_command("UNLINK", site_key(site))
        return sum(await self._in_time(pipeline.execute()))

    async def forget_first_pages(self, sites: Iterable[str] | None = None) -> None:
        """Remove what is kept of second cleanings of sites, by default of all: first pages are new ones then.

        Raises what `names` raises.
        """
        prefixes = None if sites is None else {revisits.key_prefix(site).encode() for site in sites}
        with self._errors():
            async for key in self._client.scan_iter(match=f"{revisits.KEY_PREFIX}*", count=_SCANNED):
                if prefixes is None or key[: key.rfind(b":") + 1] in prefixes:
                    await self._client.execute_command("UNLINK", key)

    async def put(
        self, sites: Sequence[tuple[WholeSite, State]], *, replace: bool
    ) -> list[bool | Unreadable]:
        """Put sites in their place, each at once; False where more pages are counted, unless `replace`.

        Raises what `names` raises.
        """
        calls = [_putting(site, state, replace=replace) for site, state in sites]
        replies = await self._run(_IMPORT, calls)
        return [
            Unreadable(site.site, _NO_HASH) if isinstance(reply, Exception) else bool(reply)
            for (site, _), reply in zip(sites, replies, strict=True)
        ]

    async def _run(self, script: Script, calls: Iterable[Call]) -> list[Any]:
        """The answers of a script; an error where what is kept of a site is to blame."""
        return await self._in_time(script.run(self._client, list(calls), raise_on_error=False))

    async def _in_time(self, answers: Awaitable[list[Any]]) -> list[Any]:
        with self._errors():
            async with asyncio.timeout(self._settings.timeout):
                replies = await answers
            for reply in replies:
                if isinstance(reply, Exception) and _WRONG_TYPE not in str(reply):
                    raise reply
            return replies

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with redis_errors(self._settings, "to say what it keeps of sites"):
            yield


@asynccontextmanager
async def open_catalogue(settings: RedisSettings) -> AsyncIterator[Catalogue]:
    """The sites of a Redis. Raises what `open_client` raises."""
    async with open_client(settings) as client:
        yield Catalogue(settings, client)


def prevailing_key(sites: Iterable[str]) -> SiteKey | None:
    """The key by which most sites are named; None where no name tells."""
    keys = Counter(key_of(site) for site in sites if not _HASH.fullmatch(site))
    return keys.most_common(1)[0][0] if keys else None


def _site(key: bytes) -> str | Unreadable:
    """The site of a key."""
    named = _KEY.fullmatch(key)
    if named is None:
        return Unreadable(key.decode("utf-8", "backslashreplace"), "no worker writes such a key")
    return named[1].decode()


def _call(site: str) -> Call:
    return (site_key(site),)


def _summary(site: str, reply: Any) -> Summary | Unreadable | None:  # noqa: ANN401 whatever Redis answers
    """What the script said of a site; None if there is none, any more."""
    if isinstance(reply, Exception):
        return Unreadable(site, _NO_HASH)
    state, name, milliseconds, size = reply
    if size is None:
        return None
    try:
        left = None if milliseconds < 0 else milliseconds / 1000
        return Summary(site, unpack_name(name), unpack_state(state), size, left)
    except CorruptError as error:
        return Unreadable(site, str(error))


def _putting(site: WholeSite, state: State, *, replace: bool) -> Call:
    fields = [part for each in site.fields.items() for part in each]
    lifetime = "" if site.milliseconds_left is None else site.milliseconds_left
    return site_key(site.site), "" if replace else state.pages, lifetime, *fields
