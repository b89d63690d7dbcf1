"""Who uses which version of a model, by what the control topic says."""

from collections.abc import Iterator

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Scope
from dehusk.streams.rollout.control import Control
from dehusk.streams.rollout.moving import live_reports


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
