"""The sites that a Redis, or Redis Cluster, keeps: listed, found by name, forgotten, exported and imported.

The keys are walked with SCAN, and a few sites are read at once, so that workers are served in between.
"""

import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any

from dehusk.inference.sites import SiteKey, host_of, key_of, open_naming
from dehusk.streams.settings import MIB, RedisSettings
from dehusk.streams.sites import revisits
from dehusk.streams.sites.redis_client import Call, RedisClient, Script
from dehusk.streams.sites.redis_store import KEY_PREFIX, PLAIN_SITE, SiteBounds, site_key
from dehusk.streams.sites.stored import (
    CorruptError,
    SiteSizes,
    WholeSite,
    read_header,
    read_line,
    unpack_name,
    unpack_sizes,
    write_line,
)

_BATCH_BYTES = MIB
"""Bytes of lines whose sites are imported in one batch."""
_SCANNED = 250
"""Keys that Redis visits for one answer to SCAN: about a millisecond of its time."""
_SUMMARIES = 500
"""Sites that are summarized at once."""
_WHOLE_SITES = 32
"""Sites that are read at once: a few MB."""
_KEY = re.compile(rf"{KEY_PREFIX}\{{({PLAIN_SITE.pattern})\}}".encode())
_HASH = re.compile("[0-9a-f]{16}")
"""A name in a key that stands for one that is not plain."""
_SUMMARY = Script("summary.lua")
_IMPORT = Script("import.lua")
_WRONG_TYPE = "WRONGTYPE"
"""Error of Redis for a command on a key of another type."""
_NO_HASH = "it is no hash"
_GONE = -2
"""Milliseconds to live of a missing key; -1 is for ever."""
_TASK = "to say what it keeps of sites"
_MAX_COMPARED = 100_000
"""Sites that are compared with a misspelt name."""
_MAX_SIMILAR = 3


