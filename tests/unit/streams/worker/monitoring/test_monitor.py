"""The measuring of a worker."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import orjson
import pytest
from faust.types import TP
from prometheus_client import CollectorRegistry

from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.monitoring.state import PartitionLag, Point, RedisMetrics
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.worker.input.lag import Backlog
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.monitoring.monitor import Footprint, Monitor, measure_footprint
from dehusk.streams.worker.preflight import name_dependencies
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker_settings import WorkerSettings

POINT = Point(1.0, 1.0, 2.0, None, None, 0, None, {})


def test_a_state_is_json(monitor: Monitor) -> None:
    state = orjson.loads(orjson.dumps(monitor.state(POINT)))
    assert state["point"]["lag"] is None
    assert state["hindrances"] == ["waits for its partitions"]
    assert (state["model"], state["processes"], state["most_in_flight"]) == (None, None, 100)
    assert state["counts"]["totals"]["pages"] == 0
    assert [each["name"] for each in state["dependencies"]] == ["kafka", "redis", "triton"]


def test_it_names_the_model_that_labeled_the_last_document(monitor: Monitor) -> None:
    for version in ("7", "8"):
        document = WrittenDocument(b"k", b"d", model=ModelVersion("dehusk", version))
        monitor.metrics.count(CleanedMessage(Message(None, b""), [document]))
    monitor.metrics.count(CleanedMessage(Message(None, b"")))
    monitor.footprint = Footprint(5, 3)
    assert monitor.state(POINT).model == "dehusk version 8"
    assert monitor.state(POINT).processes == 3


def test_beside_a_canary_it_names_the_version_that_serves(monitor: Monitor) -> None:
    canary = ModelVersion("dehusk", "8")
    monitor.metrics.count(CleanedMessage(Message(None, b""), [WrittenDocument(b"k", b"d", model=canary)]))
    for serving, version in (({canary: ModelVersion("dehusk", "7")}, "7"), ({}, "8")):
        monitor.metrics.serving = serving
        assert monitor.state(POINT).model == f"dehusk version {version}"


def test_it_says_since_when_a_dependency_is_unavailable(monitor: Monitor) -> None:
    redis = monitor.dependencies.redis
    redis.missed(OSError("refused"))
    assert redis.unavailable_since is not None
    redis.unavailable_since -= 3600
    (state,) = [each for each in monitor.state(POINT).dependencies if each.unavailable_since]
    assert (state.name, state.reason) == ("redis", "refused")
    assert state.unavailable_since is not None
    assert state.unavailable_since <= time.time() - 3599
    redis.answered()
    assert all(
        each.unavailable_since is None and not each.reason for each in monitor.state(POINT).dependencies
    )


def test_of_many_partitions_those_of_the_largest_lag_are_shown(monitor: Monitor) -> None:
    lags = {TP("raw", number): number for number in range(150)}
    state = replace(monitor, backlog=lambda: Backlog(partitions=lags)).state(POINT)
    assert state.more_partitions == 50
    assert state.partitions[0] == PartitionLag("raw", 50, 50)
    assert state.partitions[-1] == PartitionLag("raw", 149, 149)
    assert len(state.partitions) == 100


def test_it_has_what_was_made_without_a_dependency_and_what_servers_say(monitor: Monitor) -> None:
    document = WrittenDocument(b"k", b"d")
    monitor.metrics.count(CleanedMessage(Message(None, b""), [document], degraded=("frequencies",)))
    monitor.servers.redis = RedisMetrics(100, None, 0.5)
    state = monitor.state(POINT)
    assert state.counts.degraded == {"frequencies": 1}
    assert (state.redis, state.triton) == (RedisMetrics(100, None, 0.5), None)


on_linux = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="this is no Linux")


@on_linux
def test_processes_below_are_counted() -> None:
    alone = measure_footprint()
    code = "data = b'x' * (32 << 20); print(flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        both, below = measure_footprint(), measure_footprint(child.pid)
        child.communicate(b"\n")
    assert alone is not None
    assert both is not None
    assert below is not None
    assert both.processes == alone.processes + 1
    assert below.processes == 1
    assert both.bytes > below.bytes > 32 << 20


@on_linux
def test_of_a_process_that_has_ended_nothing_is_known() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert measure_footprint(child.pid) is None


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError])
def test_of_processes_that_cannot_be_read_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    monkeypatch.setattr(Path, "read_text", Mock(side_effect=error))
    assert measure_footprint() is None


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry(), ())


@pytest.fixture
def recorder(metrics: Metrics) -> Monitor:
    """A monitor whose clock advances by a second each time."""
    drops, dependencies = DropLog("k:1", "dead"), name_dependencies(WorkerSettings())
    return Monitor(
        metrics, dependencies, drops, lambda: 7, lambda: Backlog(9, partitions={}), clock=count().__next__
    )


@pytest.fixture
def clean(metrics: Metrics) -> Callable[[], None]:
    """Counts a page of 1,000 bytes with a text of 250 characters."""
    message = CleanedMessage(Message(None, b"x" * 1000), [WrittenDocument(b"k", b"d", characters=250)])
    return lambda: metrics.count(message)


def test_a_worker_whose_membership_is_not_confirmed_is_not_ready(recorder: Monitor) -> None:
    assert recorder.is_ready()
    recorder.is_member = lambda: False
    assert not recorder.is_ready()
    assert recorder.state().hindrances == ("waits for Kafka to confirm its membership in the group",)


def test_a_worker_that_reads_nothing_of_what_there_is_is_not_ready(recorder: Monitor) -> None:
    recorder.backlog = lambda: Backlog(9, partitions={}, unread_seconds=59.0)
    assert recorder.is_ready()
    recorder.backlog = lambda: Backlog(9, partitions={}, unread_seconds=61.0)
    assert not recorder.is_ready()
    assert recorder.state().hindrances == ("has read nothing for 61 s, though the brokers hold messages",)


def test_rates_are_those_of_the_last_ten_seconds(recorder: Monitor, clean: Callable[[], None]) -> None:
    for second in range(20):
        clean()
        clean()
        point = recorder.record(second)
    assert (point.pages_per_second, point.bytes_per_second, point.kept) == (2.0, 2000.0, 0.25)
    for second in range(5):
        point = recorder.record(second)
    assert (point.pages_per_second, point.kept) == (1.0, 0.25)
    for second in range(5):
        point = recorder.record(second)
    assert (point.pages_per_second, point.bytes_per_second, point.kept) == (0.0, 0.0, None)


def test_the_first_seconds_count_as_they_are(recorder: Monitor, clean: Callable[[], None]) -> None:
    clean()
    assert recorder.record(0).pages_per_second == 1.0
    assert recorder.record(1).pages_per_second == 0.5


def test_a_point_has_what_waits_and_the_memory(recorder: Monitor) -> None:
    recorder.footprint = Footprint(1 << 20, 3)
    point = recorder.record(5.0)
    assert (point.time, point.in_flight, point.lag, point.memory) == (5.0, 7, 9, 1 << 20)


def test_times_of_steps_are_those_of_the_last_minute(recorder: Monitor, metrics: Metrics) -> None:
    assert recorder.record(0).steps == {}
    with metrics.step("label"):
        pass
    assert sum(recorder.record(1).steps["label"]) == 1
    for second in range(60):
        point = recorder.record(second)
    assert point.steps == {}
