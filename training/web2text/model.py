"""Web2Text, trained, as what it answers to a page."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from dehusk.inference.batching import Window, windows
from dehusk.inference.signature import BLOCK_FEATURES, DISTANCES, EDGE_FEATURES, WEB2TEXT
from dehusk.inference.web2text.features import BLOCK_COLUMNS, EDGE_COLUMNS
from dehusk.schemas.pages import EncodedPage
from dehusk.training.web2text.config import NetworkConfig
from dehusk.training.web2text.decoding import max_marginals
from dehusk.training.web2text.network import Potentials
from dehusk.training.web2text.standard import Standard, edge_rows

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Web2TextModel:
    """Both networks, and how their inputs are standardised."""

    unary: Potentials
    pairwise: Potentials
    of_blocks: Standard
    of_edges: Standard
    coupling: float

    def __call__(self, page: EncodedPage) -> Floats:
        """The probability that each block is content, shape [T], window by window as labelers ask for it."""
        logits = [_logits(max_marginals(*potentials)) for potentials in self.potentials(page)]
        whole: Doubles = np.concatenate([np.empty(0), *logits])
        probabilities: Floats = (1 / (1 + np.exp(-whole))).astype(np.float32)
        return probabilities

    def potentials(self, page: EncodedPage) -> Iterator[tuple[Doubles, Doubles]]:
        """Of each window the logarithms of its unary and, as far as they count, its pairwise potentials."""
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
        logits = network(torch.from_numpy(rows)[None])[0]
        found: Doubles = torch.log_softmax(logits, 1).cpu().numpy().astype(np.float64)
    return found


def _logits(best: Doubles) -> Doubles:
    return best[:, 1] - best[:, 0]


def unary_network(config: NetworkConfig, seed: int) -> Potentials:
    """The network of the potentials of blocks, untrained, the same for the same seed."""
    torch.manual_seed(seed)
    return Potentials(len(BLOCK_COLUMNS), 2, config)


def pairwise_network(config: NetworkConfig, seed: int) -> Potentials:
    """The network of the potentials of pairs of blocks, untrained, the same for the same seed."""
    torch.manual_seed(seed)
    return Potentials(len(EDGE_COLUMNS), 4, config)
