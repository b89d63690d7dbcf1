"""Transitions from one state of a roll-out to the next, as commands and workers make them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import GIVE_UP_SECONDS, Change, Part, Rollout, Steps
from dehusk.streams.wording import encodable

_MAX_REASON = 2000
"""Characters of a reason, which may quote what a server has answered."""


def first_state(serving: str, by: str) -> Rollout:
    """Return the state before the first change: workers label with a version that no state names."""
    return Rollout(0, serving, Change(datetime.now(UTC), by, "no state yet"))


def with_canary(state: Rollout, part: Part, by: str) -> Rollout:
    """Have a version label a share of the sites, instead of another canary.

    If it served before, the probation of the one that serves ends: neither is a measure of the other while
    both are tried.

    Raises:
        ConfigurationError: it is the one that serves.
    """
    _require_other(state, part.version)
    reason = f"version {part.version} labels {describe_share(part.share)} of the sites"
    promoted_at = None if part.version == state.previous else state.promoted_at
    return replace(_next(state, by, reason), canary=part, steps=None, promoted_at=promoted_at)


def with_shadow(state: Rollout, part: Part, by: str) -> Rollout:
    """Have a version label a share of the batches as well, of which nothing is published.

    Raises:
        ConfigurationError: it is the one that serves, or the trusted one beside that, which it is compared
            with anyway: of what differs, each would be held against the other one.
    """
    _require_other(state, part.version)
    if part.version == state.trusted(datetime.now(UTC)):
        raise ConfigurationError(
            f"version {state.serving} is on probation, and compared with version {part.version} anyway: "
            "`dehusk model show` has what differs; --limit probation-seconds=0 ends the probation"
        )
    reason = f"version {part.version} labels {describe_share(part.share)} of the batches in the shadow"
    return replace(_next(state, by, reason), shadow=part)


def with_steps(
    state: Rollout,
    version: str,
    shares: Sequence[float],
    hold: float,
    by: str,
    *,
    give_up: float = GIVE_UP_SECONDS,
) -> Rollout:
    """Have a version label one share of the sites after the other, and then serve.

    Each is held for some seconds, and given up if the next step cannot be taken some seconds later.

    Raises:
        ConfigurationError: it is the one that serves.
    """
    first, *others = shares
    tried = with_canary(state, Part(version, first), by)
    return replace(tried, steps=Steps((*others,), hold, tried.change.at, give_up_seconds=give_up))


def take_step(state: Rollout, by: str) -> Rollout:
    """Have the canary take its next step: a larger share of the sites or, after the last one, all.

    Raises:
        ConfigurationError: it has none to take.
    """
    canary, steps = _stepped(state)
    if not steps.shares:
        return promote(state, canary.version, by)
    part = replace(canary, share=steps.shares[0])
    taken = with_canary(state, part, by)
    return replace(taken, steps=replace(steps, shares=steps.shares[1:], since=taken.change.at))


def pause(state: Rollout, by: str, reason: str) -> Rollout:
    """Have the canary take no further step.

    Raises:
        ConfigurationError: it has none to take, or is paused.
    """
    _, steps = _stepped(state)
    if steps.is_paused:
        raise ConfigurationError("the steps are paused already")
    return replace(_next(state, by, reason), steps=replace(steps, is_paused=True))


def resume(state: Rollout, by: str, reason: str) -> Rollout:
    """Have the canary hold its share once more, and go on.

    Raises:
        ConfigurationError: it has no steps to take, or is not paused.
    """
    _, steps = _stepped(state)
    if not steps.is_paused:
        raise ConfigurationError("the steps are not paused")
    resumed = _next(state, by, reason)
    return replace(resumed, steps=replace(steps, is_paused=False, since=resumed.change.at))


def _stepped(state: Rollout) -> tuple[Part, Steps]:
    if state.canary is None or state.steps is None:
        raise ConfigurationError("no version is promoted in steps")
    return state.canary, state.steps


def promote(state: Rollout, version: str, by: str) -> Rollout:
    """Have a version serve that is no canary or shadow any more; a canary of another one ends.

    Another version than before is on probation; one that serves already is not once more.

    Raises:
        ConfigurationError: it serves already, and alone.
    """
    if state.serving == version and state.canary is None and state.revision:
        raise ConfigurationError(f"version {version} serves already")
    changed = _next(state, by, f"version {version} serves")
    is_other = state.serving != version
    return replace(
        changed,
        serving=version,
        previous=state.serving if is_other else state.previous,
        promoted_at=changed.change.at if is_other else state.promoted_at,
        canary=None,
        steps=None,
        shadow=None if state.shadow and state.shadow.version == version else state.shadow,
    )


def roll_back(state: Rollout, by: str, reason: str) -> Rollout:
    """End what is tried or, where nothing is, go back to the version that served before.

    Raises:
        ConfigurationError: nothing is tried, and no version is known that served before; or workers have just
            taken a version back, so that the one that serves is not the one to leave.
    """
    if state.canary or state.shadow:
        return replace(_next(state, by, reason), canary=None, shadow=None, steps=None)
    if state.previous is None:
        raise ConfigurationError(f"version {state.serving} serves alone, and none is known from before it")
    if state.change.taken_back is not None:
        raise ConfigurationError(
            f"{state.change.by} has taken version {state.change.taken_back} back already, and version "
            f"{state.serving} serves; to go back further, promote version {state.previous}"
        )
    return _serve_previous(_next(state, by, reason), state.previous)


def without_version(state: Rollout, version: str, by: str, reason: str) -> Rollout | None:
    """Return the state without an unfit version; None where it does not name it, or has no other one.

    If it served before, it is not gone back to.
    """
    changed = _next(state, by, reason)
    changed = replace(changed, change=replace(changed.change, taken_back=version))
    if state.serving == version:
        return None if state.previous is None else _serve_previous(changed, state.previous)
    left = _without_parts(changed, version)
    if (left.canary, left.shadow) == (state.canary, state.shadow):
        return None
    return replace(left, previous=None, promoted_at=None) if version == state.previous else left


def describe_versions(serving: str, canary: Part | None = None, shadow: Part | None = None) -> str:
    """Return in words which versions label what."""
    words = [f"version {serving}"]
    if canary:
        words.append(f"version {canary.version} for {describe_share(canary.share)} of the sites")
    if shadow:
        words.append(
            f"version {shadow.version} in the shadow for {describe_share(shadow.share)} of the batches"
        )
    return ", ".join(words)


def describe_state(state: Rollout | None) -> str:
    """Return in words which versions label what by a state."""
    if state is None:
        return "no state: the version that each labeler chooses"
    described = describe_versions(state.serving, state.canary, state.shadow)
    return f"{described}, {_describe_steps(state.steps)}" if state.canary and state.steps else described


def describe_share(share: float) -> str:
    """Return a share of the sites or batches as a percentage."""
    return f"{100 * share:.4g}%"


def _describe_steps(steps: Steps) -> str:
    shares = "".join(f"{describe_share(share)}, " for share in steps.shares)
    paused = "paused" if steps.is_paused else f"after {steps.hold_seconds:g} s each"
    return f"then {shares}all, {paused}"


def ask_rollback(state: Rollout, changed: Rollout) -> str:
    """Return the question if a state is to be rolled back."""
    if state.serving != changed.serving:
        return f"Go back from version {state.serving} to version {changed.serving}?"
    tried = [part.version for part in (state.canary, state.shadow) if part]
    named = " and ".join(dict.fromkeys(tried))
    return f"End the trial of version {named}? Version {state.serving} serves on."


def _next(state: Rollout, by: str, reason: str) -> Rollout:
    change = Change(datetime.now(UTC), encodable(by), encodable(reason[:_MAX_REASON]))
    return replace(state, revision=state.revision + 1, change=change)


def _serve_previous(state: Rollout, version: str) -> Rollout:
    return _without_parts(replace(state, serving=version, previous=None, promoted_at=None), version)


def _without_parts(state: Rollout, version: str) -> Rollout:
    """Return the state in which a version is neither canary nor shadow."""
    canary, shadow = (
        part if part and part.version != version else None for part in (state.canary, state.shadow)
    )
    return replace(state, canary=canary, shadow=shadow, steps=state.steps if canary else None)


def _require_other(state: Rollout, version: str) -> None:
    if version == state.serving:
        raise ConfigurationError(f"version {version} serves already: there is nothing to try")
