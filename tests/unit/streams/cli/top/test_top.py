"""A group in a terminal."""

import asyncio
import time
from dataclasses import replace
from io import StringIO

import orjson
import pytest
from click.testing import CliRunner
from rich.console import Console

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.pages import Message
from dehusk.streams.cli import top
from dehusk.streams.cli.top.view import render
from dehusk.streams.monitoring.group import Group, GroupReport, Row
from dehusk.streams.monitoring.history import SLOT_SECONDS, SLOTS
from dehusk.streams.monitoring.messages import SharedPoint, end_record, point_record
from dehusk.streams.monitoring.state import Counts, DependencyState, PartitionLag, Point, State, Totals
from dehusk.streams.settings import KafkaSettings

NOW = 1_800_000_000.0
COUNTS = Counts(Totals(9, 9000, 9, 6, 1, 0, 2, 1), {"not-html": 2}, {"too-many-blocks": 1}, {})
POINT = Point(NOW, 123.4, 1_200_000.0, 0.25, 5678, 7, 420_000_000, {})
HOSTILE = "\x1b]0;owned\x07[red]\x1b[2J\r\n\u202e"


def row(name: str, *, gone: bool = False) -> Row:
    return Row(
        name,
        "host",
        None,
        "0.1.0",
        "dehusk version 7",
        NOW,
        NOW if gone else None,
        1.5,
        1e6,
        12,
        4,
        3,
        10**8,
        (),
    )


def report(workers: int = 2, partitions: int = 4, gone: int = 0) -> GroupReport:
    lags = tuple(PartitionLag("raw-pages", number, number) for number in range(partitions))
    redis = DependencyState("redis", "pages go without", None, "")
    state = State(POINT, "0.1.0", "dehusk version 7", NOW, COUNTS, (), 100, 3, lags, 0, (redis,), None, None)
    rows = [row(f"host-{number:08x}", gone=number < gone) for number in range(workers)]
    hour = tuple(replace(POINT, time=NOW + SLOT_SECONDS * slot) for slot in range(SLOTS))
    return GroupReport("news", state, COUNTS, tuple(rows), hour, None, 0)


def lines(shown: GroupReport, width: int = 80, height: int | None = 24) -> list[str]:
    """Return what a terminal of that size shows."""
    console = Console(file=StringIO(), width=width, height=height or 1000, force_terminal=False)
    console.print(render(shown, width, height))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().rstrip("\n").split("\n")


@pytest.mark.parametrize("workers", [0, 1, 3, 10, 200])
@pytest.mark.parametrize("partitions", [0, 4, 100])
@pytest.mark.parametrize("size", [(80, 24), (80, 40), (200, 50), (40, 24)])
def test_it_fits_on_a_screen(workers: int, partitions: int, size: tuple[int, int]) -> None:
    shown = lines(report(workers, partitions), *size)
    assert len(shown) <= size[1]
    assert all(len(line) <= size[0] for line in shown)


def test_it_says_what_the_group_does() -> None:
    text = "\n".join(lines(report(3, gone=1)))
    for expected in (
        "group news: 2 workers, 1 silent; dehusk 0.1.0, dehusk version 7",
        "123.4 pages/s, 1.20 MB/s, 7 in flight, 25.0% text per byte, 420 MB",
        "lag 5,678; – messages/s come, – are done",
        "9 pages = 6 documents (1 empty)",
        "at most 123",
        "silent 08:00:00Z",
        "raw-pages",
        "skipped: not-html",
        "dead letter: too-many-blocks",
        "available: redis",
    ):
        assert expected in text


