"""The first pass of the default model: a small bidirectional LSTM over the inputs of a page's blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dehusk.inference.encoding.features import (
    ADDRESS_FEATURES,
    BLOCK_FEATURES,
    LINK_FEATURES,
    LOGARITHM,
    PAGE_FEATURES,
)
from dehusk.schemas.pages import StructureTensors
from dehusk.training.arrays import Bools, Floats, Integers
from dehusk.training.dehusk.config import NetworkConfig
from dehusk.training.dehusk.token_scores import SCORES, TokenScores
from dehusk.training.learning import BidirectionalLayer, mirror_and_places

OUTPUTS = 2
"""Outputs of a block: content, and user comment that is none."""
MAX_INPUT = 5.0
"""Standard deviations from the mean beyond which an input is clipped."""
SCORE_SCALE = 0.5
"""Factor that brings token scores near the other inputs."""
BEYOND_STATES = 9.0
"""Number above any state of an LSTM, by which padding is lowered before the maximum is taken."""
SHORT = round(log1p(8) * 255 / LOGARITHM[1])
"""Largest byte of the first feature of a short block, which has 8 words at most."""
OF_PAGE = (*PAGE_FEATURES, *ADDRESS_FEATURES)
"""First columns of the inputs, which all blocks of a page share."""
COLUMNS = (*OF_PAGE, *BLOCK_FEATURES, *LINK_FEATURES)
"""Columns of the inputs before the token scores."""
INPUT_GROUPS = (*(column.group for column in COLUMNS), *SCORES)
"""Group of each input."""
INPUTS = len(INPUT_GROUPS)


def block_inputs(page: StructureTensors, token_scores: Floats) -> Floats:
    """Return the inputs of each block, shape [T, inputs]: the page's features, its own, its token scores."""
    return np.concatenate([columns_of(page).astype(np.float32) / 255, token_scores * SCORE_SCALE], 1)


def columns_of(page: StructureTensors) -> npt.NDArray[np.uint8]:
    """Return the features of the page and its address, and of each block and its link, [T, columns]."""
    of_page = np.concatenate([page.page_features, page.address])
    repeated = np.broadcast_to(of_page, (len(page.element), len(of_page)))
    return np.concatenate([repeated, page.features, page.links], 1)


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """Means and deviations by which inputs are standardised, each of shape [inputs]."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, inputs: Sequence[Floats]) -> "Standard":
        """Return those of the blocks of some pages; token scores stay as they are."""
        blocks = np.concatenate(inputs)
        mean, deviation = blocks.mean(0), blocks.std(0) + 0.02
        mean[-len(SCORES) :], deviation[-len(SCORES) :] = 0, 1
        return cls(mean, deviation)

    def without(self, inputs: Bools) -> "Standard":
        """Return a standard by which these inputs are always 0."""
        return Standard(self.mean, np.where(inputs, np.float32(np.inf), self.deviation))

    def __call__(self, inputs: Floats) -> Floats:
        """Standardise inputs."""
        return ((inputs - self.mean) / self.deviation).clip(-MAX_INPUT, MAX_INPUT)


def steps_of(page: StructureTensors) -> Integers:
    """Return the step of the LSTM that reads each block, counted from 0, shape [T].

    Consecutive short blocks whose four innermost elements have the same tags and classes, such as the entries
    of a menu, share a step.
    """
    short = page.features[:, 0] <= SHORT
    apart = np.diff(page.alike, prepend=-1) != 0
    apart |= ~(short & np.concatenate([[False], short[:-1]]))
    steps: Integers = np.cumsum(apart) - 1
    return steps


class PageLabeler(nn.Module):
    """A network that labels the blocks of pages; it also learns the types of pages.

    The LSTM reads the mean of the dense layer over the blocks of a step (`steps_of`).
    """

    def __init__(self, inputs: int, page_types: int, config: NetworkConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.dense)
        self.layer = BidirectionalLayer(config.dense, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(6 * config.hidden + config.dense, OUTPUTS)
        self.page_type = nn.Linear(4 * config.hidden, page_types)

    def forward(self, pages: Sequence[Tensor], steps: Sequence[Integers]) -> tuple[Tensor, Tensor]:
        """Return the logits of each block, page after page, and those of each page's type.

        Shapes [T of all pages, OUTPUTS] and [pages, page types].

        Args:
            pages: the standardised inputs of each page's blocks.
            steps: the step of each page's blocks, counted from any number on.
        """
        device = self.dense.weight.device
        counts = np.array([each[-1] - each[0] + 1 for each in steps])
        first_steps = np.cumsum(counts) - counts
        numbered = [each - each[0] + first for each, first in zip(steps, first_steps, strict=True)]
        step, heights = (torch.from_numpy(each).to(device) for each in (np.concatenate(numbered), counts))
        dense = torch.relu(self.dense(torch.cat(list(pages)).to(device)))
        of_steps = torch.zeros(int(counts.sum()), dense.shape[1], device=device)
        of_steps = of_steps.index_add(0, step, dense) / torch.bincount(step)[:, None]
        padded = nn.utils.rnn.pad_sequence(self.dropout(of_steps).split(counts.tolist()))
        mirror, places = mirror_and_places(heights)
        states = self.layer(padded, mirror)
        inside = (torch.arange(len(padded), device=device)[:, None] < heights)[:, :, None].float()
        mean = (states * inside).sum(0) / inside.sum(0)
        largest = (states - BEYOND_STATES * (1 - inside)).amax(0)
        of_page = torch.cat([mean, largest], 1)
        page = torch.from_numpy(np.repeat(np.arange(len(pages)), [len(each) for each in pages])).to(device)
        blocks = torch.cat([states.flatten(0, 1)[places[step]], dense, of_page[page]], 1)
        return self.output(self.dropout(blocks)), self.page_type(of_page)


@dataclass(frozen=True, slots=True, eq=False)
class FirstAnswer:
    """Answer of the first pass to a page's blocks."""

    scores: Floats
    """Shape [T, SCORES]: the token scores."""
    logits: Floats
    """Shape [T]: of content."""
    comment_logits: Floats
    """Shape [T]: of user comments that are no content."""
    kind_logits: Floats
    """Shape [len(PAGE_KINDS)]: of each kind of page."""

    @property
    def probabilities(self) -> Floats:
        """Probabilities of content, shape [T]."""
        return sigmoid(self.logits)

    @property
    def comments(self) -> Floats:
        """Probabilities of user comments, shape [T]."""
        return sigmoid(self.comment_logits)

    @property
    def page_kinds(self) -> Floats:
        """Probabilities of the kinds of page, shape [len(PAGE_KINDS)]."""
        kinds: Floats = torch.softmax(torch.from_numpy(self.kind_logits), 0).numpy()
        return kinds


def sigmoid(logits: Floats) -> Floats:
    """Return the probabilities of logits."""
    probabilities: Floats = torch.sigmoid(torch.from_numpy(logits)).numpy()
    return probabilities


@dataclass(frozen=True, slots=True, eq=False)
class FirstPass:
    """Token scores and the network that reads them."""

    token_scores: TokenScores
    standard: Standard
    network: PageLabeler

    def __call__(self, page: StructureTensors) -> FirstAnswer:
        """Answer a page of at least one block."""
        scores = self.token_scores.of(page)
        inputs = self.standard(block_inputs(page, scores))
        self.network.eval()
        with torch.no_grad():
            logits, of_page = self.network([torch.from_numpy(inputs)], [steps_of(page)])
        content, comments = logits.cpu().numpy().T
        return FirstAnswer(scores, content, comments, of_page.cpu().numpy()[0])
