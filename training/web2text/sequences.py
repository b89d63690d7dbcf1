"""Labeled pages as sequences of rows with labels: of their blocks, or of their pairs of blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dehusk.inference.web2text.features import BLOCK_COLUMNS, EDGE_COLUMNS, Column
from dehusk.schemas.pages import Web2TextTensors
from dehusk.training.dehusk.pages import DehuskPage
from dehusk.training.web2text.standard import Standard, edge_rows

Rows = npt.NDArray[np.float16]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Excerpts:
    """Some excerpts of the same length; what is beyond the end of a sequence weighs nothing."""

    rows: Tensor
    """Shape [excerpts, length, columns], standardised; zeros beyond the end."""
    labels: Tensor
    """Shape [excerpts, length], int64."""
    weights: Tensor
    """Shape [excerpts, length]."""


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """Sequences one after the other, N rows in all."""

    columns: Sequence[Column]
    rows: Rows
    """Shape [N, columns], raw."""
    labels: Integers
    """Shape [N]."""
    certain: npt.NDArray[np.bool_]
    """Shape [N]: which labels are not doubtful, and are learned from."""
    lengths: Integers
    """Shape [sequences], each one at least."""

    @classmethod
    def of_blocks(cls, pages: Sequence[DehuskPage]) -> Self:
        """The blocks of pages; label 1 is content."""
        return cls(
            BLOCK_COLUMNS,
            np.concatenate([tensors_of(page).block_features for page in pages]),
            np.concatenate([page.content for page in pages]).astype(np.int64),
            ~np.concatenate([page.uncertain for page in pages]),
            np.array([len(page.content) for page in pages]),
        )

    @classmethod
    def of_pairs(cls, pages: Sequence[DehuskPage]) -> Self:
        """The pairs of neighbours on pages of two blocks and more; label 2i + j for labels i and then j."""
        several = [page for page in pages if len(page.content) > 1]
        return cls(
            EDGE_COLUMNS,
            np.concatenate([_pairs(tensors_of(page)) for page in several]),
            np.concatenate([2 * page.content[:-1] + page.content[1:] for page in several]).astype(np.int64),
            ~np.concatenate([page.uncertain[:-1] | page.uncertain[1:] for page in several]),
            np.array([len(page.content) - 1 for page in several]),
        )

    @property
    def starts(self) -> Integers:
        """Shape [sequences]: the first row of each."""
        return np.cumsum(self.lengths) - self.lengths

    def standard(self) -> Standard:
        """How the rows are standardised."""
        return Standard.of(self.rows, self.columns)

    def excerpts(self, standard: Standard, count: int, length: int, random: np.random.Generator) -> Excerpts:
        """Excerpts of random sequences, at random places; a sequence that is too short is taken whole."""
        chosen = random.integers(len(self.lengths), size=count)
        lengths, starts = self.lengths[chosen], self.starts[chosen]
        first = starts + random.integers(np.maximum(lengths - length, 0) + 1)
        places = first[:, None] + np.arange(length)
        is_inside = places < (starts + lengths)[:, None]
        places = np.where(is_inside, places, first[:, None])
        rows = standard(self.rows[places].astype(np.float32)) * is_inside[..., None]
        weights = (is_inside & self.certain[places]).astype(np.float32)
        labels = torch.from_numpy(self.labels[places])
        return Excerpts(torch.from_numpy(rows), labels, torch.from_numpy(weights))


def tensors_of(page: DehuskPage) -> Web2TextTensors:
    """What the model reads of a page."""
    if page.encoded.web2text is None:
        raise ValueError(f"page {page.id} was prepared for another kind of model")
    return page.encoded.web2text


def _pairs(page: Web2TextTensors) -> Rows:
    return edge_rows(page.distances, page.edge_features)[1:].astype(np.float16)
