"""From one state of a roll-out to the next: what commands and workers do to it."""

from dataclasses import replace
from datetime import UTC, datetime

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Change, Limits, Part, Rollout


def first(serving: str, by: str, limits: Limits) -> Rollout:
    """The state before the first change: workers label with a version that no state names."""
    return Rollout(0, serving, _change(by, "no state yet"), limits=limits)


def pinned(state: Rollout, by: str) -> Rollout:
    """The version that serves serves on, named, whatever Triton serves beside it."""
    return _next(state, by, f"version {state.serving} serves, as before")


def with_canary(state: Rollout, part: Part, by: str, limits: Limits) -> Rollout:
    """The version labels a share of the sites, instead of another canary.

    Raises:
        ConfigurationError: it is the one that serves.
    """
    _require_other(state, part.version)
    said = f"version {part.version} labels {part.share:.3g} of the sites"
    return replace(_next(state, by, said), canary=part, limits=limits)


def with_shadow(state: Rollout, part: Part, by: str, limits: Limits) -> Rollout:
    """The version labels a share of the batches beside the others, and nothing of it is published.

    Raises:
        ConfigurationError: it is the one that serves.
    """
    _require_other(state, part.version)
    said = f"version {part.version} labels {part.share:.3g} of the batches in the shadow"
    return replace(_next(state, by, said), shadow=part, limits=limits)


def promoted(state: Rollout, version: str, by: str, limits: Limits) -> Rollout:
    """The version serves, and is no canary or shadow any more; a canary of another one ends.

    Raises:
        ConfigurationError: it serves already, and alone.
    """
    if state.serving == version and state.canary is None and state.revision:
        raise ConfigurationError(f"version {version} serves already")
    moved = _next(state, by, f"version {version} serves")
    previous = state.serving if state.serving != version else state.previous
    shadow = None if state.shadow and state.shadow.version == version else state.shadow
    return replace(
        moved,
        serving=version,
        previous=previous,
        promoted_at=moved.change.at,
        canary=None,
        shadow=shadow,
        limits=limits,
    )


def rolled_back(state: Rollout, by: str, reason: str) -> Rollout:
    """Without what is tried, or, where nothing is, with the version that served before.

    Raises:
        ConfigurationError: nothing is tried, and no version is known that served before.
    """
    if state.canary or state.shadow:
        return replace(_next(state, by, reason), canary=None, shadow=None)
    if state.previous is None:
        raise ConfigurationError(f"version {state.serving} serves alone, and none is known from before it")
    return _gone_back(_next(state, by, reason), state.previous)


def without(state: Rollout, version: str, by: str, reason: str) -> Rollout | None:
    """The state without a version that is not fit; None where it does not name it, or has no other one."""
    if state.serving == version:
        if state.previous is None:
            return None
        return _gone_back(_next(state, by, reason), state.previous)
    going = _without_parts(_next(state, by, reason), version)
    return None if (going.canary, going.shadow) == (state.canary, state.shadow) else going


def _gone_back(state: Rollout, version: str) -> Rollout:
    """The state in which a version serves again that served before."""
    return _without_parts(replace(state, serving=version, previous=None, promoted_at=None), version)


def _without_parts(state: Rollout, version: str) -> Rollout:
    """The state in which a version is neither canary nor shadow."""
    canary, shadow = (
        part if part and part.version != version else None for part in (state.canary, state.shadow)
    )
    return replace(state, canary=canary, shadow=shadow)


def _next(state: Rollout, by: str, reason: str) -> Rollout:
    return replace(state, revision=state.revision + 1, change=_change(by, reason))


def _change(by: str, reason: str) -> Change:
    return Change(datetime.now(UTC), by, reason)


def _require_other(state: Rollout, version: str) -> None:
    if version == state.serving:
        raise ConfigurationError(f"version {version} serves already: there is nothing to try")
