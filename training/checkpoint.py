"""A training run on disk: enough to go on with it, to evaluate it and to export it."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from schemas.errors import ConfigurationError
from training.config import Config
from training.network import BoilerNet
from training.vocabulary import Vocabulary


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


def new_run(config: Config, vocabulary: Vocabulary) -> Run:
    """An untrained network, the same for the same seed."""
    torch.manual_seed(config.trainer.seed)
    network = BoilerNet(len(vocabulary), config.network)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.trainer.learning_rate)
    return Run(config, vocabulary, network, optimizer, epochs=0, seconds=0.0)


def save(run: Run, file: Path) -> None:
    """Write a run; the file before it stays whole until this one is."""
    state = {
        "config": asdict(run.config),
        "vocabulary": asdict(run.vocabulary),
        "network": run.network.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "epochs": run.epochs,
        "seconds": run.seconds,
    }
    partial = file.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(file)


def load(file: Path) -> Run:
    """The run that a file holds.

    Raises:
        ConfigurationError: there is no such file.
    """
    if not file.exists():
        raise ConfigurationError(f"there is no {file}; run `python -m training train` first")
    state: dict[str, Any] = torch.load(file, weights_only=True)
    vocabulary = Vocabulary(**{kind: tuple(tokens) for kind, tokens in state["vocabulary"].items()})
    run = new_run(Config.from_tables(state["config"]), vocabulary)
    run.network.load_state_dict(state["network"])
    run.optimizer.load_state_dict(state["optimizer"])
    return Run(run.config, vocabulary, run.network, run.optimizer, state["epochs"], state["seconds"])
