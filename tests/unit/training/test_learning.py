from dataclasses import dataclass

import pytest
import torch
from torch import nn

from dehusk.training.learning import learn, learning_rate, seeded

pytestmark = pytest.mark.training


@dataclass(frozen=True)
class Settings:
    epochs: int = 1
    learning_rate: float = 1.0
    warmup_steps: int = 2
    gradient_norm: float = 1.0


@pytest.mark.parametrize(
    ("least", "rates"),
    [(0.0, [0.5, 0.75, 0.5, 0.25]), (0.4, [0.5, 0.75, 0.5, 0.4]), (1.0, [0.5, 1.0, 1.0, 1.0])],
)
def test_the_learning_rate_rises_and_then_falls_to_its_least(least, rates):
    assert [learning_rate(Settings(), step, 4, least) for step in range(4)] == rates


def test_an_epoch_goes_on_at_the_rate_where_the_one_before_ended():
    network = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(network.parameters())
    settings, rates = Settings(epochs=2), []

    def backward(batch):
        network(batch).sum().backward()
        rates.append(optimizer.param_groups[0]["lr"])
        return 0.0

    for epoch in range(2):
        list(
            learn(network, optimizer, [torch.ones(1)] * 2, settings, epoch, least_rate=0.0, backward=backward)
        )
    assert rates == [0.5, 0.75, 0.5, 0.25]


def test_the_weights_follow_the_gradient_no_further_than_its_norm_allows():
    network = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(network.parameters())
    before = float(network.weight.detach())

    def backward(batch):
        loss = 1000 * network(batch).sum()
        loss.backward()
        return float(loss.detach())

    settings = Settings(warmup_steps=1)
    (loss,) = learn(network, optimizer, [torch.ones(1)], settings, 0, least_rate=1.0, backward=backward)
    assert loss == pytest.approx(1000 * before)
    assert float(network.weight.detach()) == pytest.approx(before - 1.0, abs=1e-4)


def test_the_randomness_is_the_seeds_and_the_epochs():
    def drawn(seed, epoch):
        return seeded(seed, epoch).random(), float(torch.rand(1))

    assert drawn(1, 2) == drawn(1, 2)
    assert len({drawn(1, 2), drawn(1, 3), drawn(2, 2)}) == 3
