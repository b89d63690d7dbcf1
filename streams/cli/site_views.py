"""How `dehusk sites` shows what is known of sites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click
import orjson
from rich.filesize import decimal

from dehusk.streams.cli.terminal import plain_console, print_table
from dehusk.streams.counted import counted
from dehusk.streams.printable import printable

if TYPE_CHECKING:
    from dehusk.streams.sites.catalogue import Summary
    from dehusk.streams.sites.stored import State, StoredSample, StoredSite

_COLUMNS = ("site", "pages", "texts", "structures", "bytes", "last counted (UTC)")
_SAMPLE_COLUMNS = ("pages", "dropped", "saved", "text")
_DAY_SECONDS = 24 * 60 * 60


@dataclass(slots=True)
class Total:
    """All sites that were found."""

    sites: int = 0
    pages: int = 0
    bytes: int = 0

    def add(self, summary: Summary) -> None:
        """Count another one."""
        self.sites += 1
        self.pages += summary.state.pages
        self.bytes += summary.bytes


def title(summary: Summary) -> str:
    """What a site is called, with the hash that its key says where that is not its name."""
    return summary.site if summary.name is None else f"{printable(summary.name)} ({summary.site})"


def print_table_of(summaries: Sequence[Summary], total: Total) -> None:
    """Print some of the sites that were found."""
    console = plain_console()
    if summaries:
        print_table(console, _COLUMNS, map(_row, summaries))
    of_all = f"{counted(total.sites, 'site')}, {counted(total.pages, 'page')}, {decimal(total.bytes)}"
    console.print(of_all if len(summaries) == total.sites else f"{len(summaries):,} of {of_all}")


def print_object(summary: Summary) -> None:
    """Print a site as a line of JSON."""
    click.echo(orjson.dumps(_fields(summary), option=orjson.OPT_UTC_Z))


def print_site(summary: Summary, known: StoredSite, *, frozen: bool) -> None:
    """Print all that is known of a site."""
    console = plain_console()
    for line in _lines(summary, known, frozen=frozen):
        console.print(line)
    if known.samples:
        print_table(console, _SAMPLE_COLUMNS, (_sample_row(each, known.state) for each in known.samples))
    else:
        console.print("no texts of it are kept to be shown yet")


def print_site_object(summary: Summary, known: StoredSite, *, frozen: bool) -> None:
    """Print all that is known of a site as a line of JSON."""
    fields = {
        **_fields(summary),
        "texts": known.texts,
        "structures": known.structures,
        "frozen": frozen,
        "texts_floor": known.state.texts_floor,
        "structures_floor": known.state.structures_floor,
        "samples": [asdict(sample) for sample in known.samples],
    }
    click.echo(orjson.dumps(fields, option=orjson.OPT_UTC_Z))


def _fields(summary: Summary) -> dict[str, Any]:
    left = summary.seconds_left
    return {
        "site": summary.site,
        "name": summary.name,
        "pages": summary.state.pages,
        "texts": summary.state.texts,
        "structures": summary.state.structures,
        "bytes": summary.bytes,
        "last_counted": summary.last_counted,
        "expires_in_seconds": None if left is None else round(left),
    }


def _row(summary: Summary) -> tuple[str, ...]:
    state, counts = summary.state, summary.last_counted
    numbers = (state.pages, state.texts, state.structures, summary.bytes)
    cells = (f"{number:,}" for number in numbers)
    return title(summary), *cells, f"{counts:%Y-%m-%d %H:%M}" if counts else "?"


def _lines(summary: Summary, known: StoredSite, *, frozen: bool) -> Iterator[str]:
    state = known.state
    yield (
        f"{title(summary)}: {counted(state.pages, 'page')}, {counted(known.texts, 'text')}, "
        f"{counted(known.structures, 'structure')}, {decimal(summary.bytes)}"
    )
    if summary.last_counted and summary.seconds_left is not None:
        days = counted(round(summary.seconds_left / _DAY_SECONDS), "day")
        yield f"last counted {summary.last_counted:%Y-%m-%d %H:%M} UTC, expires in {days}"
    if frozen:
        yield "it has as many pages as are counted, so its counts are frozen"
    if state.texts_floor:
        yield f"rarer texts were forgotten: pages of a text may be too few by {state.texts_floor:,}"
    if state.structures_floor:
        yield "rarer structures were forgotten"


def _sample_row(sample: StoredSample, state: State) -> tuple[str, ...]:
    share = f" ({sample.pages / state.pages:.0%})" if state.pages else ""
    return f"{sample.pages:,}{share}", f"{sample.dropped:,}", f"{sample.saved:,}", printable(sample.text)
