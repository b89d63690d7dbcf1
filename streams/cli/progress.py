"""How far a command has come with the pages of its input, shown on a terminal while it works."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

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

from dehusk.streams.counted import counted
from dehusk.streams.input_position import InputPosition
from dehusk.streams.readers import input_size

Advance = Callable[[int, int], None]
"""Told how many pages are done, and how many bytes they have."""


@contextmanager
def page_progress(
    doing: str, console: Console, paths: Sequence[Path], position: InputPosition, *, shown: bool
) -> Iterator[Advance]:
    """A bar of pages, bytes and speed; of percent and time left, too, where the input has a known size."""
    size = input_size(paths) if shown else None
    columns: list[ProgressColumn] = [TextColumn(doing), BarColumn(), TextColumn("{task.fields[pages]}")]
    if size is not None:
        columns += [TextColumn("{task.percentage:.0f}%, ETA"), TimeRemainingColumn()]
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not shown) as progress:
        task = progress.add_task(doing, total=size, pages="")

        def advance(pages: int, page_bytes: int) -> None:
            speed = pages / (progress.tasks[0].elapsed or 1e-9)
            done = f"{counted(pages, 'page')}, {decimal(page_bytes)}, {speed:,.0f} pages/s"
            progress.update(task, completed=position.bytes, pages=done)

        yield advance
