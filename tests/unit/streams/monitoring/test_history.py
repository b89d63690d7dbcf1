"""The points of the last hour."""

import math
from dataclasses import replace

import pytest

from dehusk.streams.monitoring.history import (
    SLOTS,
    Curve,
    History,
    Quantiles,
    estimate_quantiles,
    slot_of,
    sum_hour,
    with_quantiles,
)
from dehusk.streams.monitoring.state import STEP_BOUNDS, Point

from .conftest import NOW, ONE_BATCH, POINT


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
    shown = with_quantiles(replace(point(1.0), steps={"label": counts}))
    assert shown["steps"] == {"label": estimate_quantiles(STEP_BOUNDS, counts)}
    assert (shown["time"], shown["pages_per_second"]) == (1.0, 1.0)


def test_figures_are_summed_by_slot_and_the_share_kept_by_bytes() -> None:
    one, other = Curve(), Curve()
    one.add(replace(POINT, bytes_per_second=3000.0, kept=0.2), NOW)
    other.add(replace(POINT, time=NOW + 3, bytes_per_second=1000.0, kept=0.6), NOW)
    other.add(
        replace(POINT, time=NOW - 10, kept=None, bytes_per_second=0.0, lag=None, memory=None, steps={}), NOW
    )
    before, point = sum_hour([one, other], slot_of(NOW))
    assert (point.pages_per_second, point.bytes_per_second, point.lag) == (4.0, 4000.0, 10)
    assert (point.in_flight, point.memory) == (14, 200)
    assert point.kept == pytest.approx(0.3)
    assert point.steps == {"label": tuple(2 * count for count in ONE_BATCH)}
    assert (before.kept, before.lag, before.memory, before.steps) == (None, None, None, {})
    assert slot_of(before.time) + 1 == slot_of(point.time) == slot_of(NOW)


def test_rates_are_summed_as_far_as_they_are_known_and_the_oldest_age_counts() -> None:
    one, other = Curve(), Curve()
    one.add(replace(POINT, arriving_per_second=3.0, dead_letters_per_second=0.5, lag_seconds=7.0), NOW)
    other.add(replace(POINT, arriving_per_second=4.0, lag_seconds=60.0), NOW)
    (point,) = sum_hour([one, other], slot_of(NOW))
    assert (point.arriving_per_second, point.dead_letters_per_second) == (7.0, 0.5)
    assert (point.lag_seconds, point.done_per_second) == (60.0, None)


def test_points_of_another_hour_are_left_out() -> None:
    curve = Curve()
    curve.add(replace(POINT, time=NOW - 3600), NOW)
    curve.add(replace(POINT, time=NOW + 10), NOW)
    assert sum_hour([curve], slot_of(NOW)) == []


def test_an_older_point_does_not_replace_a_newer_one() -> None:
    curve = Curve()
    curve.add(POINT, NOW)
    curve.add(replace(POINT, time=NOW - 10 * SLOTS, pages_per_second=9.0), NOW)
    (point,) = sum_hour([curve], slot_of(NOW))
    assert point.pages_per_second == POINT.pages_per_second


def test_points_in_the_future_of_a_clock_that_was_set_back_are_replaced() -> None:
    curve = Curve()
    curve.add(replace(POINT, time=NOW + 3600), NOW + 3600)
    curve.add(POINT, NOW)
    assert sum_hour([curve], slot_of(NOW)) == sum_hour([_curve(POINT)], slot_of(NOW))


def _curve(point: Point) -> Curve:
    curve = Curve()
    curve.add(point, NOW)
    return curve


def test_counts_of_steps_are_bounded_and_those_of_other_buckets_left_out() -> None:
    curve = Curve()
    curve.add(
        replace(POINT, steps={"label": tuple(10**9 * count for count in ONE_BATCH), "deliver": (1,)}), NOW
    )
    (point,) = sum_hour([curve], slot_of(NOW))
    assert list(point.steps) == ["label"]
    assert sum(point.steps["label"]) == 65535


BOUNDS = (1.0, 2.0, 4.0, math.inf)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((10, 0, 0, 0), Quantiles(10, 0.5, 0.95, 0.99, 5.0)),
        ((0, 100, 0, 0), Quantiles(100, 1.5, 1.95, 1.99, 150.0)),
        ((50, 40, 10, 0), Quantiles(100, 1.0, 3.0, 3.8, 115.0)),
        ((0, 0, 0, 3), Quantiles(3, 4.0, 4.0, 4.0, 12.0)),
    ],
)
def test_durations_are_spread_evenly_over_their_bucket(counts: list[int], expected: Quantiles) -> None:
    found = estimate_quantiles(BOUNDS, counts)
    assert found is not None
    assert (found.batches, found.seconds) == (expected.batches, expected.seconds)
    assert (found.p50, found.p95, found.p99) == pytest.approx((expected.p50, expected.p95, expected.p99))


def test_of_nothing_there_are_none() -> None:
    assert estimate_quantiles(BOUNDS, (0, 0, 0, 0)) is None
