from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.learning import (
    BidirectionalLayer,
    Origin,
    checksum,
    learn,
    learning_rate,
    load_state,
    mirror_and_places,
    restore,
    save_state,
    seeded,
)

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
        list(learn(network, optimizer, [torch.ones(1)] * 2, settings, epoch, min_rate=0.0, backward=backward))
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
    (loss,) = learn(network, optimizer, [torch.ones(1)], settings, 0, min_rate=1.0, backward=backward)
    assert loss == pytest.approx(1000 * before)
    assert float(network.weight.detach()) == pytest.approx(before - 1.0, abs=1e-4)


def test_the_randomness_is_the_seeds_and_the_epochs():
    def drawn(seed, epoch):
        return seeded(seed, epoch).random(), float(torch.rand(1))

    assert drawn(1, 2) == drawn(1, 2)
    assert len({drawn(1, 2), drawn(1, 3), drawn(2, 2)}) == 3


ORIGIN = Origin({"network": {"hidden": 8}, "rate": 0.1}, 7)


def run(rate=0.1):
    network = nn.Linear(1, 2)
    return network, torch.optim.SGD(network.parameters(), lr=rate)


def test_a_state_is_kept_for_its_configuration(tmp_path):
    file = tmp_path / "run.pt"
    network, optimizer = run()
    save_state(file, ORIGIN, network, optimizer, epochs=3)
    state = load_state(file, ORIGIN)
    assert state["epochs"] == 3
    other, restored = run(0.5)
    restore(state, other, restored)
    assert other.weight.tolist() == network.weight.tolist()
    assert restored.param_groups[0]["lr"] == 0.1
    assert [each.name for each in tmp_path.iterdir()] == ["run.pt"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(ORIGIN, settings={"network": {"hidden": 9}, "rate": 0.1}), "another configuration"),
        (replace(ORIGIN, pages=8), "other pages or labels"),
    ],
)
def test_a_state_of_another_origin_is_refused(tmp_path, other, said):
    save_state(tmp_path / "run.pt", ORIGIN, *run())
    with pytest.raises(ConfigurationError, match=rf"run\.pt is of {said}"):
        load_state(tmp_path / "run.pt", other)


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_a_state_that_is_not_whole_is_named(tmp_path, kept):
    file = tmp_path / "run.pt"
    save_state(file, ORIGIN, *run())
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(
        ConfigurationError, match=r"run\.pt is damaged.*; delete it and run .* training train`"
    ):
        load_state(file, ORIGIN)


def test_a_checksum_tells_parts_from_the_same_bytes_cut_otherwise():
    assert checksum([b"ab", b"c"]) == checksum(iter([b"ab", b"c"]))
    assert len({checksum(parts) for parts in ([b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"abc", b""])}) == 4


def test_pages_side_by_side_are_read_as_the_frameworks_bidirectional_lstm_reads_each_alone():
    torch.manual_seed(3)
    layer = BidirectionalLayer(4, 5)
    reference = nn.LSTM(4, 5, bidirectional=True)
    directions = (("", layer.forwards), ("_reverse", layer.backwards))
    reference.load_state_dict(
        {name + suffix: values for suffix, each in directions for name, values in each.state_dict().items()}
    )
    pages = [torch.rand(length, 4) for length in (3, 7, 1)]
    mirror, places = mirror_and_places(torch.tensor([len(page) for page in pages]))
    states = layer(nn.utils.rnn.pad_sequence(pages), mirror).flatten(0, 1)[places]
    assert torch.allclose(states, torch.cat([reference(page)[0] for page in pages]), atol=1e-6)
