"""View of a roll-out for the live page: versions, what is seen of them, and the latest changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dehusk.schemas.rollout import Rollout, VersionRole
from dehusk.schemas.trials import TRIALS, Figures, WorkerReport, quantile, total, total_figures

_HOUR = timedelta(hours=1)
_MAX_CHANGES = 20


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version of a roll-out, with what all workers have seen of it since the versions last changed."""

    version: str
    role: VersionRole
    share: float | None
    """Share of the sites or batches; None where it takes what is left."""
    pages: int
    failed: int
    """Pages without an answer, or without probabilities, or that were answered too late."""
    kept: float | None
    """Share of words that are kept; None before any."""
    p50: float | None
    """Seconds of a call; None before any, as `p99`."""
    p99: float | None


@dataclass(frozen=True, slots=True)
class TrialView:
    """Comparison of a version on trial with the trusted one, on the same pages."""

    trial: str
    pages: int
    disagreement: float
    """Share of blocks that are decided otherwise."""
    f1: float
    """F1 of the words kept, as if the trusted version were right."""
    kept: float
    """Share of the words of these pages that the version on trial keeps."""
    trusted_kept: float
    """Share of them that the trusted version keeps."""
    slowdown: float | None
    """Median time of a call as a multiple of the trusted version's; None without calls."""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A change of the state."""

    time: float
    """Seconds since 1970."""
    revision: int
    by: str
    reason: str
    taken_back: str | None
    """Version that a worker has taken back by it."""


@dataclass(frozen=True, slots=True)
class RolloutView:
    """A roll-out at one moment."""

    revision: int
    versions: tuple[VersionView, ...]
    trials: tuple[TrialView, ...]
    workers: int
    """Workers that report."""
    following: int
    """Those of them that label by the state."""
    refused: tuple[str, ...]
    """Versions that workers do not label with, with the reason."""
    changes: tuple[ChangeView, ...]
    """The latest changes of the last hour, oldest first; the last one of all in any case."""


def view(
    state: Rollout,
    reports: Sequence[WorkerReport],
    changes: Sequence[Rollout],
    seen: Sequence[WorkerReport],
) -> RolloutView:
    """Return the view of a state, by the reports of live workers and the states that there were.

    `seen` is what all workers have seen of its trials, those that have stopped among them.
    """
    refused = [item for each in reports for item in each.refused.items()]
    recent = [each for each in changes if datetime.now(UTC) - each.change.at < _HOUR]
    return RolloutView(
        revision=state.revision,
        versions=tuple(_versions(state, seen)),
        trials=tuple(_trials(seen)),
        workers=len(reports),
        following=sum(each.revision >= state.revision for each in reports),
        refused=tuple(dict.fromkeys(f"{version}: {why}" for version, why in refused)),
        changes=tuple(map(_change, recent[-_MAX_CHANGES:] or [state])),
    )


def _versions(state: Rollout, reports: Sequence[WorkerReport]) -> Iterator[VersionView]:
    figures = total_figures(reports)
    compared = total(each.comparison for each in reports)
    for version, role, share in state.roles():
        if role == "shadow":
            yield _version(version, role, share, compared.shadow if compared else None)
        elif role != "previous" or version not in state.versions:
            yield _version(version, role, share, figures.get(version))


def _version(version: str, role: VersionRole, share: float | None, found: Figures | None) -> VersionView:
    figures = found or Figures()
    return VersionView(
        version,
        role,
        share,
        figures.pages,
        figures.pages - figures.labeled,
        figures.kept_share if figures.words else None,
        figures.seconds(0.5) if figures.calls else None,
        figures.seconds(0.99) if figures.calls else None,
    )


def _trials(reports: Sequence[WorkerReport]) -> Iterator[TrialView]:
    for trial in TRIALS:
        found = total(each.compared(trial) for each in reports)
        if found is not None and found.pages:
            slowdown = quantile(found.slowdowns, 0.5) if found.calls else None
            words = max(found.words, 1)
            kept, trusted_kept = found.kept / words, found.trusted_kept / words
            yield TrialView(trial, found.pages, found.disagreement, found.f1, kept, trusted_kept, slowdown)


def _change(state: Rollout) -> ChangeView:
    change = state.change
    return ChangeView(change.at.timestamp(), state.revision, change.by, change.reason, change.taken_back)