@pytest.mark.parametrize(
    ("lag", "arriving", "done", "line"),
    [
        (600, 2.0, 5.0, "lag 600, oldest 2 h 5 min, caught up in 3 min; 2.0 messages/s come, 5.0 are done"),
        (5678, 50.0, 20.0, "lag 5,678, oldest 2 h 5 min, it grows; 50.0 messages/s come, 20.0 are done"),
        (0, 50.0, 50.0, "lag 0; 50.0 messages/s come, 50.0 are done"),
        (None, None, 50.0, "lag –"),
    ],
)
def test_the_lag_has_an_age_and_an_end(
    lag: int | None, arriving: float | None, done: float, line: str
) -> None:
    point = replace(POINT, lag=lag, lag_seconds=7530.0, arriving_per_second=arriving, done_per_second=done)
    full = report()
    assert full.state is not None
    assert line in lines(replace(full, state=replace(full.state, point=point)), width=90)


def test_every_figure_shows_in_80_columns() -> None:
    large = Totals(*[123_456_789 + number for number in range(8)])
    counts = Counts(large, {"not-html": 12_345_671}, {"memory-budget-exceeded": 12_345_672}, {})
    point = Point(NOW, 12_345.6, 234_560_000.0, 0.999, 87_654_321, 6_543, 65_432_000_000, {})
    lags = (PartitionLag("crawl-of-a-customer-with-a-long-name", 127, 76_543_210),)
    state = replace(report().state, point=point, counts=counts, partitions=lags)
    rows = [
        replace(
            row("a-host-with-a-long-name-7f0c2e5a", gone=gone),
            pages_per_second=1_234.5,
            bytes_per_second=98_760_000.0,
            lag=43_210_987,
            partitions=128,
            in_flight=1_023,
            memory=12_345_000_000,
        )
        for gone in (False, True)
    ]
    shown = lines(replace(report(), state=state, counts=counts, workers=tuple(rows)), 80, 24)
    assert len(shown) <= 24
    assert all(len(line) <= 80 for line in shown)
    text = "\n".join(shown)
    figures = [*(f"{123_456_789 + number:,}" for number in (2, 3, 4, 5, 6, 7)), "12,345,671", "12,345,672"]
    figures += ["12,345.6", "234.56", "99.9%", "87,654,321", "6,543", "65,432 MB", "127", "76,543,210"]
    figures += ["1,234.5", "98.76", "43,210,987", "128", "1,023", "12,345 MB", "08:00:00Z"]
    assert [figure for figure in figures if figure not in text] == []


def test_figures_of_a_silent_worker_are_unknown_but_for_its_lag() -> None:
    (line,) = [each for each in lines(report(1, gone=1), 120) if each.startswith("host-")]
    assert line.split()[1:7] == ["–", "–", "12", "4", "–", "–"]


def test_workers_that_find_no_room_are_counted() -> None:
    shown = lines(report(50))
    named = sum("host-" in line for line in shown)
    assert f"and {50 - named} more" in shown


def test_the_partitions_of_the_largest_lag_come_first() -> None:
    shown = [line for line in lines(report(1, 30)) if line.startswith("raw-pages")]
    assert shown[0].split()[:3] == ["raw-pages", "29", "29"]
    assert "█" * 8 in shown[0]


def test_the_hour_is_a_line_whatever_is_known_of_it() -> None:
    full = report()
    rising = tuple(replace(point, pages_per_second=float(at)) for at, point in enumerate(full.points))
    line = next(each for each in lines(replace(full, points=rising)) if "last hour" in each)
    bars = line.partition(" pages/s")[0]
    assert list(bars) == sorted(bars)
    assert (bars[0], bars[-1]) == ("▁", "█")
    recent = next(each for each in lines(replace(full, points=full.points[-30:])) if "last hour" in each)
    assert 0 < recent.count("█") < 10
    assert recent.startswith("   ")
    assert "pages/s, last hour: no points yet" in lines(replace(full, points=()))


def test_without_workers_it_says_so() -> None:
    empty = replace(report(0), state=None)
    assert "no worker runs" in lines(empty)
    silent = replace(empty, silent_since=time.time())
    assert any(each.startswith("no worker heard from since") for each in lines(silent))


