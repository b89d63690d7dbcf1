"""The model of Web2Text: labeled pages as sequences of rows, its two networks, and its answer to a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dehusk.inference.encoding.web2text import features
from dehusk.inference.encoding.web2text.features import BLOCK_COLUMNS, EDGE_COLUMNS, Column
from dehusk.inference.labelers.batching import Window, windows
from dehusk.inference.labelers.signature import BLOCK_FEATURES, DISTANCES, EDGE_FEATURES, WEB2TEXT
from dehusk.schemas.pages import EncodedPage, Web2TextTensors
from dehusk.training.arrays import Bools, Doubles, Floats, Integers
from dehusk.training.pages.prepared import PreparedPage
from dehusk.training.web2text.config import NetworkConfig

_MIN_DEVIATION = 1e-3
"""Least deviation, of a column that is the same nearly everywhere."""
Rows = npt.NDArray[np.float16]


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """Mean and deviation of each column; 0 and 1 where it is binary."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, rows: npt.NDArray[np.float16], columns: Sequence[Column]) -> Self:
        """Return those of all rows that are learned from, column by column."""
        mean, deviation = np.zeros(len(columns), np.float32), np.ones(len(columns), np.float32)
        for number, column in enumerate(columns):
            if not column.is_binary:
                values = rows[:, number].astype(np.float64)
                mean[number], deviation[number] = values.mean(), max(values.std(), _MIN_DEVIATION)
        return cls(mean, deviation)

    def __call__(self, rows: Floats) -> Floats:
        """Standardise rows."""
        return (rows - self.mean) / self.deviation


def edge_rows(distances: npt.NDArray[np.uint8], edges: npt.NDArray[np.float16]) -> Floats:
    """Return all 25 columns of each block with the one before it, shape [T, 25]."""
    told_apart = np.array([*features.DISTANCES, features.DISTANCES[-1] + 1], np.uint8)
    return np.column_stack([distances[:, None] == told_apart, edges]).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Excerpts:
    """Excerpts of the same length; what is beyond the end of a sequence weighs nothing."""

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
    certain: Bools
    """Shape [N]: labels that are not doubtful, and are learned from."""
    lengths: Integers
    """Shape [sequences], each one at least."""

    @classmethod
    def of_blocks(cls, pages: Sequence[PreparedPage]) -> Self:
        """Return the blocks of pages; label 1 is content."""
        return cls(
            BLOCK_COLUMNS,
            np.concatenate([tensors_of(page).block_features for page in pages]),
            np.concatenate([page.content for page in pages]).astype(np.int64),
            ~np.concatenate([page.uncertain for page in pages]),
            np.array([len(page.content) for page in pages]),
        )

    @classmethod
    def of_pairs(cls, pages: Sequence[PreparedPage]) -> Self:
        """Return the pairs of neighbours on pages of two blocks or more; label 2i + j for labels i, j."""
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
        """First row of each sequence, shape [sequences]."""
        return np.cumsum(self.lengths) - self.lengths

    def standard(self) -> Standard:
        """Return the means and deviations of the rows."""
        return Standard.of(self.rows, self.columns)

    def excerpts(self, standard: Standard, count: int, length: int, random: np.random.Generator) -> Excerpts:
        """Draw excerpts of random sequences at random places; a sequence that is too short is taken whole."""
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


def tensors_of(page: PreparedPage) -> Web2TextTensors:
    """Return the tensors of a page that the model reads."""
    if page.encoded.web2text is None:
        raise ValueError(f"page {page.id} was prepared for another kind of model")
    return page.encoded.web2text


def _pairs(page: Web2TextTensors) -> Rows:
    return edge_rows(page.distances, page.edge_features)[1:].astype(np.float16)


