"""Exported sites, put into a Redis."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from dehusk.inference.sites import SiteKey
from dehusk.streams.settings import MIB
from dehusk.streams.sites.catalogue import Catalogue, Unreadable, WholeSite
from dehusk.streams.sites.exporting import read_header, read_line
from dehusk.streams.sites.stored import CorruptError, State

_TOGETHER = MIB
"""Bytes of lines whose sites are put together."""
Tell = Callable[[Unreadable], None]


@dataclass(slots=True)
class ImportCounts:
    """What became of the sites of an export."""

    put: int = 0
    left: int = 0
    """Those of which more pages are counted in the Redis already."""
    unreadable: int = 0
    named_by: SiteKey | None = None
    """The key of most of them, where the export says it."""
    others_named_by: SiteKey | None = None
    """The key of most sites that were there already, if any."""


async def import_sites(
    lines: AsyncIterator[bytes], catalogue: Catalogue, tell: Tell, *, replace: bool
) -> ImportCounts:
    """Put the sites of an export into a Redis, each at once, and tell of those that cannot be.

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


async def _batches(lines: AsyncIterator[bytes], refuse: Tell) -> AsyncIterator[list[tuple[WholeSite, State]]]:
    """The sites of lines, some at a time."""
    sites: list[tuple[WholeSite, State]] = []
    size, number = 0, 1
    async for line in lines:
        number += 1
        try:
            sites.append(read_line(line))
        except CorruptError as error:
            refuse(Unreadable(f"line {number}", str(error)))
        size += len(line)
        if size > _TOGETHER and sites:
            yield sites
            sites, size = [], 0
    if sites:
        yield sites