def test_an_unavailable_dependency_is_named() -> None:
    shown = report()
    assert shown.state is not None
    missing = DependencyState("redis", "pages go without", NOW, "refused")
    text = "\n".join(lines(replace(shown, state=replace(shown.state, dependencies=(missing,)))))
    assert "redis is unavailable since" in text
    assert "refused" in text


def test_names_of_strangers_do_nothing_to_a_terminal() -> None:
    shown = report()
    assert shown.state is not None
    reasons = Counts(COUNTS.totals, {HOSTILE: 1}, {HOSTILE: 2}, {})
    missing = DependencyState(HOSTILE, HOSTILE, NOW, HOSTILE)
    state = replace(
        shown.state,
        model=HOSTILE,
        version=HOSTILE,
        partitions=(PartitionLag(HOSTILE, 1, 1),),
        dependencies=(missing,),
    )
    workers = (replace(row(HOSTILE), unavailable=(HOSTILE,), model=HOSTILE, version=HOSTILE),)
    hostile = replace(shown, group=HOSTILE, state=state, counts=reasons, workers=workers)
    for width in (80, 200):
        text = "".join(lines(hostile, width))
        assert text.isprintable()


def test_numbers_of_strangers_are_shown_as_they_are() -> None:
    shown = report()
    assert shown.state is not None
    figures = (replace(POINT, pages_per_second=-1e12), *shown.points)
    missing = DependencyState("redis", "", -1e12, "")
    lags = (PartitionLag("raw", 0, -(10**15)), PartitionLag("raw", 1, 10**15))
    state = replace(shown.state, dependencies=(missing,), partitions=lags)
    text = "\n".join(lines(replace(shown, points=figures, state=state), 200))
    assert "1,000,000,000,000,000" in text
    assert "redis is unavailable since" in text


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Record the requests to a topic that holds nothing."""
    asked: list[tuple[str, str, str]] = []

    async def read_group(kafka: KafkaSettings, topic: str, name: str) -> Group:
        asked.append((kafka.brokers, topic, name))
        return Group(name)

    monkeypatch.setattr("dehusk.streams.monitoring.group.read_group", read_group)
    return asked


def test_in_a_pipe_it_is_one_report(reads: list[tuple[str, str, str]]) -> None:
    result = CliRunner().invoke(top.command, ["--brokers", "h:1", "--group", "news"])
    assert (result.exit_code, reads) == (1, [("h:1", "dehusk-monitoring", "news")])
    assert isinstance(result.exception, UnavailableError)
    assert result.output.startswith("group news: 0 workers\nno worker runs\n")
    assert max(map(len, result.output.split("\n"))) <= 160


def test_of_a_group_that_has_ended_the_counts_and_the_time_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = time.time() - 600
    point = replace(POINT, time=ended - 5)
    records = (point_record("news", "a", SharedPoint(point, COUNTS)), end_record("news", "a"))

    async def read_group(_: KafkaSettings, topic: str, name: str) -> Group:
        await asyncio.sleep(0)
        group = Group(name)
        for record in records:
            group.handle(Message(record.key, record.value, (), topic, 0, 0), int(ended * 1000))
        return group

    monkeypatch.setattr("dehusk.streams.monitoring.group.read_group", read_group)
    result = CliRunner().invoke(top.command, ["--group", "news", "--once"])
    assert isinstance(result.exception, UnavailableError)
    told = time.strftime("%H:%M:%S UTC", time.gmtime(ended))
    assert f"no worker heard from since {told}\n9 pages = 6 documents" in result.output
    assert "skipped: not-html" in result.output


def test_programs_get_json(reads: list[tuple[str, str, str]]) -> None:
    result = CliRunner().invoke(top.command, ["--monitoring-topic", "figures", "--json"])
    found = orjson.loads(result.output)
    assert (found["group"], found["state"], found["workers"]) == ("dehusk", None, [])
    assert found["counts"]["totals"]["pages"] == 0
    assert reads[0][1] == "figures"
