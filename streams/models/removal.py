"""Which version is to be removed, and which others roll-outs need."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Removal:
    """A version that is to be removed from a repository."""

    repository: Path
    model: str
    version: str
    needed: frozenset[str] = frozenset()
    """The versions of the model that roll-outs name; empty where there are none, or none were asked."""

    @property
    def directory(self) -> Path:
        """Where it is."""
        return self.repository / self.model / self.version

    def __str__(self) -> str:
        return f"{self.model}/{self.version}"
