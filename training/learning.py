"""Training of networks: epochs, checkpoints, and the bidirectional LSTM layer that several models have."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.arrays import Floats
from dehusk.training.batches import EpochSettings
from dehusk.training.graph import LstmLayer
from dehusk.training.runs import damaged, left_by, written_whole

Batch = TypeVar("Batch")


def seeded(seed: int, epoch: int) -> np.random.Generator:
    """Return the random generator of an epoch, and seed the framework's; both by seed and epoch alone."""
    torch.manual_seed(seed * 1000 + epoch)
    return np.random.default_rng([seed, epoch])


def learn(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[Batch],
    settings: EpochSettings,
    epoch: int,
    *,
    min_rate: float,
    backward: Callable[[Batch], float],
) -> Iterator[float]:
    """Update the weights by each batch; yield its loss before the update, which `backward` returns."""
    network.train()
    steps = settings.epochs * len(batches)
    for done, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(settings, epoch * len(batches) + done, steps, min_rate)
        optimizer.zero_grad()
        loss = backward(batch)
        nn.utils.clip_grad_norm_(network.parameters(), settings.gradient_norm)
        optimizer.step()
        yield loss


def learning_rate(settings: EpochSettings, step: int, steps: int, least: float) -> float:
    """Return the rate of a step: it rises at first, then falls in a line to the share `least`; 1 keeps it."""
    warmup = min(1.0, (step + 1) / settings.warmup_steps)
    return settings.learning_rate * warmup * max(least, 1 - step / steps)


def weights_now(network: nn.Module) -> dict[str, Tensor]:
    """Copy the weights of a network."""
    return {name: value.clone() for name, value in network.state_dict().items()}


@dataclass(frozen=True, slots=True)
class Origin:
    """Settings and pages that a network is made from."""

    settings: Mapping[str, Any]
    pages: int
    """Number that other pages or labels would change."""


def checksum(parts: Iterable[bytes]) -> int:
    """Return a number that other parts would change, or the same cut otherwise."""
    total = 0
    for part in parts:
        total = zlib.crc32(part, zlib.crc32(len(part).to_bytes(8), total))
    return total


def save_state(
    file: Path, origin: Origin, network: nn.Module, optimizer: torch.optim.Optimizer, **others: object
) -> None:
    """Write the state of a run; the file before it stays whole until this one is."""
    state = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), **others}
    with written_whole(file) as target:
        torch.save(asdict(origin) | state, target)


def load_state(file: Path, origin: Origin) -> dict[str, Any]:
    """Read the state of a run of this origin.

    Raises:
        ConfigurationError: there is no such file, it is not whole, or it is of other settings or pages.
    """
    with left_by("train", file).open("rb") as source:
        try:
            state: dict[str, Any] = torch.load(source, map_location="cpu", weights_only=True)
        except Exception as error:  # what is damaged raises anything
            raise damaged("train", file) from error
    for name, other in (("settings", "of another configuration"), ("pages", "of other pages or labels")):
        if state.get(name) != getattr(origin, name):
            raise ConfigurationError(f"{file} is {other}; delete it or name another directory")
    return state


def restore(state: dict[str, Any], network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Give a network and its optimizer the state that was read."""
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])


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
        """Run both directions; return them side by side, shape [longest, pages, 2 × hidden]."""
        ahead, _ = self.forwards(padded)
        back, _ = self.backwards(_mirrored(padded, mirror))
        return torch.cat([ahead, _mirrored(back, mirror)], dim=2)


def mirror_and_places(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return rows of the padded batch [longest × pages]: each row's mirror image, and the blocks in order."""
    position = torch.arange(int(lengths.max()), device=lengths.device)[:, None]
    page = torch.arange(len(lengths), device=lengths.device)
    inside = position < lengths
    mirrored = torch.where(inside, lengths - 1 - position, position)
    places = (position * len(lengths) + page).T[inside.T]
    return (mirrored * len(lengths) + page).flatten(), places


def _mirrored(padded: Tensor, mirror: Tensor) -> Tensor:
    return padded.flatten(0, 1).index_select(0, mirror).view_as(padded)


def layer_weights(layer: nn.Module) -> LstmLayer:
    """Return a bidirectional layer's weights in ONNX's layout."""
    arrays = {name: value.detach().cpu().numpy() for name, value in layer.state_dict().items()}
    directions = ["forwards", "backwards"]
    biases = [[_gates(arrays[f"{each}.bias_{kind}_l0"]) for kind in ("ih", "hh")] for each in directions]
    return LstmLayer(
        inputs=np.stack([_gates(arrays[f"{each}.weight_ih_l0"]) for each in directions]),
        recurrent=np.stack([_gates(arrays[f"{each}.weight_hh_l0"]) for each in directions]),
        biases=np.stack([np.concatenate(each) for each in biases]),
    )


def _gates(torch_order: Floats) -> Floats:
    """Reorder the framework's gates i, f, c, o as ONNX's i, o, f, c."""
    i, f, c, o = np.split(torch_order, 4)
    return np.concatenate([i, o, f, c])
