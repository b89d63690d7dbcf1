"""The network: a dense layer over a block's inputs, a bidirectional LSTM, and the page as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dehusk.schemas.pages import StructureTensors
from dehusk.training.dehusk.config import NetworkConfig
from dehusk.training.dehusk.token_scores import SCORES
from dehusk.training.lstm import BidirectionalLayer, mirror_and_places

Floats = npt.NDArray[np.float32]

OUTPUTS = 2
"""What a block is asked: whether it is content, and whether it is a user comment that is none."""
LARGEST_INPUT = 5.0
"""Standard deviations from the mean beyond which an input is clipped."""
SCORE_SCALE = 0.5
"""By which token scores are brought near the other inputs."""
BEYOND_STATES = 9.0
"""More than any state of an LSTM: what padding is lowered by before the maximum is taken."""


def block_inputs(page: StructureTensors, token_scores: Floats) -> Floats:
    """What the network reads of each block, shape [T, inputs]: its features, the page's, its token scores."""
    of_page = np.broadcast_to(page.page_features, (len(page.element), len(page.page_features)))
    features = np.concatenate([page.features, of_page], 1).astype(np.float32) / 255
    return np.concatenate([features, token_scores * SCORE_SCALE], 1)


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """The means and deviations by which inputs are standardised, each of shape [inputs]."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, inputs: Sequence[Floats]) -> "Standard":
        """Those of the blocks of some pages; token scores stay as they are."""
        blocks = np.concatenate(inputs)
        mean, deviation = blocks.mean(0), blocks.std(0) + 0.02
        mean[-len(SCORES) :], deviation[-len(SCORES) :] = 0, 1
        return cls(mean, deviation)

    def without(self, inputs: npt.NDArray[np.bool_]) -> "Standard":
        """One by which these inputs are always 0."""
        return Standard(self.mean, np.where(inputs, np.float32(np.inf), self.deviation))

    def __call__(self, inputs: Floats) -> Floats:
        """Standardised inputs."""
        return ((inputs - self.mean) / self.deviation).clip(-LARGEST_INPUT, LARGEST_INPUT)


class PageLabeler(nn.Module):
    """Labels the blocks of pages; learns on the side of which type a page is."""

    def __init__(self, inputs: int, page_types: int, config: NetworkConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.dense)
        self.layer = BidirectionalLayer(config.dense, config.hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(6 * config.hidden + config.dense, OUTPUTS)
        self.page_type = nn.Linear(4 * config.hidden, page_types)

    def forward(self, pages: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The logits of each block, page after page, and those of each page's type.

        Shapes [T of all pages, OUTPUTS] and [pages, page types].
        """
        lengths = torch.tensor([len(page) for page in pages])
        dense = torch.relu(self.dense(torch.cat(list(pages)).to(self.dense.weight.device)))
        padded = nn.utils.rnn.pad_sequence(self.dropout(dense).split(lengths.tolist()))
        mirror, places = mirror_and_places(lengths)
        states = self.layer(padded, mirror)
        inside = (torch.arange(len(padded))[:, None] < lengths)[:, :, None].float()
        mean = (states * inside).sum(0) / inside.sum(0)
        largest = (states - BEYOND_STATES * (1 - inside)).amax(0)
        of_page = torch.cat([mean, largest], 1)
        page = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
        blocks = torch.cat([states.flatten(0, 1)[places], dense, of_page[page]], 1)
        return self.output(self.dropout(blocks)), self.page_type(of_page)
