"""Knowledge of the workers of a group."""

import logging
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace

import pytest

from dehusk.streams.monitoring.group import GONE_SECONDS, MAX_WORKERS, Group
from dehusk.streams.monitoring.history import SLOTS
from dehusk.streams.monitoring.messages import end_record
from dehusk.streams.monitoring.state import DependencyState, Outage, PartitionLag
from dehusk.streams.sources.source import Record

from .conftest import NOW, STATE, Clock, Topic, counts


def names(group: Group) -> dict[str, float | None]:
    """The workers, with since when they are gone."""
    return {row.worker: row.gone_since for row in group.rows}


def test_the_figures_of_all_workers_are_summed(topic: Topic) -> None:
    for worker in ("a", "b"):
        topic.state(worker)
    state = topic.group.state
    assert state is not None
    assert (state.point.pages_per_second, state.point.lag, state.point.in_flight) == (4.0, 10, 14)
    assert (state.counts.totals.documents, state.counts.skipped) == (18, {"not-html": 2})
    assert [row.worker for row in topic.group.rows] == ["a", "b"]


def test_without_workers_there_is_no_state(topic: Topic) -> None:
    assert topic.group.state is None
    assert topic.group.points() == []


def test_a_lost_worker_is_gone_and_then_forgotten_but_not_what_it_did(topic: Topic, clock: Clock) -> None:
    topic.state("a")
    topic.point("a", NOW - 20)
    topic.state("b")
    for _ in range(8):
        clock.now += 2
        topic.state("b")
    assert names(topic.group) == {"a": NOW, "b": None}
    state = topic.group.state
    assert state is not None
    assert (state.point.pages_per_second, state.counts.totals.pages) == (2.0, 20)
    clock.now += 55
    topic.state("b")
    assert names(topic.group) == {"b": None}
    assert [point.pages_per_second for point in topic.group.points()] == [2.0]
    assert topic.group.counts.totals.pages == 20


def test_a_worker_that_stops_is_not_gone_and_its_counts_stay(topic: Topic) -> None:
    topic.state("a")
    topic.point("a", NOW - 1, of=counts(50))
    topic.point("a", NOW, of=counts(60))
    topic.end("a")
    assert names(topic.group) == {}
    assert topic.group.counts.totals.pages == 60


def test_who_comes_later_reads_the_hour(topic: Topic, clock: Clock) -> None:
    for minute in range(60):
        topic.point("ended", NOW - 60 * minute - 20, pages=1.0, of=counts(minute + 1))
    topic.send(end_record("g", "ended"), 1000.0)
    topic.point("a", NOW - 20, pages=2.0)
    points = topic.group.points()
    assert len(points) == 60
    assert [point.pages_per_second for point in points[-2:]] == [1.0, 3.0]
    assert topic.group.counts.totals.pages == 1 + 10
    assert {point.pages_per_second for point in topic.group.points("ended")} == {1.0}
    clock.now += 3600 + 60
    assert topic.group.points() == []
    assert topic.group.counts.totals.pages == 0


def test_a_message_that_comes_again_counts_once(topic: Topic) -> None:
    for _ in range(3):
        topic.point("a", NOW - 30)
        topic.state("a")
    assert [point.pages_per_second for point in topic.group.points()] == [2.0]
    assert topic.group.counts.totals.pages == 10


def test_clocks_that_differ_by_seconds_change_nothing(topic: Topic) -> None:
    topic.state("fast", age=-12.0)
    topic.state("slow", age=12.0)
    assert names(topic.group) == {"fast": None, "slow": None}


def test_figures_go_on_when_clocks_are_set_back(topic: Topic, clock: Clock) -> None:
    clock.now += 3600
    topic.point("a", clock.now - 20, of=counts(50))
    clock.now -= 3600
    topic.point("a", NOW - 20, pages=3.0, of=counts(60))
    assert topic.group.counts.totals.pages == 60
    assert [point.pages_per_second for point in topic.group.points()] == [3.0]


def test_a_worker_that_was_killed_long_ago_is_not_shown(topic: Topic) -> None:
    topic.state("a", age=600.0)
    assert names(topic.group) == {}
    assert topic.group.counts.totals.pages == 10


