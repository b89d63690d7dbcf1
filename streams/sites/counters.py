"""Counts of many keys in sorted arrays, which take a fraction of the memory of Python's dictionaries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.streams.sites.tally import Keys, Numbers

_LONGER = 4
"""How many times as long as the next one each run is, at least: the more, the fewer runs are searched."""


@dataclass(slots=True, eq=False)
class _Run:
    keys: Keys
    """Shape [N], ascending."""
    counts: npt.NDArray[Any]
    """Shape [columns, N]."""

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Keys) -> tuple[Numbers, Numbers]:
        """Which of some keys are there, and where."""
        places = np.searchsorted(self.keys, keys)
        places[places == len(self)] = 0
        found = (self.keys[places] == keys).nonzero()[0]
        return found, places[found]

    def merged(self, other: "_Run") -> "_Run":
        """Both, which have no key in common."""
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")
        return _Run(keys[order], np.concatenate([self.counts, other.counts], axis=1)[:, order])


class Counters:
    """Some counts for each of any number of 64-bit keys; an entry takes 8 bytes and its counts.

    New keys are a run of their own, which is merged with those before it that are not much longer. So there
    are about as many runs to search as the logarithm of the number of entries, and an entry moves as often.
    """

    def __init__(self, columns: int, kind: npt.DTypeLike) -> None:
        """So many counts for each key, in integers of one type."""
        self._columns = columns
        self._kind = kind
        self._runs: list[_Run] = []

    def get(self, keys: Keys) -> Numbers:
        """The counts of K keys, shape [columns, K]; zeros for those that were never added."""
        return self._count(keys, None)[0]

    def add(self, keys: Keys, amounts: Numbers) -> Numbers:
        """Add amounts to the counts of K different keys, ascending, and answer what these were before.

        Both have the shape [columns, K].
        """
        before, unknown = self._count(keys, amounts)
        if unknown.any():
            self._append(_Run(keys[unknown], amounts[:, unknown].astype(self._kind)))
        return before

    def _count(self, keys: Keys, amounts: Numbers | None) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """The counts of keys, before amounts are added to those that are there, and which keys are not."""
        before, unknown = np.zeros((self._columns, len(keys)), np.int64), np.ones(len(keys), np.bool_)
        for run in self._runs:
            found, places = run.find(keys)
            before[:, found] = run.counts[:, places]
            unknown[found] = False
            if amounts is not None:
                run.counts[:, places] += amounts[:, found].astype(self._kind)
        return before, unknown

    def _append(self, run: _Run) -> None:
        while self._runs and len(self._runs[-1]) < _LONGER * len(run):
            run = self._runs.pop().merged(run)
        self._runs.append(run)
