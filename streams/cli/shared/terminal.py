"""The terminal: texts and tables of strangers' content, questions, and the progress through an input."""

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import click
import orjson
from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.files.paths import input_size
from dehusk.streams.files.position import InputPosition
from dehusk.streams.stores.stored import InputPath
from dehusk.streams.wording import pluralize

_UNBOUNDED = 1_000_000
"""Columns of an output that is no terminal; programs read it, so nothing is cut or wrapped."""
_CONTROLS = {
    code: ascii(chr(code))[1:-1] for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console that interprets nothing in a text as a command."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not stderr and not console.is_terminal:
        console.width = _UNBOUNDED
    return console


def echo(text: str) -> None:
    """Print a text as it is; on a terminal, with escapes for control characters."""
    shown = text.translate(_CONTROLS) if sys.stdout.isatty() else text
    click.echo(shown.encode("utf-8", "replace"))  # as text, click would take terminal commands out


def warn(text: str) -> None:
    """Print a notice on standard error, a line of its own."""
    click.echo(f"dehusk: {text}", err=True)


def print_object(fields: object) -> None:
    """Print an object of JSON on a line."""
    click.echo(orjson.dumps(fields, option=orjson.OPT_NON_STR_KEYS))


def print_table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose cells fold on a narrow terminal; elsewhere, cells separated by tabs."""
    if not console.is_terminal:
        for row in (columns, *rows):
            click.echo("\t".join(row), file=console.file)
        return
    folding = (Column(name, overflow="fold") for name in columns)
    table = Table(*folding, box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*row)
    console.print(table)


def ask(question: str, otherwise: str, *, yes: bool) -> None:
    """Ask for a confirmation; `otherwise` is the message without it.

    Raises:
        ConfigurationError: the answer is not yes.
    """
    if yes:
        return
    with _own_interrupt():
        click.echo(f"{question} [y/N] ", nl=False, err=True)
        answer = sys.stdin.readline()
    if answer.strip().lower() not in {"y", "yes"}:
        raise ConfigurationError(f"{otherwise}; --yes does not ask")


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Let Ctrl-C end a read, for which an event loop would wait; only the main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    of_event_loop = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, of_event_loop)


Advance = Callable[[int, int], None]
"""Function of the pages done so far, and their bytes."""


@contextmanager
def page_progress(
    doing: str, console: Console, paths: Sequence[InputPath], position: InputPosition, *, shown: bool
) -> Iterator[Advance]:
    """Show pages, bytes and speed; also percent and time left if the size of the input is known."""
    size = input_size(paths) if shown else None
    columns: list[ProgressColumn] = [TextColumn(doing), BarColumn(), TextColumn("{task.fields[pages]}")]
    if size is not None:
        columns += [TextColumn("{task.percentage:.0f}%, ETA"), TimeRemainingColumn()]
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not shown) as progress:
        task = progress.add_task(doing, total=size, pages="")

        def advance(pages: int, page_bytes: int) -> None:
            speed = pages / (progress.tasks[0].elapsed or 1e-9)
            done = f"{pluralize(pages, 'page')}, {decimal(page_bytes)}, {speed:,.0f} pages/s"
            progress.update(task, completed=position.bytes, pages=done)

        yield advance
