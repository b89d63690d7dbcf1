"""A roll-out in words, for logs and people."""

from dehusk.schemas.rollout import Part, Rollout


def said(serving: str, canary: Part | None = None, shadow: Part | None = None) -> str:
    """Which versions label what."""
    words = [f"version {serving}"]
    if canary:
        words.append(f"version {canary.version} for {canary.share:.3g} of the sites")
    if shadow:
        words.append(f"version {shadow.version} in the shadow for {shadow.share:.3g} of the batches")
    return ", ".join(words)


def said_of(state: Rollout | None) -> str:
    """Which versions label what, by a state."""
    if state is None:
        return "no state: the version that each labeler chooses"
    return said(state.serving, state.canary, state.shadow)
