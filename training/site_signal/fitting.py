"""Fitting of the network that corrects probabilities, to crawls of sites."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from dehusk.inference.selection.site_signal import INPUTS, SignalNetwork, inputs
from dehusk.schemas.errors import ConfigurationError
from dehusk.training.arrays import Floats
from dehusk.training.site_signal.crawls import SitePage, Visit

_SIGNS = {"text_share": -1.0, "structure_logit": 1.0}
"""Direction in which an input may move a block: text that repeats is never likelier content for it."""


@dataclass(frozen=True, slots=True)
class SignalSettings:
    """Settings of the fitting."""

    seed: int = 1
    orders: int = 8
    """Orders in which each site is crawled."""
    networks: int = 2
    """Number of networks that are fitted; the published one is their mean."""
    hidden: int = 16
    epochs: int = 12
    batch_blocks: int = 4096
    learning_rate: float = 0.01
    weight_decay: float = 0.05
    most_of_a_page: float = 0.3
    """Largest weight of a block in its page."""


def fit(visits: Iterable[Visit], settings: SignalSettings) -> SignalNetwork:
    """Fit the network under which the labels of the visited pages are most likely.

    Raises:
        ConfigurationError: no page is visited.
    """
    torch.set_num_threads(1)
    columns, labels, weights = _columns(visits, settings)
    fitted = [_fitted(columns, labels, weights, settings, each) for each in range(settings.networks)]
    return SignalNetwork(
        weights=np.concatenate([each.weights for each in fitted], axis=1),
        biases=np.concatenate([each.biases for each in fitted]),
        outputs=np.concatenate([each.outputs / np.float32(len(fitted)) for each in fitted]),
        offset=sum(each.offset for each in fitted) / len(fitted),
    )


def _columns(
    visits: Iterable[Visit], settings: SignalSettings
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    columns, labels, weights = [], [], []
    for visit in visits:
        columns.append(inputs(visit.answer[0], visit.statistics))
        labels.append(visit.page.content.astype(np.float32))
        weights.append(_weights(visit.page, settings.most_of_a_page))
    if not columns:
        raise ConfigurationError(
            "no page with a gold text comes by in the crawls to learn from: add sites that have some"
        )
    return _tensor(columns), _tensor(labels), _tensor(weights)


def _tensor(arrays: Sequence[Floats]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate(arrays))


def _weights(page: SitePage, most: float) -> Floats:
    """Return the weight of each block: its share of the page's content, as F1 has it."""
    words = page.word_counts + np.float32(0.5)
    content = max(float(words[page.content].sum()), 0.1 * float(words.sum()))
    shares: Floats = np.minimum(words / np.float32(content), np.float32(most)).astype(np.float32)
    return shares


class _Bounded(nn.Module):
    """A layer of hyperbolic tangents; inputs with a sign may move its answer one way only."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(len(INPUTS), hidden) / 2)
        self.biases = nn.Parameter(torch.randn(hidden) / 2)
        self.outputs = nn.Parameter(torch.full((hidden,), -3.0))
        self.offset = nn.Parameter(torch.zeros(()))
        self.signs = torch.tensor([[_SIGNS.get(name, 0.0)] for name in INPUTS])

    def bounded(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the weights and outputs as they count."""
        softplus = nn.functional.softplus
        free = torch.where(self.signs == 0, self.weights, self.signs * softplus(self.weights))
        return free, softplus(self.outputs)

    def forward(self, columns: torch.Tensor) -> torch.Tensor:
        """Return what is added to the logits."""
        weights, outputs = self.bounded()
        return torch.tanh(columns @ weights + self.biases) @ outputs + self.offset


def _fitted(
    columns: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor, settings: SignalSettings, which: int
) -> SignalNetwork:
    torch.manual_seed(settings.seed * 1000 + which)
    mean, deviation = columns.mean(0), columns.std(0).clamp_min(1e-3)
    network = _Bounded(settings.hidden)
    scaled, weights = (columns - mean) / deviation, weights / weights.mean()
    batches = range(0, len(labels), settings.batch_blocks)
    optimizer = torch.optim.AdamW(_decayed(network, settings.weight_decay), settings.learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.learning_rate, total_steps=settings.epochs * len(batches) + 1
    )
    for _ in range(settings.epochs):
        shuffled = torch.randperm(len(labels))
        for start in batches:
            batch = shuffled[start : start + settings.batch_blocks]
            logits = columns[batch, 0] + network(scaled[batch])
            losses = nn.functional.binary_cross_entropy_with_logits(
                logits, labels[batch], weight=weights[batch]
            )
            optimizer.zero_grad()
            losses.backward()
            optimizer.step()
            schedule.step()
    return _published(network, mean, deviation)


def _decayed(network: _Bounded, decay: float) -> Sequence[dict[str, object]]:
    """Group the parameters; `outputs` are logarithms nearly, and would grow if they decayed."""
    others = [each for name, each in network.named_parameters() if name != "outputs"]
    return [
        {"params": others, "weight_decay": decay},
        {"params": [network.outputs], "weight_decay": 0.0},
    ]


def _published(network: _Bounded, mean: torch.Tensor, deviation: torch.Tensor) -> SignalNetwork:
    """Return the network as it reads inputs that are not scaled."""
    with torch.no_grad():
        weights, outputs = network.bounded()
        weights = weights / deviation[:, None]
        biases = network.biases - mean @ weights
        return SignalNetwork(weights.numpy(), biases.numpy(), outputs.numpy(), float(network.offset))
