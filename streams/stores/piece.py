"""A part of an object, and the time for which a store is waited for it."""

from dataclasses import dataclass

_LEAST_SECONDS, _MOST_SECONDS = 5.0, 20.0


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of an object, and what the store says of the whole."""

    data: bytes
    size: int
    """Bytes of the whole object."""
    version: str
    """Mark of the object's content, by which a change shows; empty if the store gives none."""


def answer_seconds(patience: float) -> float:
    """Return the time after which a request to a store that sends nothing is given up.

    It may be longer than that of all attempts, `patience` in seconds, so that a slow store is not taken for
    one that is away.
    """
    return min(max(patience, _LEAST_SECONDS), _MOST_SECONDS)
