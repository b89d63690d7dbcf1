"""A group of workers as lines of a terminal."""

import math
import time
from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from dehusk.streams.monitoring.group import GroupReport, Row
from dehusk.streams.monitoring.history import SLOTS, slot_of
from dehusk.streams.monitoring.state import DependencyState, PartitionLag, Point, State
from dehusk.streams.wording import duration, pluralize, printable

_BARS = " ▁▂▃▄▅▆▇█"
_BAR_CELLS = 8
_HEAD_LINES = 6
"""Lines of a screen that are neither rows of tables nor the first ones."""
_MIN_ROWS = 3
_WIDE = 100
"""Columns from which workers are shown with their version and model."""
_GAP = 2
_MIN_WORDS = 8
"""Columns that are left of words where figures need the others."""
_ALL = 1_000_000


def render(report: GroupReport, width: int, height: int | None = None) -> RenderableType:
    """Return a report as wide as `width`, and as high as `height` if that is bounded."""
    head = list(_head(report, width))
    rows = _ALL if height is None else max(_MIN_ROWS * 2, height - _HEAD_LINES - len(head))
    below = min(max(_MIN_ROWS, rows - len(report.workers)), _below(report))
    return Lines(
        *head,
        Text(),
        _workers(report.workers, rows - below, width),
        Text(),
        _lags_and_drops(report, below, width),
        *_dependencies(report.state),
    )


def _below(report: GroupReport) -> int:
    """Count the rows that the tables under the workers need."""
    partitions = len(report.state.partitions) if report.state else 0
    return max(1, partitions, len(report.counts.skipped) + len(report.counts.dead_letters))


def _head(report: GroupReport, width: int) -> Iterator[Text]:
    yield _line(Text(printable(f"group {report.group}"), "bold"), _about(report))
    if report.state:
        yield from _wrapped(_now(report.state.point), width)
        yield from _wrapped(_lag(report.state.point), width)
    else:
        yield Text(_no_worker(report), "red")
    yield from _wrapped(str(report.counts.totals), width)
    yield _throughput(report.points, width)


def _about(report: GroupReport) -> str:
    gone = sum(row.gone_since is not None for row in report.workers)
    lost = f", {gone} silent" if gone else ""
    state = report.state
    versions = f"; dehusk {state.version}, {state.model or 'no model yet'}" if state else ""
    return printable(f": {pluralize(len(report.workers) - gone, 'worker')}{lost}{versions}")


def _no_worker(report: GroupReport) -> str:
    if report.silent_since is None:
        return "no worker runs"
    return f"no worker heard from since {_clock(report.silent_since)}"


def _wrapped(figures: str, width: int) -> Iterator[Text]:
    """Break a line of figures between them, so that none is cut."""
    yield from map(_line, wrap(figures, width, subsequent_indent="  ", break_long_words=False))


def _now(point: Point) -> str:
    text = "–" if point.kept is None else f"{point.kept:.1%}"
    return (
        f"{point.pages_per_second:,.1f} pages/s, {point.bytes_per_second / 1e6:,.2f} MB/s, "
        f"{point.in_flight:,} in flight, {text} text per byte, {_megabytes(point.memory)}"
    )


def _lag(point: Point) -> str:
    """Return the lag, the age of its oldest message, the time to catch up, and what comes and is done."""
    if point.lag is None:
        return "lag –"
    words = [f"lag {point.lag:,}"]
    if point.lag and point.lag_seconds is not None:
        words.append(f"oldest {duration(point.lag_seconds)}")
    seconds = point.catch_up_seconds
    if seconds:
        words.append("it grows" if math.isinf(seconds) else f"caught up in {duration(seconds)}")
    rates = [
        "–" if rate is None else f"{rate:,.1f}" for rate in (point.arriving_per_second, point.done_per_second)
    ]
    return f"{', '.join(words)}; {rates[0]} messages/s come, {rates[1]} are done"


def _throughput(points: Sequence[Point], width: int) -> Text:
    """Draw the pages per second of the last hour as a line of bars."""
    if not points:
        return Text("pages/s, last hour: no points yet", "dim")
    highest = max(point.pages_per_second for point in points)
    label = f" pages/s, last hour, at most {highest:,.0f}"
    return _line(Text(_sparkline(points, max(10, min(width, SLOTS) - len(label)), highest), "cyan"), label)


def _sparkline(points: Sequence[Point], cells: int, highest: float) -> str:
    """Draw the largest value of each of `cells` parts of the hour; nothing where none is known."""
    values: list[float | None] = [None] * cells
    newest = slot_of(points[-1].time) if points else 0
    for point in points:
        cell = (SLOTS - 1 - newest + slot_of(point.time)) * cells // SLOTS
        values[cell] = max(values[cell] or 0.0, point.pages_per_second)
    return "".join(" " if value is None else _bar(value, highest) for value in values)


def _bar(value: float, highest: float) -> str:
    return _BARS[1 + round((len(_BARS) - 2) * max(0.0, value) / highest)] if highest > 0 else _BARS[1]


def _workers(rows: Sequence[Row], limit: int, width: int) -> RenderableType:
    columns = ["worker", "pages/s", "MB/s", "lag", "parts", "in flight", "memory", "state"]
    if width >= _WIDE:
        columns.insert(-1, "version, model")
    shown = rows if len(rows) <= limit else rows[: limit - 1]
    cells = [list(_cells(row, is_wide=width >= _WIDE)) for row in shown]
    styles = ["dim" if row.gone_since else "" for row in shown]
    state = len(columns) - 1
    words = [state - 1, 0, state] if width >= _WIDE else [0, state]
    return Lines(_table(columns, cells, width, words=words, styles=styles), *_more(len(rows) - len(shown)))


