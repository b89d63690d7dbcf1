"""Quantiles of durations in buckets."""

import math

import pytest

from dehusk.streams.worker.live.quantiles import Quantiles, quantiles

BOUNDS = (1.0, 2.0, 4.0, math.inf)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((10, 0, 0, 0), Quantiles(10, 0.5, 0.95, 0.99)),
        ((0, 100, 0, 0), Quantiles(100, 1.5, 1.95, 1.99)),
        ((50, 40, 10, 0), Quantiles(100, 1.0, 3.0, 3.8)),
        ((0, 0, 0, 3), Quantiles(3, 4.0, 4.0, 4.0)),
    ],
)
def test_durations_are_spread_evenly_over_their_bucket(counts: list[int], expected: Quantiles) -> None:
    found = quantiles(BOUNDS, counts)
    assert found is not None
    assert found.batches == expected.batches
    assert (found.p50, found.p95, found.p99) == pytest.approx((expected.p50, expected.p95, expected.p99))


def test_of_nothing_there_are_none() -> None:
    assert quantiles(BOUNDS, (0, 0, 0, 0)) is None
