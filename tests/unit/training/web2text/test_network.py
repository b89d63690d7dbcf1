"""The networks' sizes, and what a place of a sequence sees."""

import pytest
import torch

from dehusk.training.web2text.config import read_config
from dehusk.training.web2text.model import pairwise_network, unary_network
from dehusk.training.web2text.network import kernel_weights

pytestmark = pytest.mark.training


def test_the_kernels_have_as_many_weights_as_the_paper_counts(config_file):
    config = read_config(config_file).network
    assert kernel_weights(unary_network(config, seed=1)) == 17_960
    assert kernel_weights(pairwise_network(config, seed=1)) == 12_870


def test_a_block_sees_three_on_each_side(config_file):
    network = unary_network(read_config(config_file).network, seed=1).eval()
    rows = torch.randn(1, 15, 128)
    changed = rows.clone()
    changed[0, 7] += 1
    differs = (network(rows) != network(changed)).any(2)[0]
    assert differs.nonzero()[:, 0].tolist() == list(range(4, 11))
