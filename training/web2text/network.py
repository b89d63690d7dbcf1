"""The convolutional networks of Web2Text (§3.4): potentials of the blocks of a page, or of pairs."""

import torch
from torch import Tensor, nn

from dehusk.training.web2text.config import NetworkConfig


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
        """The logits of each place, shape [sequences, places, outputs], of as many inputs."""
        states = sequences.transpose(1, 2)
        for layer in self.layers[:-1]:
            states = self.dropout(torch.relu(layer(states)))
        return self.layers[-1](states).transpose(1, 2)


def kernel_weights(network: Potentials) -> int:
    """How many weights its kernels have, biases left out."""
    return sum(layer.weight.numel() for layer in network.layers)
