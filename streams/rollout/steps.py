"""Steps of a promotion: what a canary has to wait for before it takes the next one."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from dehusk.schemas.rollout import Limits, Rollout, Steps
from dehusk.schemas.trials import CANARY, WorkerReport, total_comparison


def wait_reason(state: Rollout, reports: Sequence[WorkerReport], now: datetime) -> str | None:
    """Return what the next step waits for, in words; None if it is to be taken, or there is none to take.

    `reports` are those of the live workers. All of them have to label by the state, and together to have
    compared so much since the step began that there would be a verdict if a limit was exceeded.
    """
    if state.canary is None or state.steps is None:
        return None
    return (
        _hold_reason(state.steps, now)
        or _worker_reason(state, state.canary.version, reports)
        or _evidence_reason(state.limits, reports)
    )


def _hold_reason(steps: Steps, now: datetime) -> str | None:
    if steps.is_paused:
        return "paused"
    end = steps.since + timedelta(seconds=steps.hold_seconds)
    return f"held until {end:%Y-%m-%d %H:%M:%S} UTC" if now < end else None


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