def _cells(row: Row, *, is_wide: bool) -> Iterator[Text]:
    yield _line(row.worker)
    is_silent = row.gone_since is not None
    yield _unless(is_silent, f"{row.pages_per_second:,.1f}")
    yield _unless(is_silent, f"{row.bytes_per_second / 1e6:,.2f}")
    yield _unless(row.lag is None, f"{row.lag or 0:,}")
    yield Text(f"{row.partitions:,}")
    yield _unless(is_silent, f"{row.in_flight:,}")
    yield _unless(is_silent, _megabytes(row.memory))
    if is_wide:
        yield _line(f"{row.version}, {row.model or 'none yet'}")
    yield _state(row, is_wide=is_wide)


def _unless(is_unknown: bool, figure: str) -> Text:
    return Text("–" if is_unknown else figure)


def _state(row: Row, *, is_wide: bool) -> Text:
    if row.gone_since is not None:
        since = _clock(row.gone_since)
        return Text(f"silent since {since}" if is_wide else f"silent {since.replace(' UTC', 'Z')}", "red")
    if row.unavailable:
        return Text(printable(f"misses {', '.join(row.unavailable)}"), "red")
    return Text("works" if row.partitions or row.lag is not None else "waits", "green")


def _lags_and_drops(report: GroupReport, limit: int, width: int) -> Table:
    """Put the partitions of the largest lag to the left of the pages without a document."""
    columns = Table.grid(Column(ratio=1), Column(ratio=1), padding=(0, _GAP, 0, 0), expand=True)
    half = width // 2 - _GAP
    columns.add_row(_partitions(report.state, limit, half), _drops(report, limit, half))
    return columns


def _partitions(state: State | None, limit: int, width: int) -> RenderableType:
    partitions = state.partitions if state else ()
    lags = sorted(partitions, key=lambda partition: partition.lag, reverse=True)
    shown = lags if len(lags) <= limit else lags[: limit - 1]
    cells = [
        [_line(lag.topic), Text(f"{lag.partition:,}"), Text(f"{lag.lag:,}"), _share(lag, lags[0])]
        for lag in shown
    ]
    more = len(lags) - len(shown) + (state.more_partitions if state else 0)
    return Lines(_table(["lag by partition", "", "", ""], cells, width), *_more(more))


def _share(lag: PartitionLag, largest: PartitionLag) -> Text:
    return Text("█" * round(_BAR_CELLS * lag.lag / largest.lag) if largest.lag > 0 else "", "cyan")


def _drops(report: GroupReport, limit: int, width: int) -> RenderableType:
    kinds = (("skipped", report.counts.skipped), ("dead letter", report.counts.dead_letters))
    drops = [(count, f"{kind}: {reason}") for kind, reasons in kinds for reason, count in reasons.items()]
    drops.sort(reverse=True)
    shown = drops if len(drops) <= limit else drops[: limit - 1]
    table = _table(["no document", ""], [[_line(text), Text(f"{count:,}")] for count, text in shown], width)
    return Lines(table, *_more(len(drops) - len(shown)), *([] if drops else [Text("nothing", "dim")]))


def _dependencies(state: State | None) -> Iterator[Text]:
    missing = state.unavailable if state else []
    for dependency in missing:
        yield Text(_missing(dependency), "red", no_wrap=True, overflow="ellipsis")
    if state and not missing:
        names = ", ".join(each.name for each in state.dependencies)
        yield _line(Text("available: ", "green"), names)


def _missing(dependency: DependencyState) -> str:
    since = _clock(dependency.unavailable_since or 0.0)
    return printable(f"{dependency.name} is unavailable since {since}, {dependency.reason}")


def _table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    width: int,
    *,
    words: Sequence[int] = (0,),
    styles: Sequence[str] = (),
) -> Table:
    """Make a table of numbers; its columns of words are cut, in the order given, where it is narrow."""
    widths, gap = _widths(columns, rows, width, words)
    table = Table(
        *(
            Column(
                name,
                justify="left" if index in words else "right",
                no_wrap=True,
                overflow="ellipsis",
                header_style="dim",
                width=widths[index],
            )
            for index, name in enumerate(columns)
        ),
        box=None,
        padding=(0, gap, 0, 0),
        pad_edge=False,
    )
    for index, row in enumerate(rows):
        table.add_row(*row, style=styles[index] if styles else "")
    return table


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[Text]], width: int, words: Sequence[int]
) -> tuple[Sequence[int | None], int]:
    """Return the widths and the gap at which a table fits and no number is cut; else each width is None."""
    widths = [max([len(name), *(row[index].cell_len for row in rows)]) for index, name in enumerate(columns)]
    gap = _GAP if sum(widths) + _GAP * (len(widths) - 1) <= width else 1
    excess = sum(widths) + gap * (len(widths) - 1) - width
    for index in words:
        cut = max(0, min(excess, widths[index] - _MIN_WORDS))
        widths[index] -= cut
        excess -= cut
    return (widths if excess <= 0 else [None] * len(widths)), gap


def _more(count: int) -> list[Text]:
    return [Text(f"and {count:,} more", "dim")] if count > 0 else []


def _line(*parts: str | Text) -> Text:
    """Make a line that is cut if it is too long, of text without control characters."""
    line = Text(no_wrap=True, overflow="ellipsis")
    for part in parts:
        line.append(part if isinstance(part, Text) else printable(part))
    return line


def _megabytes(count: int | None) -> str:
    return "–" if count is None else f"{count / 1e6:,.0f} MB"


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S UTC", time.gmtime(seconds))