def test_who_comes_later_awaits_workers_until_they_are_heard_of_or_silent(topic: Topic, clock: Clock) -> None:
    topic.state("killed", age=10.0)
    topic.state("runs", age=0.5)
    topic.state("fast", age=-10.0)
    topic.end("stopped", age=1.0)
    topic.state("long-gone", age=100.0)
    since = clock.now
    for worker in ("runs", "fast"):
        clock.now += 1
        assert topic.group.awaits(since)
        topic.state(worker)
    assert topic.group.awaits(since)
    assert not topic.group.awaits(NOW - 0.1)
    clock.now = NOW + GONE_SECONDS + 0.1
    assert not topic.group.awaits(since)
    assert names(topic.group) == {"fast": None, "killed": NOW - 10, "runs": None}
    assert topic.group.outages[-1] == Outage("worker killed", NOW - 10, None, "nothing was heard of it")


def test_nothing_is_awaited_of_workers_that_have_stopped(topic: Topic, clock: Clock) -> None:
    topic.state("a")
    topic.end("a")
    assert not topic.group.awaits(clock.now)


def test_other_groups_are_not_counted(topic: Topic, clock: Clock) -> None:
    other = Topic(topic.group, clock, "other")
    other.state("a")
    other.point("a", NOW - 30)
    assert names(topic.group) == {}
    assert topic.group.counts.totals.pages == topic.group.malformed == 0