class Potentials(nn.Module):
    """Convolutions over a sequence, padded with zeros, with ReLU and dropout between them.

    The paper counts the weights of its kernels: 17,960 over 128 features, and 12,870 over 25. Each filter has
    a bias beside them.
    """

    def __init__(self, inputs: int, outputs: int, config: NetworkConfig) -> None:
        super().__init__()
        widths = [inputs, *config.filters, outputs]
        self.layers = nn.ModuleList(
            nn.Conv1d(before, after, kernel, padding=kernel // 2)
            for before, after, kernel in zip(widths[:-1], widths[1:], config.kernels, strict=True)
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, sequences: Tensor) -> Tensor:
        """Return the logits of each place, shape [sequences, places, outputs], of as many inputs."""
        states = sequences.transpose(1, 2)
        for layer in self.layers[:-1]:
            states = self.dropout(torch.relu(layer(states)))
        return self.layers[-1](states).transpose(1, 2)


def device_of(network: Potentials) -> torch.device:
    """Return the device that a network is on."""
    return next(network.parameters()).device


def kernel_weights(network: Potentials) -> int:
    """Count the weights of a network's kernels, biases left out."""
    return sum(layer.weight.numel() for layer in network.layers)


@dataclass(frozen=True, slots=True, eq=False)
class Web2TextModel:
    """Both networks, and the standardisation of their inputs."""

    unary: Potentials
    pairwise: Potentials
    of_blocks: Standard
    of_edges: Standard
    coupling: float

    def __call__(self, page: EncodedPage) -> Floats:
        """Return the probability of content of each block, shape [T], in the windows that labelers cut."""
        best = np.concatenate([np.empty((0, 2)), *(max_marginals(*each) for each in self.potentials(page))])
        whole = best[:, 1] - best[:, 0]
        probabilities: Floats = (1 / (1 + np.exp(-whole))).astype(np.float32)
        return probabilities

    def potentials(self, page: EncodedPage) -> Iterator[tuple[Doubles, Doubles]]:
        """Yield of each window the logarithms of its unary and its weighted pairwise potentials."""
        return (self._potentials(window) for window in windows(page, WEB2TEXT))

    def _potentials(self, window: Window) -> tuple[Doubles, Doubles]:
        distances = window.tensors[DISTANCES.name]
        blocks, edges = (
            window.tensors[tensor.name].reshape(len(distances), -1).astype(np.float32)
            for tensor in (BLOCK_FEATURES, EDGE_FEATURES)
        )
        unary = _logarithms(self.unary, self.of_blocks(blocks))
        of_edges = self.of_edges(edge_rows(distances, edges.astype(np.float16))[1:])
        pairwise = _logarithms(self.pairwise, of_edges) if len(of_edges) else np.zeros((0, 4))
        return unary, self.coupling * pairwise.reshape(-1, 2, 2)


def _logarithms(network: Potentials, rows: Floats) -> Doubles:
    network.eval()
    with torch.inference_mode():
        logits = network(torch.from_numpy(rows)[None].to(device_of(network)))[0]
        found: Doubles = torch.log_softmax(logits, 1).cpu().numpy().astype(np.float64)
    return found


NETWORKS = {"unary": (len(BLOCK_COLUMNS), 2), "pairwise": (len(EDGE_COLUMNS), 4)}
"""Columns that each network reads, and the number of its labels."""


def new_network(kind: str, config: NetworkConfig, seed: int) -> Potentials:
    """Make an untrained network, the same for the same seed."""
    torch.manual_seed(seed)
    return Potentials(*NETWORKS[kind], config)


def max_marginals(unary: Doubles, pairwise: Doubles) -> Doubles:
    """Return the log-probability, but for a constant, of the best labeling with each label: shape [T, 2].

    The Viterbi labeling (§3.5) takes the likelier label of each block, so the difference of both as a logit
    is a probability of content that is above one half exactly where the Viterbi algorithm says content.
    """
    ahead: list[Doubles] = [unary[0]]
    behind: list[Doubles] = [np.zeros(2)]
    for own, between in zip(unary[1:], pairwise, strict=True):
        ahead.append((ahead[-1][:, None] + between).max(0) + own)
    for own, between in zip(unary[:0:-1], pairwise[::-1], strict=True):
        behind.append((between + own + behind[-1]).max(1))
    best: Doubles = np.stack(ahead) + np.stack(behind[::-1])
    return best
