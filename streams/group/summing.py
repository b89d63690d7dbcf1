"""The figures of several workers as those of one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from dehusk.streams.group.figures import (
    MOST_PARTITIONS,
    Counts,
    DependencyState,
    PartitionLag,
    State,
    farthest_behind,
)
from dehusk.streams.worker.counts import STEP_BOUNDS, Totals
from dehusk.streams.worker.live.history import Point

_MOST_HINDRANCES = 20


def summed_states(states: Mapping[str, State], counts: Counts, now: float) -> State:
    """Workers together, at least one, by their names; `counts` are theirs and those of others before them."""
    workers = list(states.values())
    lags = _lags(workers)
    shown = farthest_behind(lags)
    return State(
        summed_points([worker.point for worker in workers], now),
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


def with_lost(state: State, lost: Mapping[str, State]) -> State:
    """A group with workers that were lost: nobody reads their partitions until Kafka moves them."""
    if not lost:
        return state
    read = {(each.topic, each.partition) for each in state.partitions}
    left = [each for each in _lags(list(lost.values())) if (each.topic, each.partition) not in read]
    unread = sum(each.lag for each in left)
    told = [f"{name} is gone: others read its partitions once Kafka has moved them" for name in lost]
    return replace(
        state,
        point=replace(state.point, lag=(state.point.lag or 0) + unread if left else state.point.lag),
        hindrances=(*told[:_MOST_HINDRANCES], *state.hindrances),
        partitions=farthest_behind([*state.partitions, *left]),
        more_partitions=state.more_partitions + max(0, len(state.partitions) + len(left) - MOST_PARTITIONS),
    )


def summed_points(points: Sequence[Point], time: float) -> Point:
    """Points of several workers at about that time; the share that is kept goes by bytes."""
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


def summed_counts(counts: Sequence[Counts]) -> Counts:
    """What became of the pages of all of them."""
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
    """Different names, each with the workers that have it where there are others."""
    counts = Counter(names)
    if len(counts) < 2:
        return "".join(counts)
    return ", ".join(f"{name} ({count} of {counts.total()})" for name, count in sorted(counts.items()))


def _hindrances(states: Mapping[str, State]) -> tuple[str, ...]:
    all_of_them = [f"{name}: {each}" for name, state in states.items() for each in state.hindrances]
    more = len(all_of_them) - _MOST_HINDRANCES
    return (*all_of_them[:_MOST_HINDRANCES], *([f"and {more:,} more"] if more > 0 else []))


def _lags(workers: Sequence[State]) -> list[PartitionLag]:
    """Each partition once: while partitions move, the worker before tells of one as long as that after it."""
    found: dict[tuple[str, int], PartitionLag] = {}
    for each in (lag for worker in workers for lag in worker.partitions):
        known = found.get((each.topic, each.partition))
        if known is None or each.lag > known.lag:
            found[each.topic, each.partition] = each
    return list(found.values())


def _dependencies(workers: Sequence[State]) -> tuple[DependencyState, ...]:
    """Each dependency of any of them, unavailable while it is to one."""
    of_name: dict[str, list[DependencyState]] = {}
    for worker in workers:
        for dependency in worker.dependencies:
            of_name.setdefault(dependency.name, []).append(dependency)
    return tuple(map(_dependency, of_name.values()))


def _dependency(states: Sequence[DependencyState]) -> DependencyState:
    missing = [each for each in states if each.unavailable_since is not None]
    if not missing:
        return states[0]
    first = min(missing, key=lambda each: each.unavailable_since or 0.0)
    which = f"to {len(missing)} of {len(states)} workers: " if len(states) > 1 else ""
    return DependencyState(first.name, first.consequence, first.unavailable_since, which + first.reason)


def partitions_of(state: State) -> int:
    """How many partitions a worker has."""
    return len(state.partitions) + state.more_partitions


def lags_of(state: State) -> list[PartitionLag]:
    """Its partitions, those that are the farthest behind first."""
    return sorted(state.partitions, key=lambda each: each.lag, reverse=True)