@pytest.mark.parametrize(
    "record",
    [
        Record(None, None),
        Record(b"", b""),
        Record(b"key", b"value"),
        Record(b"[1,2]", b"{}"),
        Record(b'["g","a",1,2]', b"{}"),
        Record(b'["g","a"]', b""),
        Record(b'["g","a"]', b"[]"),
        Record(b'["g","a"]', b'{"layout":2}'),
        Record(b'["g","a"]', b'{"layout":1,"host":"h","page":null,"state":{}}'),
        Record(b'["g","a",3]', b'{"layout":1,"point":7,"counts":{}}'),
        Record(b"[" * 5000, b""),
        Record(b'["g","a"]', b'{"layout":1' + b" " * (1 << 16) + b"}"),
        Record(b'["g","%s"]' % (b"a" * 2000), None),
        Record(b"\xff\xfe", b"\xff"),
    ],
)
def test_messages_of_others_are_counted_and_logged_once(
    topic: Topic, record: Record, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        topic.send(record)
    assert (topic.group.malformed, len(caplog.records)) == (3, 1)
    assert "figures" in caplog.text
    assert topic.group.state is None


def test_who_hears_nothing_says_since_when(topic: Topic, clock: Clock) -> None:
    topic.state("a")
    assert topic.group.silent_since is None
    clock.now += 30
    assert topic.group.silent_since == NOW
    topic.state("a")
    assert topic.group.silent_since is None


def test_who_comes_after_all_have_ended_says_since_when(topic: Topic, clock: Clock) -> None:
    for worker, ended in (("a", 600.0), ("b", 700.0)):
        topic.state(worker, age=ended + 8)
        topic.point(worker, NOW - ended - 5, of=counts(50))
        topic.end(worker, age=ended)
    for waited in (0.0, 30.0):
        clock.now = NOW + waited
        report = topic.group.report()
        assert (report.state, report.workers, report.silent_since) == (None, (), NOW - 600)
        assert report.counts.totals.pages == 100


def test_a_group_that_never_was_has_no_last_time(topic: Topic, clock: Clock) -> None:
    Topic(topic.group, clock, "other").state("a", age=600.0)
    topic.send(Record(b"key", b"value"), age=600.0)
    for _ in range(3):
        assert topic.group.silent_since is None
        clock.now += 30


def test_a_message_of_a_clock_that_is_fast_has_the_time_at_which_it_came(topic: Topic, clock: Clock) -> None:
    topic.state("a", age=-12.0)
    clock.now += 30
    assert topic.group.silent_since == NOW


def test_a_worker_that_never_hears_itself_says_since_when(clock: Clock) -> None:
    topic = Topic(Group("g", "own", clock, clock), clock)
    topic.end("ended", age=600.0)
    assert topic.group.silent_since is None
    clock.now += 30
    assert topic.group.silent_since == NOW


def test_a_dependency_that_one_worker_misses_is_named(topic: Topic) -> None:
    missing = DependencyState("redis", "pages go without", NOW - 5, "refused")
    topic.state("a", replace(STATE, dependencies=(missing,), hindrances=("redis is unavailable",)))
    topic.state("b")
    state = topic.group.state
    assert state is not None
    assert state.dependencies == (replace(missing, reason="refused (1 of 2 workers)"),)
    assert state.hindrances == ("redis is unavailable: refused (1 of 2 workers)",)
    assert [row.unavailable for row in topic.group.rows] == [("redis",), ()]


def test_an_outage_is_one_line_whatever_workers_it_keeps_from_their_work(topic: Topic) -> None:
    missing = DependencyState("triton", "pages wait", NOW - 5, "refused")
    waits = "waits for its partitions"
    for worker in "abcde":
        hindrances = ("triton is unavailable: refused", *([waits] if worker != "c" else []))
        topic.state(worker, replace(STATE, dependencies=(missing,), hindrances=hindrances))
    state = topic.group.state
    assert state is not None
    assert state.hindrances == (
        "triton is unavailable: refused (5 of 5 workers)",
        f"a, b, d and 1 other worker: {waits}",
    )


def test_a_worker_that_was_frozen_leaves_an_outage(topic: Topic, clock: Clock) -> None:
    topic.state("a")
    topic.state("b")
    for _ in range(5):
        clock.now += 2
        topic.state("b")
    silent = Outage("worker a", NOW, None, "nothing was heard of it")
    assert topic.group.outages == (silent,)
    topic.state("a")
    assert topic.group.outages == (replace(silent, until=NOW + 10),)
    state = topic.group.state
    assert state is not None
    assert state.outages == topic.group.outages
    clock.now += 3700
    assert [each for each in topic.group.outages if each.until is not None] == []


def test_a_reader_that_heard_nothing_blames_no_worker(topic: Topic, clock: Clock) -> None:
    for _ in range(2):
        topic.state("a")
        topic.state("b")
        clock.now += 30
    topic.state("a")
    topic.state("b")
    assert topic.group.outages == ()


@pytest.mark.parametrize(
    ("ages", "silences"), [(range(30, -1, -1), []), ((60, 40, 0), [(NOW - 60, NOW - 40), (NOW - 40, NOW)])]
)
def test_a_worker_that_comes_later_reads_the_silences_of_others(
    clock: Clock, ages: Iterable[int], silences: list[tuple[float, float]]
) -> None:
    topic = Topic(Group("g", "later", clock, clock), clock)
    for age in ages:
        topic.state("a", age=age)
    assert [(each.since, each.until) for each in topic.group.outages] == silences


def test_an_outage_that_workers_meet_each_at_its_moment_is_one(topic: Topic) -> None:
    met = {"a": (NOW - 30, NOW - 20), "b": (NOW - 28, NOW - 15), "c": (NOW - 12, None)}
    for worker, (since, until) in met.items():
        topic.state(worker, replace(STATE, outages=(Outage("redis", since, until, f"refused to {worker}"),)))
    assert topic.group.outages == (Outage("redis", NOW - 30, None, "refused to a"),)
    topic.end("c")
    assert topic.group.outages == (Outage("redis", NOW - 30, NOW, "refused to a"),)
    topic.state("a", replace(STATE, outages=(Outage("redis", NOW - 300, NOW - 290, "refused"),)))
    assert [(each.since, each.until) for each in topic.group.outages] == [
        (NOW - 300, NOW - 290),
        (NOW - 28, NOW),
    ]


def test_the_partitions_of_a_lost_worker_stay_until_another_one_reads_them(
    topic: Topic, clock: Clock
) -> None:
    topic.state("a", replace(STATE, partitions=(PartitionLag("raw", 0, 5), PartitionLag("raw", 1, 40))))
    topic.state("b", replace(STATE, partitions=(PartitionLag("raw", 2, 6),)))
    clock.now += 12
    topic.state("b", replace(STATE, partitions=(PartitionLag("raw", 0, 5), PartitionLag("raw", 2, 6))))
    state = topic.group.state
    assert state is not None
    assert [(each.partition, each.lag) for each in state.partitions] == [(0, 5), (1, 40), (2, 6)]
    assert [each.worker for each in state.partitions] == ["b", "a", "b"]
    assert state.point.lag == STATE.point.lag + 40
    assert state.hindrances == ("nothing is heard of a: others read the partitions once Kafka moves them",)


def test_partitions_of_a_lost_worker_are_not_counted_twice(topic: Topic, clock: Clock) -> None:
    def lags(count: int) -> tuple[PartitionLag, ...]:
        return tuple(PartitionLag("raw", partition, 5) for partition in range(count))

    topic.state("a", replace(STATE, partitions=lags(90)))
    topic.state("b", replace(STATE, partitions=lags(150)[90:]))
    clock.now += 12
    topic.state("b", replace(STATE, partitions=lags(90)[:70]))
    topic.state("c", replace(STATE, partitions=lags(150)[70:]))
    state = topic.group.state
    assert state is not None
    assert (state.point.lag, state.partition_count) == (2 * (STATE.point.lag or 0), 150)
    topic.state("c", replace(STATE, partitions=lags(170)[70:], more_partitions=30))
    state = topic.group.state
    assert state is not None
    assert (state.point.lag, state.partition_count) == (None, 200)


def test_the_lag_of_a_group_is_unknown_while_that_of_one_worker_is(topic: Topic) -> None:
    topic.state("a")
    topic.state("b", replace(STATE, point=replace(STATE.point, lag=None), partitions=()))
    state = topic.group.state
    assert state is not None
    assert state.point.lag == STATE.point.lag  # the other one has no partition
    topic.state("a", replace(STATE, point=replace(STATE.point, lag_seconds=3.0)))
    topic.state("b", replace(STATE, point=replace(STATE.point, lag=None), partitions=(), more_partitions=2))
    state = topic.group.state
    assert state is not None
    assert (state.point.lag, state.point.lag_seconds) == (None, None)


def test_the_messages_of_a_lost_worker_grow_older(topic: Topic, clock: Clock) -> None:
    topic.state("a", replace(STATE, point=replace(STATE.point, lag_seconds=30.0)))
    clock.now += 12
    topic.state("b", replace(STATE, point=replace(STATE.point, lag_seconds=1.0), partitions=()))
    state = topic.group.state
    assert state is not None
    assert state.point.lag_seconds == 42.0


def test_a_partition_that_moves_is_shown_once(topic: Topic) -> None:
    topic.state("a", replace(STATE, partitions=(PartitionLag("raw", 0, 5), PartitionLag("raw", 1, 2))))
    topic.state("b", replace(STATE, partitions=(PartitionLag("raw", 0, 7),)))
    state = topic.group.state
    assert state is not None
    assert state.partitions == (PartitionLag("raw", 0, 7, "b"), PartitionLag("raw", 1, 2, "a"))
    assert state.more_partitions == 0


def test_different_versions_are_counted(topic: Topic) -> None:
    for worker, model in (("a", "dehusk version 7"), ("b", "dehusk version 8"), ("c", "dehusk version 8")):
        topic.state(worker, replace(STATE, model=model))
    state = topic.group.state
    assert state is not None
    assert (state.version, state.model) == ("0.1.0", "dehusk version 7 (1 of 3), dehusk version 8 (2 of 3)")


def test_the_memory_for_many_workers_is_bounded(topic: Topic, clock: Clock) -> None:
    tracemalloc.start()
    for number in range(MAX_WORKERS + 50):
        clock.now += 0.01
        topic.state(f"worker-{number}")
        topic.point(f"worker-{number}", clock.now - 20)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(topic.group.rows) == MAX_WORKERS
    assert topic.group.rows[0].worker == "worker-100"
    assert taken < MAX_WORKERS * 100_000
    assert topic.group.points()[0].pages_per_second == 2.0 * MAX_WORKERS


def test_an_hour_of_a_worker_has_no_more_than_its_points(topic: Topic, clock: Clock) -> None:
    for _ in range(2 * SLOTS):
        clock.now += 10
        topic.point("a", clock.now)
    assert len(topic.group.points()) == SLOTS - 2  # the points of the last seconds are still to come


def test_a_point_of_the_future_is_left_out(topic: Topic) -> None:
    topic.point("a", NOW + 600)
    assert topic.group.points("a") == []
