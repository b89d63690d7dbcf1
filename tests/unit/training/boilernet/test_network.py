from dataclasses import replace

import numpy as np
import pytest
import torch

from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig
from dehusk.training.boilernet.network import Blocks, BoilerNet

pytestmark = pytest.mark.training

SMALL = replace(BoilerNetConfig.read(DEFAULT_CONFIG).network, tags=3, words=6, dense=8, hidden=5)


@pytest.fixture
def network():
    torch.manual_seed(3)
    return BoilerNet(10, SMALL).eval()


def blocks(count, seed=0):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 6, count)
    return Blocks(torch.from_numpy(random.integers(0, 10, lengths.sum())), torch.from_numpy(lengths))


def test_the_first_weights_are_drawn_as_the_released_code_draws_them(network):
    for weights in (network.embeddings.weight, network.output.weight):
        assert weights.abs().max() <= (6 / sum(weights.shape)) ** 0.5
    assert not network.bias.any()
    assert not network.output.bias.any()
    for layer in network.layers:
        for direction in (layer.forwards, layer.backwards):
            inputs, recurrent = direction.weight_ih_l0, direction.weight_hh_l0
            assert 0.9 < inputs.abs().max() / (6 / sum(inputs.shape)) ** 0.5 <= 1
            assert torch.allclose(recurrent.T @ recurrent, torch.eye(SMALL.hidden), atol=1e-5)
            assert direction.bias_ih_l0.reshape(4, -1).tolist() == [[gate == 1] * 5 for gate in range(4)]
            assert not direction.bias_hh_l0.any()


def test_the_first_weights_can_be_those_of_the_framework():
    network = BoilerNet(10, replace(SMALL, first_weights="torch"))
    for values in (network.embeddings.weight, network.bias):
        assert 0.7 < values.abs().max() / 10**-0.5 <= 1
    for layer in network.layers:
        for values in layer.parameters():
            assert 0.7 < values.abs().max() / SMALL.hidden**-0.5 <= 1


def test_tokens_of_the_ignored_row_are_not_read_and_learn_nothing(network):
    ignoring = BoilerNet(11, SMALL, ignored=10).eval()
    page = blocks(4)
    with_ignored = Blocks(torch.cat([torch.tensor([10, 10]), page.rows]), page.lengths.clone())
    with_ignored.lengths[0] += 2
    assert torch.equal(ignoring([page]), ignoring([with_ignored]))
    ignoring([with_ignored]).sum().backward()
    assert not ignoring.embeddings.weight[10].any()
    assert not ignoring.embeddings.weight.grad[10].any()
    assert ignoring.embeddings.weight.grad.any()


def test_each_block_gets_a_logit_that_does_not_depend_on_batch_mates(network):
    pages = [blocks(count, seed) for seed, count in enumerate((3, 9, 1, 9))]
    together = network(pages).split([len(page) for page in pages])
    for page, logits in zip(pages, together, strict=True):
        assert torch.allclose(network([page]), logits, atol=1e-6)


def test_the_layers_are_the_frameworks_bidirectional_lstm(network):
    reference = torch.nn.LSTM(SMALL.dense, SMALL.hidden, SMALL.layers, bidirectional=True)
    state = {}
    for number, layer in enumerate(network.layers):
        for suffix, direction in (("", layer.forwards), ("_reverse", layer.backwards)):
            for name, values in direction.state_dict().items():
                state[name.replace("l0", f"l{number}") + suffix] = values
    reference.load_state_dict(state)
    page = blocks(12)
    offsets = torch.cumsum(page.lengths, 0) - page.lengths
    vectors = torch.relu(network.embeddings(page.rows, offsets) + network.bias)
    expected = network.output(reference(vectors)[0]).squeeze(1)
    assert torch.allclose(network([page]), expected, atol=1e-6)


def test_every_block_of_a_page_can_change_every_logit(network):
    page = blocks(6)
    changed = Blocks(page.rows.clone(), page.lengths)
    changed.rows[-1] = (changed.rows[-1] + 1) % 10
    assert (network([page]) != network([changed])).all()


def test_dropout_is_for_training_alone(network):
    page = blocks(30)
    assert torch.equal(network([page]), network([page]))
    network.train()
    assert not torch.equal(network([page]), network([page]))
