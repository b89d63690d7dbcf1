"""Who uses which version of a model, by what the control topic says."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.rollout.control import Control
from dehusk.streams.rollout.moving import live_reports


@dataclass(frozen=True, slots=True)
class Role:
    """What a version is in the roll-out of a group."""

    group: str
    role: Literal["serving", "canary", "shadow", "previous"]
    share: float | None = None
    """Of a canary and a shadow."""

    def __str__(self) -> str:
        share = "" if self.share is None else f" {self.share:.3g}"
        return f"{self.role}{share} in {self.group}"


def roles(control: Control) -> dict[tuple[str, str], list[Role]]:
    """What the states of all groups name each version for, by model and version."""
    found: dict[tuple[str, str], list[Role]] = {}
    for scope, state in sorted(control.states.items(), key=lambda each: each[0].group):
        for version, role in _named(scope.group, state):
            found.setdefault((scope.model, version), []).append(role)
    return found


def _named(group: str, state: Rollout) -> Iterator[tuple[str, Role]]:
    yield state.serving, Role(group, "serving")
    if state.canary:
        yield state.canary.version, Role(group, "canary", state.canary.share)
    if state.shadow:
        yield state.shadow.version, Role(group, "shadow", state.shadow.share)
    if state.previous:
        yield state.previous, Role(group, "previous")


def unpinned(control: Control, model: str) -> list[Scope]:
    """The roll-outs without a state whose workers are there: they label with the newest version served."""
    scopes = {key.scope for key in control.reports if key.scope.model == model}
    found = [scope for scope in scopes if scope not in control.states and live_reports(control, scope)]
    return sorted(found, key=lambda scope: scope.group)


def pinned_versions(control: Control, model: str) -> set[str]:
    """The versions that the states of all groups name for a model, or go back to."""
    states = [state for scope, state in control.states.items() if scope.model == model]
    return {version for state in states for version in state.kept}


def check_unused(control: Control, model: str, version: str) -> None:
    """See whether no roll-out needs a version.

    Raises:
        ConfigurationError: a state names it, or goes back to it, or a worker labels with it.
    """
    for use in _uses(control, model, version):
        raise ConfigurationError(f"{model}/{version} is needed: {use}")


def _uses(control: Control, model: str, version: str) -> Iterator[str]:
    for scope, state in control.states.items():
        if scope.model == model and version in state.versions:
            yield f"the roll-out of {scope} names it; roll it back, or promote another one"
        elif scope.model == model and version == state.previous:
            yield f"a rollback of {scope} goes back to it, until another one is promoted"
    for scope in {key.scope for key in control.reports if key.scope.model == model}:
        for report in live_reports(control, scope):
            if version in {report.serving, report.canary, report.shadow}:
                yield f"worker {report.worker} of {scope} labels with it"
