"""Limits of pages under which a test need not wait long for one that hangs."""

from dataclasses import dataclass

from dehusk.streams.settings import PageLimits


@dataclass(frozen=True, slots=True)
class Limits(PageLimits):
    """Limits with a patience of their own with messages that hang."""

    patience: float = 1.0

    @property
    def wall_seconds(self) -> float:
        return self.patience * self.seconds
