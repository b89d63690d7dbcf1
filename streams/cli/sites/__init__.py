"""`dehusk sites`: statistics of sites listed, shown, forgotten, exported and imported."""

import asyncio
from typing import BinaryIO

import click

from dehusk.streams.cli.shared.interrupts import exit_at_once_on_errors
from dehusk.streams.cli.shared.options import json_option, yes_option
from dehusk.streams.cli.shared.service_options import redis_options
from dehusk.streams.settings import RedisSettings

_LIMIT = 100
_redis = redis_options(
    help="The Redis of the workers, which may go on counting.",
    seconds_help="Time limit of an answer of Redis.",
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
    type=click.Choice(["pages", "bytes", "name"]),
    help="Those with the most pages or bytes first, or by name.  [default: pages; with --json, none]",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Most sites to list.  [default: {_LIMIT}; with --json, all]",
)
@json_option("One JSON object per line, as sites are found.")
def list_command(*, redis: RedisSettings, sort: str | None, limit: int | None, as_json: bool) -> None:
    """List the sites, with how many pages, texts and structures are known of each.

    The server is asked for some at a time, so workers do not wait. What the memory of this command takes
    grows with the limit and the number of sites, about 100 bytes each. Ends with status 1 if what is kept of
    a site is damaged; it is named and skipped.
    """
    from dehusk.streams.cli.sites.site_actions import list_sites

    if limit is None and not as_json:
        limit = _LIMIT
    _end(asyncio.run(list_sites(redis, sort, limit, as_json=as_json)))


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
@json_option("One JSON object.")
def show_command(*, site: str, redis: RedisSettings, as_json: bool) -> None:
    """Show what a site repeats, and what that did to documents.

    SITE is its name as `list` shows it, or a host or URL of it, whatever --site-key it is counted by. A text
    is `dropped` where a document lacks it, and `saved` where a document has it, only because of what is known
    of the site. Of each site, up to 50 texts are kept to be shown: those that were dropped or saved most
    often or last, and those on the most pages.
    """
    from dehusk.streams.cli.sites.site_actions import show_site

    asyncio.run(show_site(redis, site, as_json=as_json))


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
@yes_option
def forget_command(*, sites: tuple[str, ...], redis: RedisSettings, all_sites: bool, yes: bool) -> None:
    """Forget sites, after a redesign for example: their further pages are counted anew.

    Workers with --revisit-after clean the first of these a second time, too. Pages that were counted already
    count again if they come again. Nothing is forgotten if one of the sites is unknown. Documents stay as
    they are.
    """
    from dehusk.streams.cli.sites.site_actions import forget_sites

    if bool(sites) is all_sites:
        raise click.UsageError("name the sites, or give --all")
    _end(asyncio.run(forget_sites(redis, sites, yes=yes)))


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
    from dehusk.streams.cli.sites.site_actions import export_sites

    _end(asyncio.run(export_sites(redis, sites)))


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
    from dehusk.streams.cli.sites.site_actions import import_sites

    with exit_at_once_on_errors():
        status = asyncio.run(import_sites(redis, file, replace=replace))
    _end(status)


def _end(unreadable: int) -> None:
    """Exit with status 1 if something could not be read."""
    raise SystemExit(1 if unreadable else 0)
