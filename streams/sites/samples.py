"""Samples of the texts that sites repeat, kept in Redis beside the counts of their site.

Workers write them every second or so, all sites at once, and nothing waits for it. Samples that Redis does
not take, or that exceed the bounds, are lost.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from heapq import nlargest

import msgpack  # type: ignore[import-untyped]

from dehusk.schemas.documents import TextSample
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.redis_client import Call, RedisClient, Script
from dehusk.streams.sites.redis_store import PLAIN_SITE, site_key
from dehusk.streams.sites.tally import text_key

MAX_CHANGED = 30
"""Samples of a site that documents lack or have because of its statistics."""
MAX_REPEATED = 20
"""Samples of texts that are on many pages of the site."""
MAX_CHANGED_AT_ONCE = 10
"""Texts per write that were dropped or saved since the last one: those in the most documents."""
_MAX_OF_SITE = 100
"""Different texts of a site that may wait to be written."""
_MAX_WAITING = 5_000
"""Different texts of all sites that may wait."""
_SCRIPT = Script("samples.lua")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Gathered:
    """A text, and the documents that it was dropped from or saved in since samples were last written."""

    text: str
    pages: int = 0
    dropped: int = 0
    saved: int = 0

    @property
    def changes(self) -> int:
        """Number of documents that were changed."""
        return self.dropped + self.saved

    def add(self, sample: TextSample) -> None:
        self.pages = max(self.pages, sample.pages)
        self.dropped += sample.dropped
        self.saved += sample.saved


class SampleLog:
    """Samples that are gathered, and written to Redis from time to time."""

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        self._sites: defaultdict[str, dict[int, _Gathered]] = defaultdict(dict)
        self._waiting = 0
        self._has_failed = False
        self._writing = asyncio.Lock()

    def note(self, site: str, samples: Sequence[TextSample]) -> None:
        """Gather the samples of a page of a site, which is counted before they are written."""
        if not site:
            return
        is_full = self._waiting == _MAX_WAITING
        if (is_full or not samples) and PLAIN_SITE.fullmatch(site):
            return
        texts = self._sites[site]
        for sample in samples:
            if sample.fingerprint not in texts:
                if len(texts) == _MAX_OF_SITE or self._waiting == _MAX_WAITING:
                    continue
                texts[sample.fingerprint] = _Gathered(sample.text)
                self._waiting += 1
            texts[sample.fingerprint].add(sample)

    async def write(self) -> None:
        """Write the gathered samples; those that Redis does not take are lost, which is logged once."""
        async with self._writing:
            await self._write()

    async def run(self, seconds: float = 1.0) -> None:
        """Write the gathered samples at intervals until cancelled; what is being written then still is."""
        while True:
            await asyncio.sleep(seconds)
            await asyncio.shield(self.write())

    async def _write(self) -> None:
        sites, self._sites, self._waiting = self._sites, defaultdict(dict), 0
        if not sites:
            return
        try:
            async with self._redis.in_time("to keep samples of texts"):
                await self._redis.run(_SCRIPT, [_call(site, texts) for site, texts in sites.items()])
        except (UnavailableError, ConfigurationError) as error:
            if not self._has_failed:
                _log.warning("samples of the texts of sites are lost: %s", error)
            self._has_failed = True
        else:
            self._has_failed = False


@asynccontextmanager
async def open_samples(settings: RedisSettings) -> AsyncIterator[SampleLog]:
    """Open a log of samples, which are written at the end, too. Raises what `RedisClient` raises."""
    async with aclosing(RedisClient(settings)) as redis:
        samples = SampleLog(redis)
        try:
            yield samples
        finally:
            await samples.write()


def _chosen(texts: dict[int, _Gathered]) -> list[tuple[int, _Gathered]]:
    """Return the texts to write: those with the most changes, then those on the most pages."""
    changed = (each for each in texts.items() if each[1].changes)
    repeated = (each for each in texts.items() if not each[1].changes)
    return [
        *nlargest(MAX_CHANGED_AT_ONCE, changed, key=lambda each: each[1].changes),
        *nlargest(MAX_REPEATED, repeated, key=lambda each: each[1].pages),
    ]


def _call(site: str, texts: dict[int, _Gathered]) -> Call:
    name = b"" if PLAIN_SITE.fullmatch(site) else site.encode("utf-8", "surrogatepass")
    samples = [
        (text_key(fingerprint), kept.text.encode("utf-8", "replace"), kept.pages, kept.dropped, kept.saved)
        for fingerprint, kept in _chosen(texts)
    ]
    return site_key(site), name, MAX_CHANGED, MAX_REPEATED, msgpack.packb(samples, use_bin_type=False)
