"""Actions of `dehusk sites` on the sites of a Redis, and their output.

The commands load them when they run: their help needs no Redis client.
"""

import heapq
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any, BinaryIO

import click
import orjson
from rich.filesize import decimal

from dehusk.inference.sites import SiteKey
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.shared.terminal import ask, plain_console, print_table, warn
from dehusk.streams.files.read_ahead import ReadAhead
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.catalogue import (
    Catalogue,
    ImportCounts,
    Summary,
    Unreadable,
    import_lines,
    is_url,
    names,
    open_catalogue,
    prevailing_key,
    similar,
)
from dehusk.streams.sites.redis_store import SiteBounds
from dehusk.streams.sites.stored import (
    CorruptError,
    SiteSizes,
    StoredSample,
    StoredSite,
    unpack_site,
    write_header,
)
from dehusk.streams.wording import pluralize, printable

_KEPT = "nothing is forgotten"
_LINES_AHEAD = 32
"""Lines of an export, each a whole site, that are read ahead."""
_SLACK = 100
"""Sites that are held beyond twice the limit before the others are dropped."""
_COLUMNS = ("site", "pages", "texts", "structures", "bytes", "last counted (UTC)")
_SAMPLE_COLUMNS = ("pages", "dropped", "saved", "text")
_DAY_SECONDS = 24 * 60 * 60


def _title(summary: Summary) -> str:
    """Return the name of a site, with the hash in its key if that is not the name."""
    return summary.site if summary.name is None else f"{printable(summary.name)} ({summary.site})"


_ORDER: dict[str, Callable[[Summary], Any]] = {
    "pages": lambda summary: (-summary.sizes.pages, summary.site),
    "bytes": lambda summary: (-summary.bytes, summary.site),
    "name": _title,
}


def _print_sites(summaries: Sequence[Summary], listing: "_Listing") -> None:
    console = plain_console()
    if summaries:
        print_table(console, _COLUMNS, map(_row, summaries))
    of_all = (
        f"{pluralize(listing.sites, 'site')}, {pluralize(listing.pages, 'page')}, {decimal(listing.bytes)}"
    )
    console.print(of_all if len(summaries) == listing.sites else f"{len(summaries):,} of {of_all}")


def _print_as_json(summary: Summary) -> None:
    click.echo(orjson.dumps(_fields(summary), option=orjson.OPT_UTC_Z))


def _print_site(summary: Summary, known: StoredSite, *, frozen: bool) -> None:
    console = plain_console()
    for line in _lines(summary, known, frozen=frozen):
        console.print(line)
    if known.samples:
        print_table(console, _SAMPLE_COLUMNS, (_sample_row(each, known.sizes) for each in known.samples))
    else:
        console.print("no texts of it are kept to be shown yet")


def _print_site_as_json(summary: Summary, known: StoredSite, *, frozen: bool) -> None:
    fields = {
        **_fields(summary),
        "frozen": frozen,
        "texts_floor": known.sizes.texts_floor,
        "structures_floor": known.sizes.structures_floor,
        "samples": [asdict(sample) for sample in known.samples],
    }
    click.echo(orjson.dumps(fields, option=orjson.OPT_UTC_Z))


def _fields(summary: Summary) -> dict[str, Any]:
    left = summary.seconds_left
    return {
        "site": summary.site,
        "name": summary.name,
        "pages": summary.sizes.pages,
        "texts": summary.sizes.texts,
        "structures": summary.sizes.structures,
        "bytes": summary.bytes,
        "last_counted": summary.last_counted,
        "expires_in_seconds": None if left is None else round(left),
    }


def _row(summary: Summary) -> tuple[str, ...]:
    sizes, counts = summary.sizes, summary.last_counted
    numbers = (sizes.pages, sizes.texts, sizes.structures, summary.bytes)
    cells = (f"{number:,}" for number in numbers)
    return _title(summary), *cells, f"{counts:%Y-%m-%d %H:%M}" if counts else "?"


