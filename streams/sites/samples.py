"""Samples of the texts that sites repeat, kept in Redis beside the counts of their site.

Workers write them every second or so, all sites at once, and nothing waits for it: what a Redis does not take
is lost, and so is what exceeds the bounds.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgpack  # type: ignore[import-untyped]

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.samples import TextSample
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.packing import text_key
from dehusk.streams.sites.redis_store import PLAIN_SITE, Client, open_client, redis_errors, site_key
from dehusk.streams.sites.scripts import Call, Script

MOST_CHANGED = 30
"""Samples of a site that documents lack or have because of what is known of it."""
MOST_REPEATED = 20
"""Samples of texts that are on many of its pages."""
CHANGED_AT_ONCE = 10
"""Of texts that were dropped or saved since samples were last written, those in the most documents."""
_MOST_GATHERED = 100
"""Different texts of a site that may wait."""
_MOST_WAITING = 5_000
"""Those of all sites."""
_SCRIPT = Script("samples.lua")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Kept:
    """A text, with in how many documents it was dropped or saved since samples were last written."""

    text: str
    pages: int = 0
    dropped: int = 0
    saved: int = 0

    @property
    def changes(self) -> int:
        """How many documents were changed."""
        return self.dropped + self.saved

    def add(self, sample: TextSample) -> None:
        """Count another document that has it."""
        self.pages = max(self.pages, sample.pages)
        self.dropped += sample.dropped
        self.saved += sample.saved


class SampleLog:
    """Gathers samples, and writes them to Redis from time to time."""

    def __init__(self, settings: RedisSettings, client: Client) -> None:
        self._settings = settings
        self._client = client
        self._sites: defaultdict[str, dict[int, _Kept]] = defaultdict(dict)
        self._waiting = 0
        self._has_failed = False

    def note(self, site: str, samples: Sequence[TextSample]) -> None:
        """Keep the samples of a page, if it is of a site, until they are written; it is counted by then."""
        if not site:
            return
        is_full = self._waiting == _MOST_WAITING
        if (is_full or not samples) and PLAIN_SITE.fullmatch(site):
            return
        texts = self._sites[site]
        for sample in samples:
            if sample.fingerprint not in texts:
                if len(texts) == _MOST_GATHERED or self._waiting == _MOST_WAITING:
                    continue
                texts[sample.fingerprint] = _Kept(sample.text)
                self._waiting += 1
            texts[sample.fingerprint].add(sample)

    async def write(self) -> None:
        """Write what was noted; what Redis does not take is lost, which the log says once."""
        sites, self._sites, self._waiting = self._sites, defaultdict(dict), 0
        if not sites:
            return
        try:
            await self._call([_call(site, texts) for site, texts in sites.items()])
        except (UnavailableError, ConfigurationError) as error:
            if not self._has_failed:
                _log.warning("samples of the texts of sites are lost: %s", error)
            self._has_failed = True
        else:
            self._has_failed = False

    async def write_every(self, seconds: float) -> None:
        """Write what was noted since the last time, for as long as this runs."""
        while True:
            await asyncio.sleep(seconds)
            await self.write()

    async def _call(self, calls: Sequence[Call]) -> None:
        with redis_errors(self._settings, "to keep samples of texts"):
            async with asyncio.timeout(self._settings.timeout):
                await _SCRIPT.run(self._client, calls)


@asynccontextmanager
async def open_samples(settings: RedisSettings) -> AsyncIterator[SampleLog]:
    """Samples that are written at the end, too. Raises what `open_client` raises."""
    async with open_client(settings) as client:
        samples = SampleLog(settings, client)
        try:
            yield samples
        finally:
            await samples.write()


def _chosen(texts: dict[int, _Kept]) -> list[tuple[int, _Kept]]:
    """The texts that are written: those that tell most."""
    changed = [(key, kept) for key, kept in texts.items() if kept.changes]
    repeated = [(key, kept) for key, kept in texts.items() if not kept.changes]
    changed.sort(key=lambda each: -each[1].changes)
    repeated.sort(key=lambda each: -each[1].pages)
    return changed[:CHANGED_AT_ONCE] + repeated[:MOST_REPEATED]


def _call(site: str, texts: dict[int, _Kept]) -> Call:
    """What the script reads of a site."""
    name = b"" if PLAIN_SITE.fullmatch(site) else site.encode("utf-8", "surrogatepass")
    samples = [
        (text_key(fingerprint), kept.text.encode("utf-8", "replace"), kept.pages, kept.dropped, kept.saved)
        for fingerprint, kept in _chosen(texts)
    ]
    return site_key(site), name, MOST_CHANGED, MOST_REPEATED, msgpack.packb(samples, use_bin_type=False)
