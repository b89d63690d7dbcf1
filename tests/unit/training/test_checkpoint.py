from dataclasses import replace

import pytest
import torch

from schemas.errors import ConfigurationError
from training.checkpoint import load, new_run, save
from training.config import DEFAULT_CONFIG, read_config
from training.vocabulary import Vocabulary

pytestmark = pytest.mark.training


def test_a_run_survives_being_saved(tmp_path):
    run = replace(new_run(read_config(DEFAULT_CONFIG), Vocabulary(("p",), ("mill",))), epochs=3, seconds=7.5)
    save(run, tmp_path / "checkpoint.pt")
    back = load(tmp_path / "checkpoint.pt")
    assert (back.config, back.vocabulary, back.epochs, back.seconds) == (run.config, run.vocabulary, 3, 7.5)
    ours, theirs = run.network.state_dict(), back.network.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_missing_checkpoint_says_what_to_run(tmp_path):
    with pytest.raises(ConfigurationError, match="python -m training train"):
        load(tmp_path / "checkpoint.pt")
