"""`python -m training compare`: from files and names to tables, charts and JSON."""

import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click
import orjson
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.shared.terminal import plain_console
from dehusk.streams.wording import pluralize
from dehusk.training.comparison.judging import JudgedPage, JudgingOptions, judge_pages
from dehusk.training.comparison.labelers import EXTRACTORS, open_competitor, resolved_names, trained_on
from dehusk.training.comparison.questions import Sampling, Selection, select_pages
from dehusk.training.comparison.summary import CollectionScores, Row, Section, summaries
from dehusk.training.comparison.tables import markdown, overview, show, tables, text_chart
from dehusk.training.pages.gold import collection_of
from dehusk.training.runs import Source, report

_INTERRUPTED = 128 + signal.SIGINT
_PATIENCE = 6
"""Wall time for each second of CPU time that a page may take."""
Show = Callable[[Sequence[CollectionScores], Sequence[JudgedPage]], None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Options of a comparison."""

    labelers: tuple[str, ...]
    """Names of labelers; all that are known where none is named."""
    repository: Path
    sampling: Sampling
    labels: Path | None = None
    against: str | None = None
    rounds: int = 3
    page_seconds: float = 60.0
    """CPU time that each labeler may take for a page, each time."""
    processes: int = 1
    chart: Path | None = None


def compare(files: Sequence[Path], comparison: Comparison, show_result: Show) -> None:
    """Judge all labelers on pages of the files, and show the result.

    Raises:
        ConfigurationError: a labeler is not known, or the files have no page with gold.
        ModuleNotFoundError: an extractor, or what draws charts, is not installed.
    """
    names = resolved_names(comparison.labelers, comparison.repository)
    against = _reference(comparison, names)
    for name in names:
        open_competitor(name, comparison.repository)
    if comparison.chart is not None:
        from dehusk.training.comparison.picture import draw  # noqa: PLC0415 -- only charts need matplotlib
    with plain_console(stderr=True).status("reading"):
        selection = select_pages(files, comparison.labels, comparison.sampling)
    judged = _judged(selection, names, comparison)
    collections = summaries(judged, _trained(files, names, comparison), against)
    show_result(collections, judged)
    if comparison.chart is not None:
        draw([each.whole for each in collections], EXTRACTORS, comparison.chart)


def _reference(comparison: Comparison, names: Sequence[str]) -> str | None:
    if comparison.against is None:
        return None
    (against,) = resolved_names([comparison.against], comparison.repository)
    if against not in names:
        raise ConfigurationError(f"{against} is not among those that are compared; name it by --labeler, too")
    return against


def _judged(selection: Selection, names: Sequence[str], comparison: Comparison) -> list[JudgedPage]:
    """Judge all pages; show progress on a terminal, and after Ctrl-C the number that was judged."""
    judged: list[JudgedPage] = []
    console = plain_console(stderr=True)
    opens = partial(open_competitor, repository=comparison.repository)
    seconds = comparison.page_seconds
    options = JudgingOptions(names, opens, comparison.rounds, seconds, _PATIENCE * seconds)
    columns = (TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TextColumn("pages"))
    try:
        report(f"{pluralize(len(selection), 'page')}, {pluralize(len(names), 'labeler')}")
        if selection.without_gold:
            report(f"{pluralize(selection.without_gold, 'page')} without gold text or labels: left out")
        with (
            Progress(
                *columns,
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=console,
                disable=not console.is_terminal,
            ) as progress,
            closing(judge_pages(selection, options, comparison.processes)) as of_pages,
        ):
            task = progress.add_task("comparing", total=len(selection))
            for page in of_pages:
                judged.append(page)
                progress.advance(task)
    except KeyboardInterrupt:
        report(f"interrupted; {len(judged):,} of {pluralize(len(selection), 'page')} were compared")
        raise SystemExit(_INTERRUPTED) from None
    return judged


def _trained(files: Sequence[Path], names: Sequence[str], comparison: Comparison) -> dict[str, set[str]]:
    """Return, by collection, the labelers trained on a file of the same name or bytes, or on its labels."""
    known = {name: trained_on(name, comparison.repository) for name in names}
    trained: dict[str, set[str]] = {}
    for file in files:
        of = [Source.of(each) for each in (file, comparison.labels) if each is not None and each.is_file()]
        met = trained.setdefault(collection_of(file.name), set())
        names_of, digests = {each.name for each in of}, {each.digest for each in of}
        met.update(
            name
            for name, sources in known.items()
            if any(each.name in names_of or each.digest in digests for each in sources)
        )
    return trained


def show_tables(collections: Sequence[CollectionScores], _judged: Sequence[JudgedPage]) -> None:
    """Print the tables and a chart of each collection."""
    console = plain_console()
    for each in collections:
        for table in tables(each):
            show(table, console)
        console.print(f"{text_chart(each.whole)}\n")
    for table in overview(collections):
        show(table, console)


def show_markdown(collections: Sequence[CollectionScores], _judged: Sequence[JudgedPage]) -> None:
    """Print the tables as Markdown."""
    every = [*chain.from_iterable(map(tables, collections)), *overview(collections)]
    click.echo("\n".join(map(markdown, every)), nl=False)


def show_json(collections: Sequence[CollectionScores], judged: Sequence[JudgedPage]) -> None:
    """Print everything, the scores of each page included, as one JSON object."""
    fields = {
        "collections": [
            {
                **_section(each.whole),
                "types": [_section(of_type) for of_type in each.types],
                "unscored": each.unscored,
            }
            for each in collections
        ],
        "pages": [_page(page) for page in judged],
    }
    click.echo(orjson.dumps(fields, option=orjson.OPT_INDENT_2))


def _section(section: Section) -> dict[str, Any]:
    fields = asdict(section)
    return {**fields, "rows": [_row(row) for row in section.rows]}


def _row(row: Row) -> dict[str, Any]:
    fields = asdict(row)
    for name, score in (("content", row.content), ("boilerplate", row.boilerplate)):
        fields[name] = {
            "blocks": score.blocks,
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
        }
    return fields


def _page(page: JudgedPage) -> Mapping[str, Any]:
    judgements = {
        name: {
            **each.words._asdict(),
            "blocks": each.blocks._asdict(),
            "milliseconds": each.milliseconds,
            "problem": each.problem,
        }
        for name, each in page.judgements.items()
    }
    return {**asdict(page), "judgements": judgements}
