"""Summaries as tables: for a terminal, and as Markdown."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, isnan, log10
from string import ascii_lowercase

from rich.console import Console
from rich.table import Table as RichTable

from dehusk.streams.wording import pluralize, printable
from dehusk.training.comparison.summary import TRAINED, CollectionScores, Estimate, Row, Section
from dehusk.training.scores import BlockScore, markdown_table

_TRAINED_ON_NOTE = f"{TRAINED} was trained on pages of the collection, as its card says: no fair comparison."
_MAX_NAMED = 5
"""Most failed pages of one labeler that a note names."""
_WIDTH = 72
_HEIGHT = 14
_STEP = 0.05
"""Unit of the axis of F1, which begins and ends at multiples of it."""
_AXIS = " " * 7


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first of each on the left, and notes below them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def tables(collection: CollectionScores) -> Iterator[Table]:
    """Return the tables of a collection."""
    section = collection.whole
    yield _texts(section)
    yield _blocks(collection)
    if collection.types:
        yield _by_type(f"{section.name}: word F1 by type of page", collection, lambda row: row.f1.mean)
        title = f"{section.name}: block F1 of {{}} by type of page"
        yield _by_type(title.format("content"), collection, lambda row: row.content.f1)
        yield _by_type(title.format("boilerplate"), collection, lambda row: row.boilerplate.f1)


def overview(collections: Sequence[CollectionScores]) -> Iterator[Table]:
    """Return the collections side by side, where there are several."""
    if len(collections) < 2:
        return
    scores: dict[str, Callable[[Row], str]] = {
        "word F1": lambda row: _estimate(row.f1),
        "block F1 of content": lambda row: _decimals(row.content.f1),
        "block F1 of boilerplate": lambda row: _decimals(row.boilerplate.f1),
    }
    is_trained = any(row.is_trained_on_them for each in collections for row in each.whole.rows)
    for title, score in scores.items():
        marked = partial(_marked_score, score)
        yield _side_by_side(title, collections, marked, [_TRAINED_ON_NOTE] if is_trained else [])
    yield _side_by_side("CPU time, ms/page", collections, lambda row: f"{row.milliseconds:.2f}", [])


def _marked_score(score: Callable[[Row], str], row: Row) -> str:
    return row.marked(score(row))


def _side_by_side(
    title: str, collections: Sequence[CollectionScores], cell: Callable[[Row], str], notes: Sequence[str]
) -> Table:
    columns = ("labeler", *(f"{each.whole.name} ({each.whole.pages:,})" for each in collections))
    names = [row.name for row in collections[0].whole.rows]
    cells = [[cell(row) for row in each.whole.rows] for each in collections]
    rows = [list(row) for row in zip(names, *cells, strict=True)]
    return Table(f"All collections: {title}", columns, rows, notes)


def _texts(section: Section) -> Table:
    rows = [
        [
            row.marked_name,
            _estimate(row.f1),
            _decimals(row.precision),
            _decimals(row.recall),
            _estimate(row.difference, sign="+") if row.difference else "",
            f"{row.milliseconds:.2f}",
        ]
        for row in section.rows
    ]
    number = f"{pluralize(section.pages, 'page')} of {pluralize(section.sites, 'site')}"
    columns = ("labeler", "word F1", "precision", "recall", f"F1 less that of {section.reference}", "ms/page")
    return Table(f"{section.name}: text of {number}", columns, rows, list(_text_notes(section)))


def _text_notes(section: Section) -> Iterator[str]:
    yield (
        f"Keeping every block scores {section.everything:.3f}, keeping just the content blocks "
        f"{section.oracle:.3f}."
    )
    if any(row.is_trained_on_them for row in section.rows):
        yield _TRAINED_ON_NOTE
    for row in section.rows:
        if row.failed:
            more = f" and {len(row.failed) - _MAX_NAMED} more" if len(row.failed) > _MAX_NAMED else ""
            named = "; ".join(map(printable, row.failed[:_MAX_NAMED]))
            yield f"{row.name} failed on {pluralize(len(row.failed), 'page')}: {named}{more}."


def _blocks(collection: CollectionScores) -> Table:
    section = collection.whole
    rows = [[row.marked_name, *_scores(row.content), *_scores(row.boilerplate)] for row in section.rows]
    of_class = ("precision", "recall", "F1")
    columns = ("labeler", *(f"{kind} {each}" for kind in ("content", "boilerplate") for each in of_class))
    notes = [f"The blocks of page {printable(each)} are not scored." for each in collection.unscored]
    return Table(f"{section.name}: {pluralize(section.blocks, 'block')}", columns, rows, notes)


def _by_type(title: str, collection: CollectionScores, score: Callable[[Row], float]) -> Table:
    columns = ("labeler", *(f"{each.name} ({each.pages:,})" for each in collection.types))
    of_types = [[_decimals(score(row)) for row in each.rows] for each in collection.types]
    names = [row.marked_name for row in collection.whole.rows]
    return Table(title, columns, [list(row) for row in zip(names, *of_types, strict=True)])


def _scores(score: BlockScore) -> list[str]:
    return [_decimals(each) for each in (score.precision, score.recall, score.f1)]


def _decimals(value: float) -> str:
    return f"{value:.3f}"


def _estimate(value: Estimate, sign: str = "") -> str:
    error = "" if isnan(value.error) else f" ± {value.error:.3f}"
    return f"{value.mean:{sign}.3f}{error}"


def show(table: Table, console: Console) -> None:
    """Print a table."""
    shown = RichTable(box=None, padding=(0, 2, 0, 0))
    for number, name in enumerate(table.columns):
        shown.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    console.print(table.title)
    console.print(shown)
    for note in table.notes:
        console.print(note)
    console.print()


def markdown(table: Table) -> str:
    """Return a table as Markdown, the notes as a paragraph below it."""
    columns, *rows = ([_escaped(cell) for cell in cells] for cells in (table.columns, *table.rows))
    notes = "\n".join(map(_escaped, ("", *table.notes))) + "\n" if table.notes else ""
    return f"**{_escaped(table.title)}**\n\n{markdown_table(columns, rows)}\n{notes}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def text_chart(section: Section) -> str:
    """Draw a letter for each labeler, the best first: F1 upwards, the logarithm of the time to the right.

    Below it are their names, marked as in the tables.
    """
    rows = sorted(section.rows, key=lambda row: -row.f1.mean)
    low = floor(min(row.f1.mean for row in rows) / _STEP) * _STEP
    high = max(ceil(max(row.f1.mean for row in rows) / _STEP) * _STEP, low + _STEP)
    first, last = _decades(rows)
    cells = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for letter, row in zip(_letters(), rows, strict=False):
        column = round((log10(_time(row)) - first) / (last - first) * (_WIDTH - 1))
        line = round((high - row.f1.mean) / (high - low) * (_HEIGHT - 1))
        _put(cells[line], column, letter)
    lines = [f"{section.name}: word F1 by ms/page", *_lines(cells, low, high), *_times(first, last)]
    for letter, row in zip(_letters(), rows, strict=False):
        lines.append(f"{_AXIS}{letter}  {row.f1.mean:.3f}  {row.milliseconds:8.2f} ms  {row.marked_name}")
    return "\n".join(lines)


def _letters() -> Iterator[str]:
    yield from ascii_lowercase
    yield from ascii_lowercase.upper()
    while True:
        yield "+"


def _time(row: Row) -> float:
    return max(row.milliseconds, 1e-3)


def _decades(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the powers of ten between which all times lie."""
    times = [log10(_time(row)) for row in rows]
    first = floor(min(times))
    return first, max(ceil(max(times)), first + 1)


def _put(line: list[str], column: int, letter: str) -> None:
    """Put a letter at the column, or at the nearest free one."""
    free = [place for place, taken in enumerate(line) if taken == " "]
    if free:
        line[min(free, key=lambda place: abs(place - column))] = letter


def _lines(cells: Sequence[Sequence[str]], low: float, high: float) -> Iterator[str]:
    last = len(cells) - 1
    for number, line in enumerate(cells):
        value = high - (high - low) * number / last
        axis = f"{value:6.3f} ┤" if number in (0, last // 2, last) else f"{_AXIS}│"
        yield f"{axis}{''.join(line)}".rstrip()


def _times(first: int, last: int) -> Iterator[str]:
    """Return the axis of times, and the marks on it."""
    unit = (_WIDTH - 1) / (last - first)
    marks = {round((power - first) * unit): power for power in range(first, last + 1)}
    yield f"{_AXIS}└" + "".join("┴" if place in marks else "─" for place in range(_WIDTH))
    line = [" "] * (_WIDTH + 8)
    for place, power in marks.items():
        line[place : place + 6] = f"{10.0**power:g}".ljust(6)
    yield f"{_AXIS} {''.join(line).rstrip()} ms"
