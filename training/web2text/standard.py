"""Standardised features: those that are not binary have mean 0 and variance 1 where they are learned from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from dehusk.inference.web2text.features import DISTANCES, Column

Floats = npt.NDArray[np.float32]

_LEAST_DEVIATION = 1e-3
"""Of a column that is the same nearly everywhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """The mean and deviation of each column; 0 and 1 where it is binary."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, rows: npt.NDArray[np.float16], columns: Sequence[Column]) -> Self:
        """That of all rows that are learned from, column by column."""
        mean, deviation = np.zeros(len(columns), np.float32), np.ones(len(columns), np.float32)
        for number, column in enumerate(columns):
            if not column.is_binary:
                values = rows[:, number].astype(np.float64)
                mean[number], deviation[number] = values.mean(), max(values.std(), _LEAST_DEVIATION)
        return cls(mean, deviation)

    def __call__(self, rows: Floats) -> Floats:
        """The rows, standardised."""
        return (rows - self.mean) / self.deviation


def edge_rows(distances: npt.NDArray[np.uint8], features: npt.NDArray[np.float16]) -> Floats:
    """All 25 columns of each block with the one before it, shape [T, 25]."""
    told_apart = np.array([*DISTANCES, DISTANCES[-1] + 1], np.uint8)
    return np.column_stack([distances[:, None] == told_apart, features]).astype(np.float32)
