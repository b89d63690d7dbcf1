import pytest
import torch
from torch import nn

from dehusk.training.lstm import BidirectionalLayer, mirror_and_places

pytestmark = pytest.mark.training


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
