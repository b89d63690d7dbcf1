"""The points of the last hour."""

from dataclasses import replace

from dehusk.streams.worker.counts import STEP_BOUNDS
from dehusk.streams.worker.live.history import History, Point
from dehusk.streams.worker.live.quantiles import quantiles


def point(time: float, in_flight: int = 0) -> Point:
    return Point(time, 1.0, 2.0, 0.5, 3, in_flight, None, {})


def test_of_many_hours_the_last_is_kept() -> None:
    history = History()
    for second in range(4 * 3600):
        history.add(point(second))
    times = [each.time for each in history.points]
    assert len(times) == 360
    assert times[0] == 3 * 3600 + 9
    assert times[-1] == 4 * 3600 - 1


def test_the_last_point_of_ten_seconds_stands_for_them() -> None:
    history = History()
    for second in (0.0, 3.5, 9.9, 10.0, 12.0):
        history.add(point(second))
    assert [each.time for each in history.points] == [9.9, 12.0]


def test_a_clock_that_is_set_back_leaves_points_in_order() -> None:
    history = History()
    for second in (100.0, 110.0, 120.0, 105.0, 115.0):
        history.add(point(second))
    assert [each.time for each in history.points] == [105.0, 115.0]


def test_of_the_counts_of_steps_quantiles_are_shown() -> None:
    counts = (100, *(0 for _ in STEP_BOUNDS[1:]))
    shown = replace(point(1.0), steps={"label": counts}).shown()
    assert shown["steps"] == {"label": quantiles(STEP_BOUNDS, counts)}
    assert (shown["time"], shown["pages_per_second"]) == (1.0, 1.0)
