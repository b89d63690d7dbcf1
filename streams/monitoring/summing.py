"""Sums of the states and counts of several workers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from dehusk.streams.monitoring.history import sum_points
from dehusk.streams.monitoring.state import (
    MAX_PARTITIONS,
    Counts,
    DependencyState,
    PartitionLag,
    State,
    Totals,
    largest_lags,
)
from dehusk.streams.wording import pluralize

_MAX_HINDRANCES = 20
_MAX_NAMES = 3
"""Workers that a line names."""


def sum_states(states: Mapping[str, State], counts: Counts, now: float) -> State:
    """Sum the states of workers, at least one, by their names.

    Args:
        states: the state of each worker.
        counts: their counts, with those of workers that have ended.
        now: the time of the sum, in seconds since 1970.
    """
    workers = list(states.values())
    is_lag_known = all(each.point.lag is not None or not each.partition_count for each in workers)
    point = sum_points([worker.point for worker in workers], now)
    dependencies = _dependencies(workers)
    processes = [worker.processes for worker in workers if worker.processes is not None]
    lags = _lags(states)
    shown = largest_lags(lags)
    return State(
        point if is_lag_known else replace(point, lag=None, lag_seconds=None),
        version=_names(worker.version for worker in workers),
        model=_names(worker.model for worker in workers if worker.model) or None,
        started=min(worker.started for worker in workers),
        counts=counts,
        hindrances=_hindrances(states, dependencies),
        most_in_flight=sum(worker.most_in_flight for worker in workers),
        processes=sum(processes) if processes else None,
        partitions=shown,
        more_partitions=len(lags) - len(shown) + sum(worker.more_partitions for worker in workers),
        dependencies=dependencies,
        triton=next((worker.triton for worker in workers if worker.triton), None),
        redis=next((worker.redis for worker in workers if worker.redis), None),
    )


def add_lost(state: State, running: Mapping[str, State], lost: Mapping[str, State]) -> State:
    """Add lost workers to the sum of the running ones: their partitions are not read until Kafka moves them.

    Where a worker has more partitions than it tells, nobody knows which are read, nor the lag.
    """
    if not lost:
        return state
    are_known = not any(each.more_partitions for each in (*running.values(), *lost.values()))
    read = {(each.topic, each.partition) for each in _lags(running)}
    left = [each for each in _lags(lost) if are_known and (each.topic, each.partition) not in read]
    unread = sum(each.lag for each in left)
    point = state.point
    ages = [
        each.point.lag_seconds + point.time - each.point.time  # its messages go on to wait
        for each in lost.values()
        if left and each.point.lag_seconds
    ]
    if point.lag_seconds is not None:
        ages.append(point.lag_seconds)
    silent = f"nothing is heard of {_enumerate(list(lost))}: others read the partitions once Kafka moves them"
    return replace(
        state,
        point=replace(
            point,
            lag=point.lag + unread if are_known and point.lag is not None else None,
            lag_seconds=max(ages, default=None),
        ),
        hindrances=(silent, *state.hindrances),
        partitions=largest_lags([*state.partitions, *left]),
        more_partitions=state.more_partitions + max(0, len(state.partitions) + len(left) - MAX_PARTITIONS),
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


def _names(names: Iterable[str]) -> str:
    """Join different names, with the number of workers of each if there are several."""
    counts = Counter(names)
    if len(counts) < 2:
        return "".join(counts)
    return ", ".join(f"{name} ({count} of {counts.total()})" for name, count in sorted(counts.items()))


def _hindrances(states: Mapping[str, State], dependencies: Iterable[DependencyState]) -> tuple[str, ...]:
    """Return one line for each unavailable dependency, and for all workers that wait for the same reason."""
    outages = [
        f"{each.name} is unavailable: {each.reason}" for each in dependencies if each.unavailable_since
    ]
    waiting: dict[str, list[str]] = {}
    for name, state in states.items():
        missing = tuple(f"{each.name} is unavailable" for each in state.unavailable)
        for each in state.hindrances:
            if not each.startswith(missing):
                waiting.setdefault(each, []).append(name)
    lines = [*outages, *(f"{_enumerate(names)}: {each}" for each, names in waiting.items())]
    more = len(lines) - _MAX_HINDRANCES
    return (*lines[:_MAX_HINDRANCES], *([f"and {more:,} more"] if more > 0 else []))


def _enumerate(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {pluralize(more, 'other worker')}" if more > 0 else "")


def _lags(states: Mapping[str, State]) -> list[PartitionLag]:
    """Return each partition once, with its largest lag: during a rebalance two workers may report it."""
    largest: dict[tuple[str, int], PartitionLag] = {}
    for name, each in ((name, lag) for name, state in states.items() for lag in state.partitions):
        known = largest.get((each.topic, each.partition))
        if known is None or each.lag > known.lag:
            largest[each.topic, each.partition] = replace(each, worker=name)
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
    affected = f" ({len(missing)} of {len(states)} workers)" if len(states) > 1 else ""
    return DependencyState(first.name, first.consequence, first.unavailable_since, first.reason + affected)
