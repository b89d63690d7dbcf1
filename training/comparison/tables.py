"""Summaries as tables: for a terminal, and as Markdown."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan

from rich.console import Console
from rich.table import Table as RichTable

from dehusk.streams.counted import counted
from dehusk.streams.printable import printable
from dehusk.training.boilernet.block_scores import BlockScore
from dehusk.training.comparison.summary import TRAINED, Collected, Estimate, Row, Section

_FLATTERED = f"{TRAINED} was trained on pages of the collection, as its card says: no fair comparison."
_MOST_NAMED = 5
"""Failed pages of one labeler that a note names."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first of each on the left; and what is said below them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def tables(collected: Collected) -> Iterator[Table]:
    """What there is to say about a collection."""
    section = collected.whole
    yield _texts(section)
    yield _blocks(collected)
    if collected.types:
        yield _by_type(f"{section.name}: word F1 by type of page", collected, lambda row: row.f1.mean)
        for name, score in (("content", _content_f1), ("boilerplate", _boilerplate_f1)):
            yield _by_type(f"{section.name}: block F1 of {name} by type of page", collected, score)


def overview(collections: Sequence[Collected]) -> Iterator[Table]:
    """The collections side by side, where there are several."""
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
        yield _side_by_side(title, collections, marked, [_FLATTERED] if is_trained else [])
    yield _side_by_side("CPU time, ms/page", collections, lambda row: f"{row.milliseconds:.2f}", [])


def _marked_score(score: Callable[[Row], str], row: Row) -> str:
    return row.marked(score(row))


def _side_by_side(
    title: str, collections: Sequence[Collected], cell: Callable[[Row], str], notes: Sequence[str]
) -> Table:
    columns = ("labeler", *(f"{each.whole.name} ({each.whole.pages:,})" for each in collections))
    names = [row.name for row in collections[0].whole.rows]
    cells = [[cell(row) for row in each.whole.rows] for each in collections]
    rows = [list(row) for row in zip(names, *cells, strict=True)]
    return Table(f"All collections: {title}", columns, rows, notes)


def _content_f1(row: Row) -> float:
    return row.content.f1


def _boilerplate_f1(row: Row) -> float:
    return row.boilerplate.f1


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
    number = f"{counted(section.pages, 'page')} of {counted(section.sites, 'site')}"
    columns = ("labeler", "word F1", "precision", "recall", f"F1 less that of {section.reference}", "ms/page")
    return Table(f"{section.name}: text of {number}", columns, rows, list(_text_notes(section)))


def _text_notes(section: Section) -> Iterator[str]:
    yield (
        f"Keeping every block scores {section.everything:.3f}, keeping just the content blocks "
        f"{section.oracle:.3f}."
    )
    if any(row.is_trained_on_them for row in section.rows):
        yield _FLATTERED
    for row in section.rows:
        if row.failed:
            more = f" and {len(row.failed) - _MOST_NAMED} more" if len(row.failed) > _MOST_NAMED else ""
            named = "; ".join(map(printable, row.failed[:_MOST_NAMED]))
            yield f"{row.name} failed on {counted(len(row.failed), 'page')}: {named}{more}."


def _blocks(collected: Collected) -> Table:
    section = collected.whole
    rows = [[row.marked_name, *_scores(row.content), *_scores(row.boilerplate)] for row in section.rows]
    of_class = ("precision", "recall", "F1")
    columns = ("labeler", *(f"{kind} {each}" for kind in ("content", "boilerplate") for each in of_class))
    notes = [f"The blocks of page {printable(each)} are not scored." for each in collected.unscored]
    return Table(f"{section.name}: {counted(section.blocks, 'block')}", columns, rows, notes)


def _by_type(title: str, collected: Collected, score: Callable[[Row], float]) -> Table:
    columns = ("labeler", *(f"{each.name} ({each.pages:,})" for each in collected.types))
    of_types = [[_decimals(score(row)) for row in each.rows] for each in collected.types]
    names = [row.marked_name for row in collected.whole.rows]
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
    """A table as Markdown, the notes as a paragraph below it."""
    lines = [f"**{_escaped(table.title)}**", "", _line(table.columns)]
    lines.append("|---|" + "--:|" * (len(table.columns) - 1))
    lines += map(_line, table.rows)
    if table.notes:
        lines += ["", *map(_escaped, table.notes)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")
