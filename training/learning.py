"""An epoch of training: what the trainers of all models do alike."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np
import torch
from torch import nn

Batch = TypeVar("Batch")


class Settings(Protocol):
    """How a network is trained."""

    @property
    def epochs(self) -> int:
        """How often it sees every page."""
        ...

    @property
    def learning_rate(self) -> float:
        """The rate once it has risen."""
        ...

    @property
    def warmup_steps(self) -> int:
        """Batches over which the rate rises."""
        ...

    @property
    def gradient_norm(self) -> float:
        """The norm that gradients are cut to."""
        ...


def seeded(seed: int, epoch: int) -> np.random.Generator:
    """The randomness of an epoch, the framework's included: the seed's and the epoch's alone."""
    torch.manual_seed(seed * 1000 + epoch)
    return np.random.default_rng([seed, epoch])


def learn(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[Batch],
    settings: Settings,
    epoch: int,
    *,
    least_rate: float,
    backward: Callable[[Batch], float],
) -> Iterator[float]:
    """Update the weights by each batch; the loss of each before its update, which `backward` gives."""
    network.train()
    steps = settings.epochs * len(batches)
    for done, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(settings, epoch * len(batches) + done, steps, least_rate)
        optimizer.zero_grad()
        loss = backward(batch)
        nn.utils.clip_grad_norm_(network.parameters(), settings.gradient_norm)
        optimizer.step()
        yield loss


def learning_rate(settings: Settings, step: int, steps: int, least: float) -> float:
    """Rises over the first steps, then falls in a line, not below a share; 1 lets it stay."""
    warmup = min(1.0, (step + 1) / settings.warmup_steps)
    return settings.learning_rate * warmup * max(least, 1 - step / steps)
