"""A training run on disk: enough to go on with it, to evaluate it and to export it."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from dehusk.training.boilernet.config import BoilerNetConfig
from dehusk.training.boilernet.network import BoilerNet
from dehusk.training.boilernet.vocabulary import Vocabulary
from dehusk.training.checkpoint import load_state, save_state
from dehusk.training.directory import left_by


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

    config: BoilerNetConfig
    seed: int
    vocabulary: Vocabulary
    network: BoilerNet
    optimizer: torch.optim.Optimizer
    epochs: int
    """Epochs done so far."""
    seconds: float
    """What they took."""
    best: Best | None = None
    """None where the last epoch is kept."""


def new_run(config: BoilerNetConfig, vocabulary: Vocabulary, seed: int) -> Run:
    """An untrained network, the same for the same seed."""
    torch.manual_seed(seed)
    network = BoilerNet(len(vocabulary), config.network, vocabulary.ignored_row)
    settings = config.trainer
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, eps=settings.adam_epsilon)
    return Run(config, seed, vocabulary, network, optimizer, epochs=0, seconds=0.0)


def save(run: Run, file: Path) -> None:
    """Write a run."""
    state = {
        "seed": run.seed,
        "vocabulary": asdict(run.vocabulary),
        "network": run.network.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "epochs": run.epochs,
        "seconds": run.seconds,
        "best": run.best and asdict(run.best),
    }
    save_state(file, run.config, state)


def load(file: Path, config: BoilerNetConfig) -> Run:
    """The run of this configuration that a file holds.

    Raises:
        ConfigurationError: there is no such file, or it is of another configuration.
    """
    state = load_state(left_by("train", file), config)
    vocabulary = Vocabulary(**state["vocabulary"])
    run = new_run(config, vocabulary, state["seed"])
    run.network.load_state_dict(state["network"])
    run.optimizer.load_state_dict(state["optimizer"])
    best = state["best"] and Best(**state["best"])
    return replace(run, epochs=state["epochs"], seconds=state["seconds"], best=best)


def load_trained(file: Path, config: BoilerNetConfig) -> Run:
    """The run that a file holds, with the network that it gave: its best epoch's, or the last's.

    Raises:
        ConfigurationError: there is no such file, or it is of another configuration.
    """
    run = load(file, config)
    if run.best is not None:
        run.network.load_state_dict(run.best.weights)
    return run
