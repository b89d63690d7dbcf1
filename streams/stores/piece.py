"""A part of an object."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of an object, and what the store says of the whole."""

    data: bytes
    size: int
    """Bytes of the whole object."""
    version: str
    """Mark of the object's content, by which a change shows; empty if the store gives none."""
