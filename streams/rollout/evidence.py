"""Evidence of trials: what the workers of a group have seen of a version beside the trusted one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dehusk.schemas.rollout import Rollout
from dehusk.schemas.trials import (
    CANARY,
    PROMOTED,
    SHADOW,
    Comparison,
    EndedTrial,
    Figures,
    WorkerReport,
    total_comparison,
    total_figures,
)


@dataclass(frozen=True, slots=True)
class _Pair:
    version: str
    trusted: str
    steps: int | None = None
    """Steps that are left: each is a trial of its own."""


@dataclass(frozen=True, slots=True)
class Begins:
    """Revisions from which on what is seen counts."""

    figures: int
    trials: dict[str, int]
    """Those of the trials that there are."""


def begins(states: Sequence[Rollout]) -> Begins:
    """Return the revisions from which on what is seen counts for the last of some states."""
    trials = {trial: _begin(states, partial(_pair, trial)) for trial in _pairs(states[-1])}
    return Begins(_begin(states, _labeling), trials)


def counting(reports: Iterable[WorkerReport], states: Sequence[Rollout]) -> list[WorkerReport]:
    """Return reports with what counts of them for the trials of the last of some states; without the others.

    What was seen counts from the state on with which its trial began: until then, or of other versions, it
    was seen of another trial.
    """
    pairs, figured, since = _pairs(states[-1]), _labeling(states[-1]), begins(states)

    def counted(report: WorkerReport) -> WorkerReport:
        seen = {
            trial: compared
            for trial, pair in pairs.items()
            if (compared := report.compared(trial)) is not None
            and report.revision >= since.trials[trial]
            and _is_of(report, trial, pair)
        }
        is_figured = report.revision >= since.figures and (report.serving, report.canary) == figured[:2]
        return replace(
            report,
            figures=report.figures if is_figured else {},
            comparison=seen.pop(SHADOW, None),
            trials=seen,
        )

    counts = map(counted, reports)
    return [each for each in counts if each.figures or each.comparison or each.trials]


def _pair(trial: str, state: Rollout) -> _Pair | None:
    return _pairs(state).get(trial)


def _begin(states: Sequence[Rollout], what: Callable[[Rollout], object]) -> int:
    """Return the revision from which on something of the last state is as it is there."""
    last, begin = what(states[-1]), states[-1].revision
    for state in reversed(states[:-1]):
        if state.revision != begin - 1 or what(state) != last:
            break
        begin = state.revision
    return begin


def _labeling(state: Rollout) -> tuple[str, str | None, int | None]:
    """Return the versions that label pages, and the steps that are left."""
    canary = state.canary.version if state.canary else None
    return state.serving, canary, len(state.steps.shares) if state.steps else None


def _is_of(report: WorkerReport, trial: str, pair: _Pair) -> bool:
    """Return True if a worker labels with the versions of a trial."""
    if trial == PROMOTED:
        return report.serving == pair.version
    tried = report.shadow if trial == SHADOW else report.canary
    return (tried, report.serving) == (pair.version, pair.trusted)


def ended_trials(before: Rollout, after: Rollout, reports: Sequence[WorkerReport]) -> list[EndedTrial]:
    """Return the trials that a change ends, with the sum of what workers have seen, by reports that count.

    Those of which nothing was seen are left out.
    """
    going_on = _pairs(after)
    ended = [(trial, pair) for trial, pair in _pairs(before).items() if going_on.get(trial) != pair]
    found = [_ended(trial, pair, after, reports) for trial, pair in ended]
    return [each for each in found if each.comparison != Comparison() or each.figures != Figures()]


def _pairs(state: Rollout) -> dict[str, _Pair]:
    """Return the versions of each trial that a state names."""
    pairs = {}
    if state.shadow:
        pairs[SHADOW] = _Pair(state.shadow.version, state.serving)
    if state.canary:
        steps = len(state.steps.shares) if state.steps else None
        pairs[CANARY] = _Pair(state.canary.version, state.serving, steps)
    if state.promoted_at is not None and state.previous is not None:
        pairs[PROMOTED] = _Pair(state.serving, state.previous)
    return pairs


def _ended(trial: str, pair: _Pair, after: Rollout, reports: Sequence[WorkerReport]) -> EndedTrial:
    comparison = total_comparison(reports, trial)
    figures = comparison.shadow if trial == SHADOW else total_figures(reports).get(pair.version, Figures())
    return EndedTrial(
        trial, pair.version, pair.trusted, after.revision, after.change, len(reports), figures, comparison
    )
