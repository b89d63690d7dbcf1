"""`dehusk sites`: what is known of sites, to see it, to forget it, and to begin with it elsewhere."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from dehusk.inference.sites import SiteKey
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.asking import ask
from dehusk.streams.cli.options import redis_options
from dehusk.streams.cli.site_views import (
    Total,
    print_object,
    print_site,
    print_site_object,
    print_table_of,
    title,
)
from dehusk.streams.cli.standard_input import abandoned_on_errors
from dehusk.streams.counted import counted
from dehusk.streams.printable import printable
from dehusk.streams.settings import RedisSettings

if TYPE_CHECKING:
    from dehusk.streams.sites.catalogue import Catalogue, Summary, Unreadable
    from dehusk.streams.sites.importing import ImportCounts

_LIMIT = 100
_KEPT = "nothing is forgotten"
_LINES_AHEAD = 32
"""Lines of an export, each a whole site, that are read before they are asked for."""
_ORDER: dict[str, Callable[[Summary], Any]] = {
    "pages": lambda summary: (-summary.state.pages, summary.site),
    "bytes": lambda summary: (-summary.bytes, summary.site),
    "name": title,
}
_redis = redis_options(
    help="The Redis of the workers, which may go on counting.",
    seconds_help="How long Redis may take for an answer.",
)


@click.group(name="sites")
def command() -> None:
    """Show, forget, export or import what is known of sites.

    Workers count in Redis, per site, on how many pages each text and each structure of tags and classes is,
    and correct the labels of further pages by it.
    """


@command.command(
    name="list",
    short_help="List the sites, with how much is known of each.",
    epilog="""\b
Examples:
  dehusk sites list --limit 20                          those with the most pages
  dehusk sites list --sort bytes                        those that take the most memory
  dehusk sites list --json | jq -r 'select(.pages < 10) | .site'""",
)
@_redis
@click.option(
    "--sort",
    type=click.Choice(list(_ORDER)),
    help="Those with the most pages or bytes first, or by name.  [default: pages; with --json, none]",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"The first so many.  [default: {_LIMIT}; with --json, all]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line, as sites are found.")
def list_command(*, redis: RedisSettings, sort: str | None, limit: int | None, as_json: bool) -> None:
    """List the sites, with how many pages, texts and structures are known of each.

    The server is asked for some at a time, so workers do not wait. What the memory of this command takes
    grows with the limit and the number of sites, about 100 bytes each. Ends with status 1 if what is kept of
    a site is damaged; it is named and skipped.
    """
    _end(asyncio.run(_list(redis, sort, limit, as_json=as_json)))


@command.command(
    name="show",
    short_help="Show what a site repeats.",
    epilog="""\b
Examples:
  dehusk sites show example.org
  dehusk sites show https://www.example.org/some/page     by the host, the domain or the folder
  dehusk sites show example.org --json | jq '.samples[] | select(.dropped > 0)'""",
)
@click.argument("site")
@_redis
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show_command(*, site: str, redis: RedisSettings, as_json: bool) -> None:
    """Show what a site repeats, and what that did to documents.

    SITE is its name as `list` shows it, or a host or URL of it, whatever --site-key it is counted by. A text
    is `dropped` where a document lacks it, and `saved` where a document has it, only because of what is known
    of the site. Of each site, up to 50 texts are kept to be shown: those that were dropped or saved most
    often or last, and those on the most pages.
    """
    asyncio.run(_show(redis, site, as_json=as_json))


@command.command(
    name="forget",
    short_help="Forget sites, which are counted anew then.",
    epilog="""\b
Examples:
  dehusk sites forget example.org example.com
  dehusk sites forget --all --yes""",
)
@click.argument("sites", nargs=-1, metavar="SITE…")
@_redis
@click.option("--all", "all_sites", is_flag=True, help="All of them.")
@click.option("--yes", is_flag=True, help="Do not ask before.")
def forget_command(*, sites: tuple[str, ...], redis: RedisSettings, all_sites: bool, yes: bool) -> None:
    """Forget sites, after a redesign for example: their further pages are counted anew.

    Workers with --revisit-after clean the first of these a second time, too. Pages that were counted already
    count again if they come again. Nothing is forgotten if one of the sites is unknown. Documents stay as
    they are.
    """
    if bool(sites) is all_sites:
        raise click.UsageError("name the sites, or give --all")
    _end(asyncio.run(_forget(redis, sites, yes=yes)))


@command.command(
    name="export",
    short_help="Write sites to standard output.",
    epilog="""\b
