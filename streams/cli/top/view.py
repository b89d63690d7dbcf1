"""A group of workers as lines of a terminal."""

import math
import time
from collections.abc import Iterator, Sequence

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
_HEAD_LINES = 11
"""Lines of a screen that are no rows of tables."""
_MIN_ROWS = 3
_WIDE = 100
"""Columns from which workers are shown with their version and model."""
_ALL = 1_000_000


def render(report: GroupReport, width: int, height: int | None = None) -> RenderableType:
    """Return a report as wide as `width`, and as high as `height` if that is bounded."""
    rows = _ALL if height is None else max(_MIN_ROWS * 2, height - _HEAD_LINES)
    below = min(max(_MIN_ROWS, rows - len(report.workers)), _below(report))
    return Lines(
        *_head(report, width),
        Text(),
        _workers(report.workers, rows - below, width),
        Text(),
        _lags_and_drops(report, below),
        *_dependencies(report.state),
    )


def _below(report: GroupReport) -> int:
    """Count the rows that the tables under the workers need."""
    partitions = len(report.state.partitions) if report.state else 0
    return max(1, partitions, len(report.counts.skipped) + len(report.counts.dead_letters))


def _head(report: GroupReport, width: int) -> Iterator[Text]:
    yield _line(Text(printable(f"group {report.group}"), "bold"), _about(report))
    if report.state:
        yield _now(report.state.point)
        yield _line(_lag(report.state.point))
    else:
        yield Text(_no_worker(report), "red")
    yield _line(str(report.counts.totals))
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


def _now(point: Point) -> Text:
    kept = "–" if point.kept is None else f"{point.kept:.1%}"
    return _line(
        f"{point.pages_per_second:,.1f} pages/s, {point.bytes_per_second / 1e6:,.2f} MB/s, "
        f"{point.in_flight:,} in flight, {kept} kept, {_megabytes(point.memory)}"
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
    highest = max((point.pages_per_second for point in points), default=0.0)
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
    table = _table(columns)
    shown = rows if len(rows) <= limit else rows[: limit - 1]
    for row in shown:
        table.add_row(*_cells(row, is_wide=width >= _WIDE), style="dim" if row.gone_since else "")
    return Lines(table, *_more(len(rows) - len(shown)))


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
    yield _state(row)


def _unless(is_unknown: bool, figure: str) -> Text:
    return Text("–" if is_unknown else figure)


def _state(row: Row) -> Text:
    if row.gone_since is not None:
        return Text(f"silent since {_clock(row.gone_since)}", "red")
    if row.unavailable:
        return Text(printable(f"misses {', '.join(row.unavailable)}"), "red")
    return Text("works" if row.partitions or row.lag is not None else "waits", "green")


def _lags_and_drops(report: GroupReport, limit: int) -> Table:
    """Put the partitions of the largest lag to the left of the pages without a document."""
    columns = Table.grid(Column(ratio=1), Column(ratio=1), padding=(0, 3, 0, 0), expand=True)
    columns.add_row(_partitions(report.state, limit), _drops(report, limit))
    return columns


def _partitions(state: State | None, limit: int) -> RenderableType:
    table = _table(["lag by partition", "", ""])
    partitions = state.partitions if state else ()
    lags = sorted(partitions, key=lambda partition: partition.lag, reverse=True)
    shown = lags if len(lags) <= limit else lags[: limit - 1]
    for lag in shown:
        table.add_row(_line(f"{lag.topic} {lag.partition}"), Text(f"{lag.lag:,}"), _share(lag, lags[0]))
    more = len(lags) - len(shown) + (state.more_partitions if state else 0)
    return Lines(table, *_more(more))


def _share(lag: PartitionLag, largest: PartitionLag) -> Text:
    return Text("█" * round(_BAR_CELLS * lag.lag / largest.lag) if largest.lag > 0 else "", "cyan")


def _drops(report: GroupReport, limit: int) -> RenderableType:
    table = _table(["no document", ""])
    kinds = (("skipped", report.counts.skipped), ("dead letter", report.counts.dead_letters))
    drops = [(count, f"{kind}: {reason}") for kind, reasons in kinds for reason, count in reasons.items()]
    drops.sort(reverse=True)
    shown = drops if len(drops) <= limit else drops[: limit - 1]
    for count, text in shown:
        table.add_row(_line(text), Text(f"{count:,}"))
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


def _table(columns: Sequence[str]) -> Table:
    """Make a table whose first and last columns are words, all others numbers."""
    numbers = range(1, len(columns) - (len(columns) > 3))
    justified = (
        Column(
            name,
            justify="right" if index in numbers else "left",
            no_wrap=True,
            overflow="ellipsis",
            header_style="dim",
        )
        for index, name in enumerate(columns)
    )
    return Table(*justified, box=None, padding=(0, 2, 0, 0), pad_edge=False)


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
