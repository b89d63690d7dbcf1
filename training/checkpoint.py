"""A training run on disk: enough to go on with it, to evaluate it and to export it."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.config import Config
from training.directory import left_by, written_whole
from training.network import BoilerNet
from training.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The epoch that labeled the held-out pages best so far."""

    epochs: int
    """Epochs done when it ended."""
    score: float
    """Its F1 over held-out blocks, averaged over both classes."""
    weights: dict[str, Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A network under training."""

    config: Config
    vocabulary: Vocabulary
    network: BoilerNet
    optimizer: torch.optim.Optimizer
    epochs: int
    """Epochs done so far."""
    seconds: float
    """What they took."""
    best: Best | None = None
    """None where the last epoch is kept."""


def new_run(config: Config, vocabulary: Vocabulary) -> Run:
    """An untrained network, the same for the same seed."""
    torch.manual_seed(config.trainer.seed)
    network = BoilerNet(len(vocabulary), config.network)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.trainer.learning_rate)
    return Run(config, vocabulary, network, optimizer, epochs=0, seconds=0.0)


def save(run: Run, file: Path) -> None:
    """Write a run."""
    state = {
        "config": asdict(run.config),
        "vocabulary": asdict(run.vocabulary),
        "network": run.network.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "epochs": run.epochs,
        "seconds": run.seconds,
        "best": run.best and asdict(run.best),
    }
    write_state(file, state)


def write_state(file: Path, state: dict[str, Any]) -> None:
    """Write what training goes on from; the file before it stays whole until this one is."""
    with written_whole(file) as target:
        torch.save(state, target)


def load(file: Path) -> Run:
    """The run that a file holds.

    Raises:
        ConfigurationError: there is no such file.
    """
    state: dict[str, Any] = torch.load(left_by("train", file), map_location="cpu", weights_only=True)
    vocabulary = Vocabulary(**{kind: tuple(tokens) for kind, tokens in state["vocabulary"].items()})
    run = new_run(Config.from_tables(state["config"]), vocabulary)
    run.network.load_state_dict(state["network"])
    run.optimizer.load_state_dict(state["optimizer"])
    best = state["best"] and Best(**state["best"])
    return replace(run, epochs=state["epochs"], seconds=state["seconds"], best=best)


def load_trained(file: Path) -> Run:
    """The run that a file holds, with the network that it gave: its best epoch's, or the last's.

    Raises:
        ConfigurationError: there is no such file.
    """
    run = load(file)
    if run.best is not None:
        run.network.load_state_dict(run.best.weights)
    return run