def _lines(summary: Summary, known: StoredSite, *, frozen: bool) -> Iterator[str]:
    sizes = known.sizes
    yield (
        f"{_title(summary)}: {pluralize(sizes.pages, 'page')}, {pluralize(sizes.texts, 'text')}, "
        f"{pluralize(sizes.structures, 'structure')}, {decimal(summary.bytes)}"
    )
    if summary.last_counted and summary.seconds_left is not None:
        days = pluralize(round(summary.seconds_left / _DAY_SECONDS), "day")
        yield f"last counted {summary.last_counted:%Y-%m-%d %H:%M} UTC, expires in {days}"
    if frozen:
        yield "it has as many pages as are counted, so its counts are frozen"
    if sizes.texts_floor:
        yield f"rarer texts were forgotten: pages of a text may be too few by {sizes.texts_floor:,}"
    if sizes.structures_floor:
        yield "rarer structures were forgotten"


def _sample_row(sample: StoredSample, sizes: SiteSizes) -> tuple[str, ...]:
    share = f" ({sample.pages / sizes.pages:.0%})" if sizes.pages else ""
    return f"{sample.pages:,}{share}", f"{sample.dropped:,}", f"{sample.saved:,}", printable(sample.text)


def _warn_of_skipped(unreadable: Unreadable) -> None:
    warn(f"{printable(unreadable.site)} is skipped: {printable(unreadable.why)}")


