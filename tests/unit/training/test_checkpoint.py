from dataclasses import dataclass

import pytest
import torch

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.checkpoint import load_state, save_state

pytestmark = pytest.mark.training


@dataclass(frozen=True)
class Sizes:
    hidden: int


@dataclass(frozen=True)
class Config:
    network: Sizes
    rate: float


def test_a_state_is_kept_for_its_configuration(tmp_path):
    file = tmp_path / "run.pt"
    save_state(file, Config(Sizes(8), 0.1), {"epochs": 3, "network": {"bias": torch.ones(2)}})
    state = load_state(file, Config(Sizes(8), 0.1))
    assert state["epochs"] == 3
    assert state["network"]["bias"].tolist() == [1.0, 1.0]
    assert [each.name for each in tmp_path.iterdir()] == ["run.pt"]


@pytest.mark.parametrize("other", [Config(Sizes(9), 0.1), Config(Sizes(8), 0.2)])
def test_a_state_of_another_configuration_is_refused(tmp_path, other):
    save_state(tmp_path / "run.pt", Config(Sizes(8), 0.1), {})
    with pytest.raises(ConfigurationError, match=r"run\.pt is of another configuration"):
        load_state(tmp_path / "run.pt", other)
