import sys

import pytest

from inference.repository import DEFAULT_REPOSITORY
from training.__main__ import main

pytestmark = pytest.mark.training

BOILERNET = ["--config", "training/boilernet.toml"]


def error_of(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["training", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return str(ended.value)


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["train"], "prepare"),
        (["cross-validate"], "prepare"),
        (["export", "--version", "99"], "cross-validate"),
        (["train", *BOILERNET], "prepare"),
        (["evaluate", *BOILERNET], "train"),
        (["export", "--version", "99", *BOILERNET], "train"),
    ],
)
def test_a_command_names_the_one_to_run_before_it(monkeypatch, tmp_path, arguments, first):
    error = error_of(monkeypatch, *arguments, "--directory", tmp_path)
    assert error.startswith(f"Error: there is no {tmp_path}")
    assert f"run `python -m training {first}` first" in error


@pytest.mark.parametrize(("model", "config"), [("dehusk", []), ("boilernet", BOILERNET)])
def test_a_version_that_exists_is_refused_before_any_work(monkeypatch, tmp_path, model, config):
    target = next(file.parent for file in DEFAULT_REPOSITORY.glob(f"{model}/*/card.md"))
    error = error_of(monkeypatch, "export", "--version", target.name, "--directory", tmp_path, *config)
    assert error == f"Error: {target} exists, and versions are immutable; name the next version"


def test_a_device_that_is_not_there_is_named(monkeypatch, tmp_path, capsys):
    assert error_of(monkeypatch, "train", "--directory", tmp_path, "--device", "nonsense") == "2"
    assert "'--device': nonsense:" in capsys.readouterr().err
