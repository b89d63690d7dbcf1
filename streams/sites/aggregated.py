"""Statistics of sites that an engine aggregates: what each page adds, and each site, as bytes.

A site is counted as `MemorySiteStatistics` does it. Only what several of its pages have is kept, as no
other page is told of the rest.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.sites.store import SiteCounts, page_keys
from dehusk.streams.sites.tally import Counts, Keys, PageStatus, Tally, tally, without

_PAGE = struct.Struct("<4s2xHII")
"""Head of a page: its magic, the keys of its content, its texts and its structures."""
_SITE = struct.Struct("<4sIQQQ")
"""Head of a site: its magic, the bytes of its name, its pages, its texts and its structures."""
_PAGE_MAGIC, _SITE_MAGIC = b"dhp1", b"dhs1"
_NUMBER = np.dtype("<i8")
_KEY = np.dtype("<u8")


def pack_page(page: SiteObservation) -> bytes:
    """Return what a page adds to the statistics of its site: 8 bytes for a text, and 24 for a structure."""
    own = tally(page)
    name, content = page_keys(page)
    head = _PAGE.pack(_PAGE_MAGIC, len(content), len(own.texts), len(own.structures))
    arrays = (
        name,
        content,
        own.texts.astype(_KEY),
        own.structures.astype(_KEY),
        own.blocks.astype(_NUMBER),
        own.likelihood.astype(_NUMBER),
    )
    return b"".join((head, *(array.tobytes() for array in arrays)))


def aggregate(site: str, pages: Iterable[bytes]) -> bytes:
    """Return the statistics of a site by its packed pages: 12 bytes for a text, 32 for a structure.

    Raises:
        ConfigurationError: there is something else among the pages.
    """
    counted = SiteCounts()
    for page in pages:
        counted.observe(*_unpack_page(page))
    texts, on_pages = counted.texts.entries()
    is_shared = on_pages[0] > 1
    structures, known = counted.structures.entries()
    is_known = known[0] > 1
    name = site.encode("utf-8", "surrogatepass")
    head = _SITE.pack(_SITE_MAGIC, len(name), counted.size, is_shared.sum(), is_known.sum())
    arrays = (
        texts[is_shared].astype(_KEY),
        on_pages[0, is_shared].astype("<u4"),
        structures[is_known].astype(_KEY),
        known[:, is_known].astype(_NUMBER),
    )
    return b"".join((head, name, *(array.tobytes() for array in arrays)))


class AggregatedStatistics:
    """Store of the statistics of sites that were aggregated, of which the observed pages are."""

    def __init__(self, sites: Iterable[bytes]) -> None:
        """Read the statistics of sites.

        Raises:
            ConfigurationError: something else is among them.
        """
        self._sites = dict(map(_unpack_site, sites))

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        """Return what is known without each page; a page of another site is like the first of its own."""
        return list(map(self._answer, pages))

    def _answer(self, page: SiteObservation) -> SiteStatistics:
        own = tally(page)
        site = self._sites.get(page.site)
        counted, status = (SiteCounts(), PageStatus.NEW) if site is None else (site, PageStatus.COUNTED)
        texts, structures = counted.texts.get(own.texts), counted.structures.get(own.structures)
        return without(own, Counts(counted.size, status, texts[0], structures))


class _Reader:
    """Reader of the arrays behind a head."""

    def __init__(self, packed: bytes, offset: int) -> None:
        self._packed = packed
        self._offset = offset

    def read(self, kind: np.dtype[Any], count: int) -> npt.NDArray[Any]:
        array = np.frombuffer(self._packed, kind, count, self._offset)
        self._offset += array.nbytes
        return array


def _unpack_page(packed: bytes) -> tuple[Keys, Keys, Tally]:
    """Return the keys of a page and of its content, and what it adds."""
    try:
        magic, contents, texts, structures = _PAGE.unpack_from(packed)
        reader = _Reader(packed, _PAGE.size)
        name, content = reader.read(_KEY, 1), reader.read(_KEY, contents)
        keys, of_structures = reader.read(_KEY, texts), reader.read(_KEY, structures)
        blocks, likelihood = reader.read(_NUMBER, structures), reader.read(_NUMBER, structures)
    except (struct.error, ValueError):
        magic = b""
    if magic != _PAGE_MAGIC:
        raise ConfigurationError("an observation is none that dehusk.arrow.observe of this version has made")
    none = np.zeros(0, np.int64)
    return name, content, Tally(keys, none, none, of_structures, none, blocks, likelihood)


def _unpack_site(packed: bytes) -> tuple[str, SiteCounts]:
    try:
        magic, length, size, texts, structures = _SITE.unpack_from(packed)
        name = packed[_SITE.size : _SITE.size + length].decode("utf-8", "surrogatepass")
        reader = _Reader(packed, _SITE.size + length)
        site = SiteCounts(size)
        site.texts.add(reader.read(_KEY, texts), reader.read(np.dtype("<u4"), texts)[None].astype(np.int64))
        site.structures.add(
            reader.read(_KEY, structures), reader.read(_NUMBER, 3 * structures).reshape(3, -1)
        )
    except (struct.error, ValueError):
        magic = b""
    if magic != _SITE_MAGIC:
        raise ConfigurationError(
            "a value of site_statistics is none that dehusk.arrow.site_statistics of this version has made"
        )
    return name, site
