"""BoilerNet (Leonhardt et al., WWW 2020, §3): token counts per block, a dense layer, bidirectional LSTMs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from training.config import NetworkConfig
from training.export import Floats, Weights
from training.ragged import LstmLayer


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Consecutive blocks of one page as the network reads them."""

    rows: Tensor
    """Shape [ids], int64: the embedding row of each token."""
    lengths: Tensor
    """Shape [blocks], int64: how many of `rows` belong to each block."""

    def __len__(self) -> int:
        return len(self.lengths)


class BidirectionalLayer(nn.Module):
    """One LSTM layer that reads each page forwards and backwards.

    Pages lie padded side by side, so a page is mirrored within its own length before it is read backwards.
    (The framework's packed sequences do the same, but their gradients take quadratic time on a CPU.)
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(inputs, hidden)
        self.backwards = nn.LSTM(inputs, hidden)

    def forward(self, padded: Tensor, mirror: Tensor) -> Tensor:
        """Both directions side by side, shape [longest, pages, 2 × hidden]."""
        ahead, _ = self.forwards(padded)
        back, _ = self.backwards(_mirrored(padded, mirror))
        return torch.cat([ahead, _mirrored(back, mirror)], dim=2)


class BoilerNet(nn.Module):
    """A sequence labeler over the blocks of a page."""

    def __init__(self, vocabulary: int, config: NetworkConfig) -> None:
        super().__init__()
        self.embeddings = nn.EmbeddingBag(vocabulary, config.dense, mode="sum")
        nn.init.xavier_uniform_(self.embeddings.weight)
        self.bias = nn.Parameter(torch.zeros(config.dense))
        widths = [config.dense, *[2 * config.hidden] * (config.layers - 1)]
        self.layers = nn.ModuleList(BidirectionalLayer(width, config.hidden) for width in widths)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(2 * config.hidden, 1)

    def forward(self, pages: Sequence[Blocks]) -> Tensor:
        """The logit of each block, page after page."""
        states = nn.utils.rnn.pad_sequence(self._vectors(pages).split([len(page) for page in pages]))
        mirror, places = mirror_and_places(torch.tensor([len(page) for page in pages]))
        for layer in self.layers:
            states = layer(states, mirror)
        return self.output(self.dropout(states.flatten(0, 1)[places])).squeeze(1)

    def _vectors(self, pages: Sequence[Blocks]) -> Tensor:
        """The dense layer over the token counts of each block; the released code has its ReLU."""
        lengths = torch.cat([page.lengths for page in pages]).to(self.bias.device)
        offsets = torch.cumsum(lengths, 0) - lengths
        summed = self.embeddings(torch.cat([page.rows for page in pages]).to(self.bias.device), offsets)
        return torch.relu(summed + self.bias)


def mirror_and_places(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of the padded batch [longest × pages]: of each row's mirror image, and of the blocks in order."""
    position = torch.arange(int(lengths.max()))[:, None]
    page = torch.arange(len(lengths))
    inside = position < lengths
    mirrored = torch.where(inside, lengths - 1 - position, position)
    places = (position * len(lengths) + page).T[inside.T]
    return (mirrored * len(lengths) + page).flatten(), places


def _mirrored(padded: Tensor, mirror: Tensor) -> Tensor:
    return padded.flatten(0, 1).index_select(0, mirror).view_as(padded)


def weights_of(network: BoilerNet) -> Weights:
    """The network's weights in ONNX's layout."""
    arrays = {name: value.detach().cpu().numpy() for name, value in network.state_dict().items()}
    return Weights(
        embeddings=arrays["embeddings.weight"],
        embedding_bias=arrays["bias"],
        layers=tuple(layer_weights(layer) for layer in network.layers),
        output=arrays["output.weight"].T,
        output_bias=arrays["output.bias"],
    )


def layer_weights(layer: nn.Module) -> LstmLayer:
    """A bidirectional layer's weights in ONNX's layout."""
    arrays = {name: value.detach().cpu().numpy() for name, value in layer.state_dict().items()}
    directions = ["forwards", "backwards"]
    biases = [[_gates(arrays[f"{each}.bias_{kind}_l0"]) for kind in ("ih", "hh")] for each in directions]
    return LstmLayer(
        inputs=np.stack([_gates(arrays[f"{each}.weight_ih_l0"]) for each in directions]),
        recurrent=np.stack([_gates(arrays[f"{each}.weight_hh_l0"]) for each in directions]),
        biases=np.stack([np.concatenate(each) for each in biases]),
    )


def _gates(torch_order: Floats) -> Floats:
    """The framework's gates i, f, c, o in ONNX's order i, o, f, c."""
    i, f, c, o = np.split(torch_order, 4)
    return np.concatenate([i, o, f, c])