Examples:
  dehusk sites export | gzip > sites.jsonl.gz
  dehusk sites export example.org > example.jsonl""",
)
@click.argument("sites", nargs=-1, metavar="[SITE]…")
@_redis
def export_command(*, sites: tuple[str, ...], redis: RedisSettings) -> None:
    """Write all sites, or some, to standard output, for `dehusk sites import`.

    Each site is written as it is at one moment; workers may go on counting. Ends with status 1 if what is
    kept of a site is damaged; it is named and skipped.
    """
    _end(asyncio.run(_export(redis, sites)))


@command.command(
    name="import",
    short_help="Read exported sites from standard input.",
    epilog="""\b
Examples:
  zcat sites.jsonl.gz | dehusk sites import --redis redis://new:6379/0
  dehusk sites import sites.jsonl""",
)
@click.argument("file", type=click.File("rb"), default="-")
@_redis
@click.option("--replace", is_flag=True, help="Replace sites of which more pages are counted, too.")
def import_command(*, file: BinaryIO, redis: RedisSettings, replace: bool) -> None:
    """Put exported sites into a Redis, so that its workers begin with what others have counted.

    A site of which Redis has counted more pages stays as it is. Each site is put at once, and expires as long
    after the import as it would have after the export. A warning tells of sites that were counted by another
    --site-key than those of the Redis: its workers do not find them. What is no site, or is damaged, is named
    and skipped, and the command ends with status 1.
    """
    with abandoned_on_errors():
        status = asyncio.run(_import(redis, file, replace=replace))
    _end(status)


def _end(unreadable: int) -> None:
    """Leave with status 1 if something could not be read."""
    raise SystemExit(1 if unreadable else 0)


def _tell(unreadable: Unreadable) -> None:
    click.echo(f"dehusk: {printable(unreadable.site)} is skipped: {printable(unreadable.why)}", err=True)


class _Found:
    """The sites of a Redis, each once; what is no site is named and counted."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.total = Total()
        self.unreadable = 0

    async def summaries(self) -> AsyncGenerator[Summary, None]:
        """A summary of each."""
        from dehusk.streams.sites.catalogue import Unreadable

        seen: set[str] = set()
        async for found in self._catalogue.summaries():
            if isinstance(found, Unreadable):
                self.unreadable += 1
                _tell(found)
            elif found.site not in seen:
                seen.add(found.site)
                self.total.add(found)
                yield found


async def _list(redis: RedisSettings, sort: str | None, limit: int | None, *, as_json: bool) -> int:
    """How many sites could not be read."""
    from dehusk.streams.sites.catalogue import open_catalogue

    async with open_catalogue(redis) as catalogue:
        found = _Found(catalogue)
        if not as_json:
            summaries = await _first(found, sort or "pages", _LIMIT if limit is None else limit)
            print_table_of(summaries, found.total)
        elif sort is None:
            await _print_as_found(found, limit)
        else:
            for summary in await _first(found, sort, limit):
                print_object(summary)
        return found.unreadable


async def _first(found: _Found, sort: str, limit: int | None) -> list[Summary]:
    """The first sites in an order; meanwhile, hardly more than twice as many are held."""
    first: list[Summary] = []
    order = _ORDER[sort]
    async for summary in found.summaries():
        first.append(summary)
        if limit is not None and len(first) > 2 * limit + _LIMIT:
            first = heapq.nsmallest(limit, first, key=order)
    return sorted(first, key=order)[:limit]


async def _print_as_found(found: _Found, limit: int | None) -> None:
    async with aclosing(found.summaries()) as summaries:
        async for summary in summaries:
            if limit is not None and found.total.sites > limit:
                break
            print_object(summary)


async def _show(redis: RedisSettings, text: str, *, as_json: bool) -> None:
    from dehusk.streams.sites.catalogue import Unreadable, open_catalogue
    from dehusk.streams.sites.redis_store import SiteBounds
    from dehusk.streams.sites.stored import CorruptError, unpack_site

    async with open_catalogue(redis) as catalogue:
        _, summary = await _known(catalogue, text)
        if isinstance(summary, Unreadable):
            raise _damaged(text, summary.why)
        async for whole in catalogue.read([summary.site]):
            if isinstance(whole, Unreadable):
                raise _damaged(text, whole.why)
            try:
                known = unpack_site(whole.fields)
            except CorruptError as error:
                raise _damaged(text, str(error)) from error
            show = print_site_object if as_json else print_site
            show(summary, known, frozen=known.state.pages >= SiteBounds().pages)


