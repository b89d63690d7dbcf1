"""Sums of the states, points and counts of several workers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from dehusk.streams.monitoring.state import (
    MAX_PARTITIONS,
    STEP_BOUNDS,
    Counts,
    DependencyState,
    PartitionLag,
    Point,
    State,
    Totals,
    largest_lags,
)

_MAX_HINDRANCES = 20


def sum_states(states: Mapping[str, State], counts: Counts, now: float) -> State:
    """Sum the states of workers, at least one, by their names.

    Args:
        states: the state of each worker.
        counts: their counts, with those of workers that have ended.
        now: the time of the sum, in seconds since 1970.
    """
    workers = list(states.values())
    lags = _lags(workers)
    shown = largest_lags(lags)
    return State(
        sum_points([worker.point for worker in workers], now),
        version=_names(worker.version for worker in workers),
        model=_names(worker.model for worker in workers if worker.model) or None,
        started=min(worker.started for worker in workers),
        counts=counts,
        hindrances=_hindrances(states),
        most_in_flight=sum(worker.most_in_flight for worker in workers),
        processes=_sum_of_known(worker.processes for worker in workers),
        partitions=shown,
        more_partitions=len(lags) - len(shown) + sum(worker.more_partitions for worker in workers),
        dependencies=_dependencies(workers),
        triton=next((worker.triton for worker in workers if worker.triton), None),
        redis=next((worker.redis for worker in workers if worker.redis), None),
    )


def add_lost(state: State, lost: Mapping[str, State]) -> State:
    """Add lost workers to a state: their partitions are not read until Kafka reassigns them."""
    if not lost:
        return state
    read = {(each.topic, each.partition) for each in state.partitions}
    left = [each for each in _lags(list(lost.values())) if (each.topic, each.partition) not in read]
    unread = sum(each.lag for each in left)
    gone = [f"{name} is gone: others read its partitions once Kafka has moved them" for name in lost]
    return replace(
        state,
        point=replace(state.point, lag=(state.point.lag or 0) + unread if left else state.point.lag),
        hindrances=(*gone[:_MAX_HINDRANCES], *state.hindrances),
        partitions=largest_lags([*state.partitions, *left]),
        more_partitions=state.more_partitions + max(0, len(state.partitions) + len(left) - MAX_PARTITIONS),
    )


def sum_points(points: Sequence[Point], time: float) -> Point:
    """Sum points of workers at about that time; the share that is kept is weighted by bytes."""
    volume = sum(point.bytes_per_second for point in points)
    characters = sum((point.kept or 0.0) * point.bytes_per_second for point in points)
    return Point(
        time,
        sum(point.pages_per_second for point in points),
        volume,
        characters / volume if volume else None,
        _sum_of_known(point.lag for point in points),
        sum(point.in_flight for point in points),
        _sum_of_known(point.memory for point in points),
        _steps(points),
    )


def sum_counts(counts: Sequence[Counts]) -> Counts:
    """Sum the counts of workers."""
    names = [field.name for field in fields(Totals)]
    totals = {name: sum(getattr(each.totals, name) for each in counts) for name in names}
    return Counts(
        Totals(**totals),
        _by_reason(each.skipped for each in counts),
        _by_reason(each.dead_letters for each in counts),
        _by_reason(each.degraded for each in counts),
    )


def _by_reason(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


def _steps(points: Sequence[Point]) -> dict[str, tuple[int, ...]]:
    total: dict[str, tuple[int, ...]] = {}
    for point in points:
        for step, counts in point.steps.items():
            if len(counts) == len(STEP_BOUNDS):
                before = total.get(step, (0,) * len(counts))
                total[step] = tuple(map(sum, zip(before, counts, strict=True)))
    return total


def _sum_of_known(figures: Iterable[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None


def _names(names: Iterable[str]) -> str:
    """Join different names, with the number of workers of each if there are several."""
    counts = Counter(names)
    if len(counts) < 2:
        return "".join(counts)
    return ", ".join(f"{name} ({count} of {counts.total()})" for name, count in sorted(counts.items()))


def _hindrances(states: Mapping[str, State]) -> tuple[str, ...]:
    hindrances = [f"{name}: {each}" for name, state in states.items() for each in state.hindrances]
    more = len(hindrances) - _MAX_HINDRANCES
    return (*hindrances[:_MAX_HINDRANCES], *([f"and {more:,} more"] if more > 0 else []))


def _lags(workers: Sequence[State]) -> list[PartitionLag]:
    """Return each partition once, with its largest lag: during a rebalance two workers may report it."""
    largest: dict[tuple[str, int], PartitionLag] = {}
    for each in (lag for worker in workers for lag in worker.partitions):
        known = largest.get((each.topic, each.partition))
        if known is None or each.lag > known.lag:
            largest[each.topic, each.partition] = each
    return list(largest.values())


def _dependencies(workers: Sequence[State]) -> tuple[DependencyState, ...]:
    """Return the dependencies of all; one is unavailable if it is so for any worker."""
    by_name: dict[str, list[DependencyState]] = {}
    for worker in workers:
        for dependency in worker.dependencies:
            by_name.setdefault(dependency.name, []).append(dependency)
    return tuple(map(_dependency, by_name.values()))


def _dependency(states: Sequence[DependencyState]) -> DependencyState:
    missing = [each for each in states if each.unavailable_since is not None]
    if not missing:
        return states[0]
    first = min(missing, key=lambda each: each.unavailable_since or 0.0)
    workers_affected = f"to {len(missing)} of {len(states)} workers: " if len(states) > 1 else ""
    return DependencyState(
        first.name, first.consequence, first.unavailable_since, workers_affected + first.reason
    )
