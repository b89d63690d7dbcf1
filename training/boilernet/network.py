"""BoilerNet (Leonhardt et al., WWW 2020, §3): token counts per block, a dense layer, bidirectional LSTMs."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dehusk.training.boilernet.config import NetworkConfig
from dehusk.training.learning import BidirectionalLayer, mirror_and_places

_FORGET_GATE = 1
"""Place among the gates i, f, c, o of an LSTM."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Consecutive blocks of one page as the network reads them."""

    rows: Tensor
    """Shape [ids], int64: the embedding row of each token."""
    lengths: Tensor
    """Shape [blocks], int64: the number of `rows` of each block."""

    def __len__(self) -> int:
        return len(self.lengths)


class BoilerNet(nn.Module):
    """A sequence labeler over the blocks of a page; tokens of an `ignored` row are not read."""

    def __init__(self, vocabulary: int, config: NetworkConfig, ignored: int | None = None) -> None:
        super().__init__()
        self.embeddings = nn.EmbeddingBag(vocabulary, config.dense, mode="sum", padding_idx=ignored)
        self.bias = nn.Parameter(torch.empty(config.dense))
        widths = [config.dense, *[2 * config.hidden] * (config.layers - 1)]
        self.layers = nn.ModuleList(BidirectionalLayer(width, config.hidden) for width in widths)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(2 * config.hidden, 1)
        if config.first_weights == "keras":
            _draw_as_keras(self)
        else:
            _draw_as_torch(self)
        if ignored is not None:
            nn.init.zeros_(self.embeddings.weight.data[ignored])

    def forward(self, pages: Sequence[Blocks]) -> Tensor:
        """Return the logit of each block, page after page."""
        states = nn.utils.rnn.pad_sequence(self._vectors(pages).split([len(page) for page in pages]))
        mirror, places = mirror_and_places(torch.tensor([len(page) for page in pages]))
        for layer in self.layers:
            states = layer(states, mirror)
        return self.output(self.dropout(states.flatten(0, 1)[places])).squeeze(1)

    def _vectors(self, pages: Sequence[Blocks]) -> Tensor:
        """Run the dense layer over the token counts of each block; the released code has its ReLU."""
        lengths = torch.cat([page.lengths for page in pages]).to(self.bias.device)
        offsets = torch.cumsum(lengths, 0) - lengths
        summed = self.embeddings(torch.cat([page.rows for page in pages]).to(self.bias.device), offsets)
        return torch.relu(summed + self.bias)


def _draw_as_torch(network: BoilerNet) -> None:
    """Draw the weights of the dense layer as `nn.Linear` does; the other layers have drawn theirs."""
    bound = len(network.embeddings.weight) ** -0.5
    nn.init.uniform_(network.embeddings.weight, -bound, bound)
    nn.init.uniform_(network.bias, -bound, bound)


def _draw_as_keras(network: BoilerNet) -> None:
    """Draw all as Keras does: Glorot's, orthogonal for the recurrence, 1 for the biases of forget gates."""
    for dense in (network.embeddings, network.output):
        nn.init.xavier_uniform_(dense.weight)
    for bias in (network.bias, network.output.bias):
        nn.init.zeros_(bias)
    for name, values in network.layers.named_parameters():
        if "weight_ih" in name:
            nn.init.xavier_uniform_(values)
        elif "weight_hh" in name:
            nn.init.orthogonal_(values)
        else:
            nn.init.zeros_(values)
        if "bias_ih" in name:
            nn.init.ones_(values.data.chunk(4)[_FORGET_GATE])