async def _known(catalogue: Catalogue, text: str) -> tuple[str, Summary | Unreadable]:
    """The site that a text names, by whatever --site-key, and its name.

    Raises:
        ConfigurationError: nothing is known of it, or a URL is of several sites, each by another key.
    """
    from dehusk.streams.sites.lookup import is_url, names, near

    named = names(text)
    summaries = [(name, await catalogue.summary(name)) for name in named]
    known = [(name, summary) for name, summary in summaries if summary is not None]
    if not known:
        similar = await near(named[0], catalogue)
        advice = f"; did you mean {' or '.join(similar)}?" if similar else ""
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


async def _forget(redis: RedisSettings, texts: Sequence[str], *, yes: bool) -> int:
    """How many keys could not be read."""
    from dehusk.streams.sites.catalogue import open_catalogue

    async with open_catalogue(redis) as catalogue:
        if texts:
            known = [await _known(catalogue, text) for text in texts]
            sites = [summary.site for _, summary in known]
            ask(f"Forget {counted(len(set(sites)), 'site')}?", _KEPT, yes=yes)
            unreadable, forgotten = 0, await catalogue.forget(sites)
            await catalogue.forget_first_pages([*sites, *(name for name, _ in known)])
        else:
            ask("Forget all sites?", _KEPT, yes=yes)
            forgotten, unreadable = await _forget_all(catalogue)
            await catalogue.forget_first_pages()
    click.echo(f"{counted(forgotten, 'site')} forgotten")
    return unreadable


async def _forget_all(catalogue: Catalogue) -> tuple[int, int]:
    """How many sites were forgotten, and how many keys could not be read."""
    from dehusk.streams.sites.catalogue import Unreadable

    forgotten = unreadable = 0
    async for found in catalogue.names():
        forgotten += await catalogue.forget([each for each in found if isinstance(each, str)])
        for each in found:
            if isinstance(each, Unreadable):
                unreadable += 1
                _tell(each)
    return forgotten, unreadable


async def _export(redis: RedisSettings, texts: Sequence[str]) -> int:
    """How many sites could not be read."""
    from dehusk.streams.sites.catalogue import Unreadable, open_catalogue, prevailing_key
    from dehusk.streams.sites.exporting import export, export_all, header

    unreadable = sites = 0
    async with open_catalogue(redis) as catalogue:
        named = [await _known(catalogue, text) for text in texts]
        known = [summary.site for _, summary in named]
        key = prevailing_key(name for name, _ in named) if texts else await catalogue.counted_by()
        click.echo(header(key), nl=False)
        async with aclosing(export(known, catalogue) if texts else export_all(catalogue)) as lines:
            async for line in lines:
                if isinstance(line, Unreadable):
                    unreadable += 1
                    _tell(line)
                else:
                    sites += 1
                    click.echo(line, nl=False)
    click.echo(f"{counted(sites, 'site')} exported", err=True)
    return unreadable


async def _import(redis: RedisSettings, file: BinaryIO, *, replace: bool) -> int:
    """How many sites could not be put."""
    from dehusk.streams.sites.catalogue import open_catalogue
    from dehusk.streams.sites.importing import import_sites

    async with open_catalogue(redis) as catalogue:
        counts = await import_sites(_read_ahead(file), catalogue, _tell, replace=replace)
    click.echo(f"{counted(counts.put, 'site')} imported")
    if counts.left:
        click.echo(f"{counted(counts.left, 'site')} left: more pages are counted already (--replace)")
    _warn_of_another_key(counts)
    return counts.unreadable


def _warn_of_another_key(counts: ImportCounts) -> None:
    """Say who finds the sites of an import, if they are named unlike those of the Redis, or by no default."""
    key, other = counts.named_by, counts.others_named_by
    if key is None or key is (other or SiteKey.HOST):
        return
    there = f", and those of this Redis by --site-key {other}" if other else ""
    click.echo(
        f"dehusk: these sites were counted by --site-key {key}{there}: "
        f"only workers with --site-key {key} find them",
        err=True,
    )


async def _read_ahead(file: BinaryIO) -> AsyncIterator[bytes]:
    """The lines of a file, which may have to be waited for."""
    from dehusk.streams.read_ahead import ReadAhead

    ahead = ReadAhead(iter(file), _LINES_AHEAD)
    while lines := await ahead.take():
        for line in lines:
            yield line
