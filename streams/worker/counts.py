"""What is counted of a worker's pages, and how the times of its steps are."""

import math
from dataclasses import dataclass

from dehusk.streams.counted import counted

STEP_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, math.inf)
"""Seconds: the buckets in which the times of steps are counted."""
STEPS = ("prepare", "label", "observe", "extract", "deliver")
"""What a batch goes through."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts since the worker started; pages = documents + tombstones + skipped + dead letters."""

    messages: int
    bytes: int
    pages: int
    documents: int
    empty_documents: int
    """Those of the documents that have no text."""
    tombstones: int
    skipped: int
    dead_letters: int

    def __str__(self) -> str:
        return (
            f"{counted(self.pages, 'page')} = {counted(self.documents, 'document')} "
            f"({self.empty_documents:,} empty) + {counted(self.tombstones, 'tombstone')} "
            f"+ {self.skipped:,} skipped + {counted(self.dead_letters, 'dead letter')}"
        )