class _Listing:
    """The sites of a Redis, each once, and their totals; unreadable ones are printed and counted."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.sites = self.pages = self.bytes = self.unreadable = 0

    async def summaries(self) -> AsyncGenerator[Summary, None]:
        seen: set[str] = set()
        async for listing in self._catalogue.summaries():
            if isinstance(listing, Unreadable):
                self.unreadable += 1
                _warn_of_skipped(listing)
            elif listing.site not in seen:
                seen.add(listing.site)
                self.sites += 1
                self.pages += listing.sizes.pages
                self.bytes += listing.bytes
                yield listing


async def list_sites(redis: RedisSettings, sort: str | None, limit: int | None, *, as_json: bool) -> int:
    """Print a summary of each site, and return the number of unreadable ones."""
    async with open_catalogue(redis) as catalogue:
        listing = _Listing(catalogue)
        if not as_json:
            _print_sites(await _first(listing, sort or "pages", limit), listing)
        elif sort is None:
            await _print_as_found(listing, limit)
        else:
            for summary in await _first(listing, sort, limit):
                _print_as_json(summary)
        return listing.unreadable


async def _first(listing: _Listing, sort: str, limit: int | None) -> list[Summary]:
    """Return the first sites in an order, while hardly more than twice as many are held."""
    first: list[Summary] = []
    order = _ORDER[sort]
    async for summary in listing.summaries():
        first.append(summary)
        if limit is not None and len(first) > 2 * limit + _SLACK:
            first = heapq.nsmallest(limit, first, key=order)
    return sorted(first, key=order)[:limit]


async def _print_as_found(listing: _Listing, limit: int | None) -> None:
    async with aclosing(listing.summaries()) as summaries:
        async for summary in summaries:
            if limit is not None and listing.sites > limit:
                break
            _print_as_json(summary)


async def show_site(redis: RedisSettings, text: str, *, as_json: bool) -> None:
    """Print all that is known of a site."""
    async with open_catalogue(redis) as catalogue:
        _, summary = await _known(catalogue, text)
        if isinstance(summary, Unreadable):
            raise _damaged(text, summary.why)
        async for site in catalogue.read([summary.site]):
            if isinstance(site, Unreadable):
                raise _damaged(text, site.why)
            try:
                known = unpack_site(site.fields)
            except CorruptError as error:
                raise _damaged(text, str(error)) from error
            show = _print_site_as_json if as_json else _print_site
            show(summary, known, frozen=known.sizes.pages >= SiteBounds().pages)


async def _known(catalogue: Catalogue, text: str) -> tuple[str, Summary | Unreadable]:
    """Return the name and the summary of the site that a text names, by any --site-key.

    Raises:
        ConfigurationError: nothing is known of it, or a URL is of several sites, each by another key.
    """
    named = names(text)
    summaries = [(name, await catalogue.summary(name)) for name in named]
    known = [(name, summary) for name, summary in summaries if summary is not None]
    if not known:
        others = await similar(named[0], catalogue)
        advice = f"; did you mean {' or '.join(others)}?" if others else ""
        raise ConfigurationError(f"nothing is known of the site {printable(named[0])!r}{advice}")
    if len(known) > 1 and (is_url(text) or known[0][0] != named[0]):
        sites = " and ".join(printable(name) for name, _ in known)
        raise ConfigurationError(
            f"{printable(text)} is of {sites}, by different --site-key: name one of them"
        )
    return known[0]


def _damaged(text: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"what is kept of {printable(text)} is damaged: {printable(why)}; "
        "once it is forgotten, it is counted anew"
    )


async def forget_sites(redis: RedisSettings, texts: Sequence[str], *, yes: bool) -> int:
    """Forget sites, and return the number of unreadable keys."""
    async with open_catalogue(redis) as catalogue:
        if texts:
            known = [await _known(catalogue, text) for text in texts]
            sites = [summary.site for _, summary in known]
            ask(f"Forget {pluralize(len(set(sites)), 'site')}?", _KEPT, yes=yes)
            unreadable, forgotten = 0, await catalogue.forget(sites)
            await catalogue.forget_first_pages([*sites, *(name for name, _ in known)])
        else:
            ask("Forget all sites?", _KEPT, yes=yes)
            forgotten, unreadable = await _forget_all(catalogue)
            await catalogue.forget_first_pages()
    click.echo(f"{pluralize(forgotten, 'site')} forgotten")
    return unreadable


async def _forget_all(catalogue: Catalogue) -> tuple[int, int]:
    """Forget all sites; return the numbers of forgotten ones and of unreadable keys."""
    forgotten = unreadable = 0
    async for sites, others in catalogue.names():
        forgotten += await catalogue.forget(sites)
        unreadable += len(others)
        for each in others:
            _warn_of_skipped(each)
    return forgotten, unreadable


async def export_sites(redis: RedisSettings, texts: Sequence[str]) -> int:
    """Print sites, and return the number of unreadable ones."""
    unreadable = sites = 0
    async with open_catalogue(redis) as catalogue:
        named = [await _known(catalogue, text) for text in texts]
        known = [summary.site for _, summary in named]
        key = prevailing_key(name for name, _ in named) if texts else await catalogue.counted_by()
        click.echo(write_header(key), nl=False)
        async with aclosing(catalogue.export(known if texts else None)) as lines:
            async for line in lines:
                if isinstance(line, Unreadable):
                    unreadable += 1
                    _warn_of_skipped(line)
                else:
                    sites += 1
                    click.echo(line, nl=False)
    click.echo(f"{pluralize(sites, 'site')} exported", err=True)
    return unreadable


async def import_sites(redis: RedisSettings, file: BinaryIO, *, replace: bool) -> int:
    """Import sites, and return the number of those that were not imported because they are damaged."""
    async with open_catalogue(redis) as catalogue:
        counts = await import_lines(_read_ahead(file), catalogue, _warn_of_skipped, replace=replace)
    click.echo(f"{pluralize(counts.put, 'site')} imported")
    if counts.left:
        click.echo(f"{pluralize(counts.left, 'site')} left: more pages are counted already (--replace)")
    _warn_of_another_key(counts)
    return counts.unreadable


def _warn_of_another_key(counts: ImportCounts) -> None:
    """Warn if workers need another --site-key to find the imported sites."""
    key, other = counts.named_by, counts.others_named_by
    if key is None or key is (other or SiteKey.HOST):
        return
    there = f", and those of this Redis by --site-key {other}" if other else ""
    warn(f"these sites were counted by --site-key {key}{there}: only workers with --site-key {key} find them")


async def _read_ahead(file: BinaryIO) -> AsyncIterator[bytes]:
    """Yield the lines of a file, which may come slowly."""
    ahead = ReadAhead(iter(file), _LINES_AHEAD)
    while lines := await ahead.take():
        for line in lines:
            yield line
