"""A bidirectional LSTM layer over pages that lie padded side by side, and its weights as ONNX has them."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dehusk.training.ragged import LstmLayer

Floats = npt.NDArray[np.float32]


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
