"""Steps of a promotion: what a canary has to wait for before it takes the next one, and for how long."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from dehusk.schemas.rollout import Limits, Rollout, Steps
from dehusk.schemas.trials import CANARY, Figures, WorkerReport, total_comparison, total_figures
from dehusk.streams.rollout.transitions import pause, take_step
from dehusk.streams.rollout.verdict import judge

STALLED = "steps paused, stalled"
"""Begin of the reason of a pause that workers make."""


def wait_reason(
    state: Rollout, reports: Sequence[WorkerReport], seen: Sequence[WorkerReport], now: datetime
) -> str | None:
    """Return what the next step waits for, in words; None if it is to be taken, or there is none to take.

    `reports` are those of the live workers, all of which have to label by the state. `seen` is what all
    workers have seen of its trials, those that have stopped among them; they have to have compared so much
    since the step began that there would be a verdict if a limit was exceeded.
    """
    if state.canary is None or state.steps is None:
        return None
    if held := _hold_reason(state.steps, now):
        return held
    missing = _missing(state, state.canary.version, reports, seen)
    return missing and f"{missing}; else paused at {_in_words(_last_time(state.steps))}"


def due_change(
    state: Rollout, reports: Sequence[WorkerReport], seen: Sequence[WorkerReport], now: datetime, by: str
) -> Rollout | None:
    """Return the next step, or a pause where it has waited for too long; None as long as it is to wait.

    No step is taken of a version that exceeds a limit: those who judge it take it back.
    """
    if state.canary is None or state.steps is None or _hold_reason(state.steps, now):
        return None
    missing = _missing(state, state.canary.version, reports, seen)
    if missing is None:
        exceeds = _exceeds_limit(state, state.canary.version, seen)
        return None if exceeds else take_step(state, by)
    if now < _last_time(state.steps):
        return None
    return pause(state, by, f"{STALLED}: since {_in_words(state.steps.since)}, the next step {missing}")


def _exceeds_limit(state: Rollout, version: str, reports: Sequence[WorkerReport]) -> bool:
    figures = total_figures(reports).get(version, Figures())
    return judge(CANARY, state.limits, figures, total_comparison(reports, CANARY)) is not None


def _hold_reason(steps: Steps, now: datetime) -> str | None:
    if steps.is_paused:
        return "paused"
    end = _later(steps.since, steps.hold_seconds)
    return f"held until {_in_words(end)}" if now < end else None


def _last_time(steps: Steps) -> datetime:
    """Return the time until which the next step may wait."""
    return _later(steps.since, steps.hold_seconds + steps.give_up_seconds)


def _later(time: datetime, seconds: float) -> datetime:
    try:
        return time + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def _in_words(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def _missing(
    state: Rollout, version: str, reports: Sequence[WorkerReport], seen: Sequence[WorkerReport]
) -> str | None:
    return _worker_reason(state, version, reports) or _evidence_reason(state.limits, seen)


def _worker_reason(state: Rollout, version: str, reports: Sequence[WorkerReport]) -> str | None:
    late = [each.worker for each in reports if each.revision < state.revision or each.canary != version]
    if late:
        return f"waits for {', '.join(late)} to label by it"
    return None if reports else "waits for a worker"


def _evidence_reason(limits: Limits, reports: Sequence[WorkerReport]) -> str | None:
    compared = total_comparison(reports, CANARY)
    if compared.pages >= limits.least_pages and compared.calls >= limits.least_calls:
        return None
    return (
        f"waits for {limits.least_pages:,} compared pages and {limits.least_calls:,} timed calls: "
        f"{compared.pages:,} and {compared.calls:,} by now"
    )
