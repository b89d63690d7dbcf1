"""Evidence of trials that end: what the workers of a group have seen of a version beside the trusted one."""

from collections.abc import Sequence
from dataclasses import dataclass

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


def ended_trials(before: Rollout, after: Rollout, reports: Sequence[WorkerReport]) -> list[EndedTrial]:
    """Return the trials that a change ends, with the sum of what the workers have seen that followed it.

    Those of which nothing was seen are left out.
    """
    following = [each for each in reports if each.revision == before.revision]
    going_on = _pairs(after)
    ended = [(trial, pair) for trial, pair in _pairs(before).items() if going_on.get(trial) != pair]
    found = [_ended(trial, pair, after, following) for trial, pair in ended]
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
