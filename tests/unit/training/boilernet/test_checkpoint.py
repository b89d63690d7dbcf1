from dataclasses import replace

import pytest
import torch

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.boilernet.checkpoint import Best, load, load_trained, new_run, save
from dehusk.training.boilernet.config import DEFAULT_CONFIG, read_config
from dehusk.training.boilernet.vocabulary import Vocabulary

pytestmark = pytest.mark.training


def test_a_run_survives_being_saved(tmp_path):
    config = read_config(DEFAULT_CONFIG)
    config = replace(config, trainer=replace(config.trainer, adam_epsilon=1e-6))
    vocabulary = Vocabulary(("p",), ("mill",), ignored=("!",), separate_unknown=False)
    run = replace(new_run(config, vocabulary, seed=1), epochs=3, seconds=7.5)
    save(run, tmp_path / "checkpoint.pt")
    back = load(tmp_path / "checkpoint.pt", config)
    assert (back.config, back.seed, back.vocabulary) == (run.config, 1, run.vocabulary)
    assert (back.epochs, back.seconds) == (3, 7.5)
    assert [group["eps"] for group in back.optimizer.param_groups] == [1e-6]
    ours, theirs = run.network.state_dict(), back.network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_run_gives_the_network_of_its_best_epoch(tmp_path):
    run = new_run(read_config(DEFAULT_CONFIG), Vocabulary(("p",), ("mill",)), seed=1)
    save(run, tmp_path / "checkpoint.pt")
    assert torch.equal(load_trained(tmp_path / "checkpoint.pt", run.config).network.bias, run.network.bias)
    weights = {name: value + 1 for name, value in run.network.state_dict().items()}
    save(replace(run, best=Best(2, 0.75, weights)), tmp_path / "checkpoint.pt")
    assert torch.equal(load(tmp_path / "checkpoint.pt", run.config).network.bias, run.network.bias)
    trained = load_trained(tmp_path / "checkpoint.pt", run.config)
    assert (trained.best.epochs, trained.best.score) == (2, 0.75)
    assert torch.equal(trained.network.bias, run.network.bias + 1)


def test_a_missing_checkpoint_says_what_to_run(tmp_path):
    with pytest.raises(ConfigurationError, match="python -m training train"):
        load(tmp_path / "checkpoint.pt", read_config(DEFAULT_CONFIG))
