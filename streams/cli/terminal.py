"""Showing what strangers wrote, URLs and error texts, on a terminal."""

import sys
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Column, Table

_UNBOUNDED = 1_000_000
"""Columns of an output that is no terminal: programs read it, so nothing is cut or wrapped."""
_CONTROLS = {
    code: ascii(chr(code))[1:-1] for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}


def plain_console(*, stderr: bool = False) -> Console:
    """A console that takes nothing in a text for a command to it."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not stderr and not console.is_terminal:
        console.width = _UNBOUNDED
    return console


def echo(text: str) -> None:
    """Print lines of a text as they are, on a terminal with escapes for what it would obey."""
    shown = text.translate(_CONTROLS) if sys.stdout.isatty() else text
    click.echo(shown.encode("utf-8", "replace"))  # as text, click would take terminal commands out


def print_table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns whose cells fold where a terminal is too narrow; elsewhere, cells parted by tabs."""
    if not console.is_terminal:
        for row in (columns, *rows):
            click.echo("\t".join(row), file=console.file)
        return
    folding = (Column(name, overflow="fold") for name in columns)
    table = Table(*folding, box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    console.print(table)
