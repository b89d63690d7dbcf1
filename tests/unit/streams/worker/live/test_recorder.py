"""The measuring of a worker."""

from collections.abc import Callable
from itertools import count

import pytest
from prometheus_client import CollectorRegistry

from dehusk.schemas.pages import Message
from dehusk.streams.worker.assembly import CleanedMessage, Document
from dehusk.streams.worker.live.recorder import Recorder
from dehusk.streams.worker.metrics import Metrics


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry(), ())


@pytest.fixture
def recorder(metrics: Metrics) -> Recorder:
    """One whose clock advances by a second each time."""
    clock = count().__next__
    return Recorder(metrics, lambda: 7, lambda: 9, clock)


@pytest.fixture
def clean(metrics: Metrics) -> Callable[[], None]:
    """Counts a page of 1,000 bytes with a text of 250 characters."""
    message = CleanedMessage(Message(None, b"x" * 1000), [Document(b"k", b"d", characters=250)])
    return lambda: metrics.count(message)


def test_rates_are_those_of_the_last_ten_seconds(recorder: Recorder, clean: Callable[[], None]) -> None:
    for second in range(20):
        clean()
        clean()
        point = recorder.record(second, None)
    assert (point.pages_per_second, point.bytes_per_second, point.kept) == (2.0, 2000.0, 0.25)
    for second in range(5):
        point = recorder.record(second, None)
    assert (point.pages_per_second, point.kept) == (1.0, 0.25)
    for second in range(5):
        point = recorder.record(second, None)
    assert (point.pages_per_second, point.bytes_per_second, point.kept) == (0.0, 0.0, None)


def test_the_first_seconds_count_as_they_are(recorder: Recorder, clean: Callable[[], None]) -> None:
    clean()
    assert recorder.record(0, None).pages_per_second == 1.0
    assert recorder.record(1, None).pages_per_second == 0.5


def test_a_point_has_what_waits_and_the_memory(recorder: Recorder) -> None:
    point = recorder.record(5.0, 1 << 20)
    assert (point.time, point.in_flight, point.lag, point.memory) == (5.0, 7, 9, 1 << 20)


def test_times_of_steps_are_those_of_the_last_minute(recorder: Recorder, metrics: Metrics) -> None:
    assert recorder.record(0, None).steps == {}
    with metrics.step("label"):
        pass
    assert sum(recorder.record(1, None).steps["label"]) == 1
    for second in range(60):
        point = recorder.record(second, None)
    assert point.steps == {}