@dataclass(frozen=True, slots=True)
class Summary:
    """A site at a glance."""

    site: str
    """Its name, or, if that is not plain, the hash of it in its key."""
    name: str | None
    """The name of the hash, if a worker has written it."""
    sizes: SiteSizes
    bytes: int
    """Memory of Redis that it takes."""
    seconds_left: float | None
    """Time until it expires; None for never."""

    @property
    def last_counted(self) -> datetime | None:
        """Time of its last counted page; None if it never expires, or later than sites do by default."""
        lifetime = timedelta(days=SiteBounds().days)
        if self.seconds_left is None or self.seconds_left > lifetime.total_seconds():
            return None
        return (datetime.now(UTC) + timedelta(seconds=self.seconds_left) - lifetime).replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A key or a line that names a site and holds none."""

    site: str
    """Name in its key, or a key without one, or the number of a line of an export."""
    why: str


Tell = Callable[[Unreadable], None]


@dataclass(slots=True)
class ImportCounts:
    """Counts of an import."""

    put: int = 0
    left: int = 0
    """Sites of which more pages are counted in the Redis already."""
    unreadable: int = 0
    named_by: SiteKey | None = None
    """Key of most imported sites, if the export names it."""
    others_named_by: SiteKey | None = None
    """Key of most sites that were there already, if any."""


class Catalogue:
    """The sites of one Redis, whose workers may go on counting.

    All methods raise:
        UnavailableError: Redis did not answer in time.
        ConfigurationError: Redis refuses the user or the commands.
    """

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis

    async def names(self) -> AsyncGenerator[tuple[list[str], list[Unreadable]], None]:
        """Yield the sites as their keys name them, some at a time; SCAN may yield one twice."""
        sites: list[str] = []
        unreadable: list[Unreadable] = []
        with self._redis.errors(_TASK):
            await self._redis.check_whole()
            async for key in self._redis.raw.scan_iter(match=f"{KEY_PREFIX}*", count=_SCANNED):
                if isinstance(site := _read_key(key), str):
                    sites.append(site)
                else:
                    unreadable.append(site)
                if len(sites) + len(unreadable) == _SUMMARIES:
                    yield sites, unreadable
                    sites, unreadable = [], []
        if sites or unreadable:
            yield sites, unreadable

    async def counted_by(self) -> SiteKey | None:
        """Return the key by which most of the sites found first are named; None without any site."""
        async with aclosing(self.names()) as names:
            async for sites, _ in names:
                return prevailing_key(sites)
        return None

    async def summaries(self) -> AsyncIterator[Summary | Unreadable]:
        """Yield a summary of each site."""
        async for sites, unreadable in self.names():
            for each in unreadable:
                yield each
            for site, reply in zip(sites, await self._run(_SUMMARY, map(_call, sites)), strict=True):
                if (summary := _summary(site, reply)) is not None:
                    yield summary

    async def summary(self, site: str) -> Summary | Unreadable | None:
        """Return a summary of the site of a name; None if there is none."""
        named = _read_key(site_key(site).encode())
        if isinstance(named, Unreadable):
            return named
        (reply,) = await self._run(_SUMMARY, [_call(named)])
        return _summary(named, reply)

    async def read(self, sites: Sequence[str]) -> AsyncIterator[WholeSite | Unreadable]:
        """Yield all that is kept of sites, by their names in keys; missing ones are left out."""
        for start in range(0, len(sites), _WHOLE_SITES):
            asked = sites[start : start + _WHOLE_SITES]
            pipeline = self._redis.raw.pipeline(transaction=False)
            for site in asked:
                pipeline.hgetall(site_key(site))
                pipeline.pttl(site_key(site))
            replies = await self._in_time(pipeline.execute(raise_on_error=False))
            for site, fields, lifetime in zip(asked, replies[::2], replies[1::2], strict=True):
                if isinstance(fields, Exception):
                    yield Unreadable(site, _NO_HASH)
                elif fields and lifetime != _GONE:
                    yield WholeSite(site, fields, None if lifetime < 0 else max(1, lifetime))

    async def export(self, sites: Sequence[str] | None = None) -> AsyncGenerator[bytes | Unreadable, None]:
        """Yield the lines of sites, by their names in keys and by default of all, and damaged sites."""
        if sites is None:
            async for names, unreadable in self.names():
                for each in unreadable:
                    yield each
                async for line in self.export(names):
                    yield line
            return
        async for whole in self.read(sites):
            try:
                yield whole if isinstance(whole, Unreadable) else write_line(whole)
            except CorruptError as error:
                yield Unreadable(whole.site, str(error))

    async def forget(self, sites: Sequence[str]) -> int:
        """Remove sites, by their names in keys, and return the number of those that were there."""
        pipeline = self._redis.raw.pipeline(transaction=False)
        for site in sites:
            pipeline.execute_command("UNLINK", site_key(site))
        return sum(await self._in_time(pipeline.execute()))

    async def forget_first_pages(self, sites: Iterable[str] | None = None) -> None:
        """Remove what is kept of second cleanings of sites, by default of all, so that these start anew.

        A site is given by its name, or by the hash of it.
        """
        prefixes = None if sites is None else {prefix for site in sites for prefix in _revisit_prefixes(site)}
        with self._redis.errors(_TASK):
            async for key in self._redis.raw.scan_iter(match=f"{revisits.KEY_PREFIX}*", count=_SCANNED):
                if prefixes is None or key[: key.rfind(b":") + 1] in prefixes:
                    await self._redis.raw.execute_command("UNLINK", key)

    async def put(
        self, sites: Sequence[tuple[WholeSite, SiteSizes]], *, replace: bool
    ) -> list[bool | Unreadable]:
        """Put sites into Redis, each at once; False for one of which more pages are counted there already.

        With `replace`, such a site is replaced, too.
        """
        calls = [_import_call(site, sizes, replace=replace) for site, sizes in sites]
        replies = await self._run(_IMPORT, calls)
        return [
            Unreadable(site.site, _NO_HASH) if isinstance(reply, Exception) else bool(reply)
            for (site, _), reply in zip(sites, replies, strict=True)
        ]

    async def _run(self, script: Script, calls: Iterable[Call]) -> list[Any]:
        """Run a script for each call; the answer is an error for a key that holds no hash."""
        return await self._in_time(self._redis.run(script, list(calls), raise_on_error=False))

    async def _in_time(self, answers: Awaitable[list[Any]]) -> list[Any]:
        async with self._redis.in_time(_TASK):
            replies = await answers
            for reply in replies:
                if isinstance(reply, Exception) and _WRONG_TYPE not in str(reply):
                    raise reply
            return replies


@asynccontextmanager
async def open_catalogue(settings: RedisSettings) -> AsyncIterator[Catalogue]:
    """Open the catalogue of a Redis. Raises what `RedisClient` raises."""
    async with aclosing(RedisClient(settings)) as redis:
        yield Catalogue(redis)


async def import_lines(
    lines: AsyncIterator[bytes], catalogue: Catalogue, tell: Tell, *, replace: bool
) -> ImportCounts:
    """Put the sites of an export into a Redis, each at once, and tell of those that cannot be read.

    Raises:
        ConfigurationError: it is no export, or one of another version; nothing was put.
        UnavailableError: Redis did not answer in time; importing again does no harm.
    """
    named_by = read_header(await anext(lines, b""))
    counts = ImportCounts(named_by=named_by, others_named_by=await catalogue.counted_by())

    def refuse(unreadable: Unreadable) -> None:
        counts.unreadable += 1
        tell(unreadable)

    async for sites in _batches(lines, refuse):
        for result in await catalogue.put(sites, replace=replace):
            if isinstance(result, Unreadable):
                refuse(result)
            else:
                counts.put, counts.left = counts.put + result, counts.left + (not result)
    return counts


def prevailing_key(sites: Iterable[str]) -> SiteKey | None:
    """Return the key by which most sites are named; None if no name shows it."""
    keys = Counter(key_of(site) for site in sites if not _HASH.fullmatch(site))
    return keys.most_common(1)[0][0] if keys else None


def names(text: str) -> list[str]:
    """Return the names of the site of a URL or host, one by each `SiteKey`.

    A text that is a name already, by any key, comes first, or stands alone.
    """
    if is_url(text):
        return _by_each_key(text) or [text]
    if text.startswith("."):
        return [f".{host_of(f'//{text}') or text[1:]}"]
    host, slash, folder = text.partition("/")
    by_key = _by_each_key(f"//{host}") or [host]
    return [f"{by_key[0]}/{folder}"] if slash else by_key


def is_url(text: str) -> bool:
    """Return True if a text is a URL, which no site has for a name."""
    return "://" in text


async def similar(name: str, catalogue: Catalogue) -> list[str]:
    """Return sites with similar names, the most similar first. Raises what `Catalogue` raises."""
    matches: list[str] = []
    compared = 0
    async for sites, _ in catalogue.names():
        matches = get_close_matches(name, {*matches, *sites}, _MAX_SIMILAR)
        compared += len(sites)
        if compared >= _MAX_COMPARED:
            break
    return matches


async def _batches(
    lines: AsyncIterator[bytes], refuse: Tell
) -> AsyncIterator[list[tuple[WholeSite, SiteSizes]]]:
    sites: list[tuple[WholeSite, SiteSizes]] = []
    size, number = 0, 1
    async for line in lines:
        number += 1
        try:
            sites.append(read_line(line))
        except CorruptError as error:
            refuse(Unreadable(f"line {number}", str(error)))
        size += len(line)
        if size > _BATCH_BYTES and sites:
            yield sites
            sites, size = [], 0
    if sites:
        yield sites


def _read_key(key: bytes) -> str | Unreadable:
    named = _KEY.fullmatch(key)
    if named is None:
        return Unreadable(key.decode("utf-8", "backslashreplace"), "no worker writes such a key")
    return named[1].decode()


def _call(site: str) -> Call:
    return (site_key(site),)


def _summary(site: str, reply: Any) -> Summary | Unreadable | None:  # noqa: ANN401 whatever Redis answers
    """Return the summary in the script's answer; None if the site is gone."""
    if isinstance(reply, Exception):
        return Unreadable(site, _NO_HASH)
    state, name, milliseconds, size = reply
    if size is None:
        return None
    try:
        left = None if milliseconds < 0 else milliseconds / 1000
        return Summary(site, unpack_name(name), unpack_sizes(state), size, left)
    except CorruptError as error:
        return Unreadable(site, str(error))


def _revisit_prefixes(site: str) -> set[bytes]:
    hashes = {revisits.url_key(site).hex()}
    if _HASH.fullmatch(site):
        hashes.add(site)
    return {revisits.key_prefix(each).encode() for each in hashes}


def _import_call(site: WholeSite, sizes: SiteSizes, *, replace: bool) -> Call:
    fields = [part for each in site.fields.items() for part in each]
    lifetime = "" if site.milliseconds_left is None else site.milliseconds_left
    return site_key(site.site), "" if replace else sizes.pages, lifetime, *fields


def _by_each_key(url: str) -> list[str]:
    """Return the different names of the site of a URL; none if it has no host."""
    by_key = (open_naming(key)(url) for key in SiteKey)
    return list(dict.fromkeys(filter(None, by_key)))
