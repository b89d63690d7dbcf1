"""Workers that share figures, at times that the tests set."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.group import Group
from dehusk.streams.monitoring.messages import (
    SharedPoint,
    SharedState,
    end_record,
    point_record,
    state_record,
)
from dehusk.streams.monitoring.state import (
    STEP_BOUNDS,
    Counts,
    DependencyState,
    PartitionLag,
    Point,
    RedisMetrics,
    State,
    Totals,
)
from dehusk.streams.sources.source import Record

NOW = 1_800_000_000.0
ONE_BATCH = (0, 1, *(0 for _ in STEP_BOUNDS[2:]))


def counts(pages: int) -> Counts:
    """Pages of which one was skipped."""
    totals = Totals(pages, 1000 * pages, pages, pages - 1, 0, 0, 1, 0)
    return Counts(totals, {"not-html": 1}, {}, {})


POINT = Point(NOW, 2.0, 2000.0, 0.25, 5, 7, 100, {"label": ONE_BATCH})
STATE = State(
    POINT,
    "0.1.0",
    "dehusk version 7",
    NOW - 60,
    counts(10),
    (),
    100,
    3,
    (PartitionLag("raw", 0, 5),),
    0,
    (DependencyState("redis", "pages go without", None, ""),),
    None,
    RedisMetrics(1000, None, 0.5),
)


def message(record: Record) -> Message:
    return Message(record.key, record.value, (), "figures", 0, 4)


@dataclass
class Clock:
    """Times that pass when the test says so."""

    now: float = NOW

    def __call__(self) -> float:
        return self.now


@dataclass
class Topic:
    """Topic whose records a group reads at the moment when workers write them."""

    group: Group
    clock: Clock
    name: str = "g"

    def send(self, record: Record, age: float = 0.0) -> None:
        self.group.handle(message(record), int(1000 * (self.clock.now - age)))

    def state(self, worker: str, state: State = STATE, age: float = 0.0) -> None:
        point = replace(state.point, time=self.clock.now - age)
        shared = SharedState("host", "http://host:8080/", replace(state, point=point))
        self.send(state_record(self.name, worker, shared), age)

    def point(self, worker: str, time: float, pages: float = 2.0, of: Counts | None = None) -> None:
        point = replace(POINT, time=time, pages_per_second=pages)
        shared = SharedPoint(point, of or counts(10))
        self.send(point_record(self.name, worker, shared), self.clock.now - time)

    def end(self, worker: str, age: float = 0.0) -> None:
        self.send(end_record(self.name, worker), age)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_topic(clock: Clock) -> Callable[[str], Topic]:
    return lambda name: Topic(Group(name, None, clock, clock), clock, name)


@pytest.fixture
def topic(open_topic: Callable[[str], Topic]) -> Topic:
    return open_topic("g")
