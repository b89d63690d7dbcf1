"""Watchdog of a worker that stands still."""

import pytest

from dehusk.streams.worker.process import Watchdog


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Work:
    """A worker whose event loop turns."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.waits = False
        self.age = 0.0
        self.watchdog = Watchdog(lambda: self.waits, lambda: self.age, 300, clock.monotonic)

    def pass_time(self, seconds: int, *, loop_turns: bool = True) -> str | None:
        """Return what the watchdog says in the end, looking every second."""
        for _ in range(seconds):
            self.clock.now += 1
            if loop_turns:
                self.watchdog.beat()
            said = self.watchdog.stall()
        return said


def test_work_that_moves_is_left_alone(clock: Clock) -> None:
    work = Work(clock)
    work.age = 2.0
    assert work.pass_time(1000) is None


def test_an_event_loop_that_stands_still_is_noticed(clock: Clock) -> None:
    work = Work(clock)
    assert work.pass_time(299, loop_turns=False) is None
    assert "event loop" in (work.pass_time(2, loop_turns=False) or "")


def test_a_batch_that_is_stuck_is_noticed(clock: Clock) -> None:
    work = Work(clock)
    work.age = 301.0
    assert work.pass_time(299) is None
    assert "a batch" in (work.pass_time(2) or "")


def test_waiting_for_a_dependency_is_no_standstill_nor_is_its_return(clock: Clock) -> None:
    work = Work(clock)
    work.waits, work.age = True, 4000.0
    assert work.pass_time(4000) is None
    work.waits = False
    assert work.pass_time(200) is None
