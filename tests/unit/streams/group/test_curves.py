"""The sums of workers' hours."""

from dataclasses import replace

import pytest

from dehusk.streams.group.curves import Curve, summed_hour
from dehusk.streams.worker.live.history import SLOTS, slot_of

from .conftest import NOW, ONE_BATCH, POINT


def test_figures_are_summed_by_slot_and_the_share_kept_by_bytes() -> None:
    one, other = Curve(), Curve()
    one.add(replace(POINT, bytes_per_second=3000.0, kept=0.2))
    other.add(replace(POINT, time=NOW + 3, bytes_per_second=1000.0, kept=0.6))
    other.add(replace(POINT, time=NOW - 10, kept=None, bytes_per_second=0.0, lag=None, memory=None, steps={}))
    before, point = summed_hour([one, other], slot_of(NOW))
    assert (point.pages_per_second, point.bytes_per_second, point.lag) == (4.0, 4000.0, 10)
    assert (point.in_flight, point.memory) == (14, 200)
    assert point.kept == pytest.approx(0.3)
    assert point.steps == {"label": tuple(2 * count for count in ONE_BATCH)}
    assert (before.kept, before.lag, before.memory, before.steps) == (None, None, None, {})
    assert slot_of(before.time) + 1 == slot_of(point.time) == slot_of(NOW)


def test_points_of_another_hour_are_left_out() -> None:
    curve = Curve()
    curve.add(replace(POINT, time=NOW - 3600))
    curve.add(replace(POINT, time=NOW + 10))
    assert summed_hour([curve], slot_of(NOW)) == []


def test_an_older_point_does_not_replace_a_newer_one() -> None:
    curve = Curve()
    curve.add(POINT)
    curve.add(replace(POINT, time=NOW - 10 * SLOTS, pages_per_second=9.0))
    (point,) = summed_hour([curve], slot_of(NOW))
    assert point.pages_per_second == POINT.pages_per_second


def test_counts_of_steps_are_bounded_and_those_of_other_buckets_left_out() -> None:
    curve = Curve()
    curve.add(replace(POINT, steps={"label": tuple(10**9 * count for count in ONE_BATCH), "deliver": (1,)}))
    (point,) = summed_hour([curve], slot_of(NOW))
    assert list(point.steps) == ["label"]
    assert sum(point.steps["label"]) == 65535
