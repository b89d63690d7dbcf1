"""Quantiles of durations that were counted in buckets, estimated as Prometheus estimates them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Of how long batches took for a step, in seconds."""

    batches: int
    p50: float
    p95: float
    p99: float


def quantiles(bounds: Sequence[float], counts: Sequence[int]) -> Quantiles | None:
    """Of as many durations as are counted in each bucket; None where there are none.

    Args:
        bounds: the largest duration of each bucket, in seconds; the last one is infinite.
        counts: the durations in each bucket alone.
    """
    batches = sum(counts)
    if not batches:
        return None
    return Quantiles(batches, *(_quantile(share * batches, bounds, counts) for share in (0.5, 0.95, 0.99)))


def _quantile(rank: float, bounds: Sequence[float], counts: Sequence[int]) -> float:
    """The duration at a rank, as if those of a bucket were spread evenly; at most the last finite bound."""
    below = 0
    for (lower, upper), count in zip(pairwise([0.0, *bounds[:-1]]), counts, strict=False):
        if count and below + count >= rank:
            return lower + (upper - lower) * (rank - below) / count
        below += count
    return bounds[-2]
