import re
import sys

import orjson
import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.training.__main__ import main
from dehusk.training.boilernet.config import DEFAULT_CONFIG as BOILERNET_CONFIG
from dehusk.training.boilernet.config import BoilerNetConfig
from dehusk.training.boilernet.labeled_pages import label, prepared_pages
from dehusk.training.boilernet.trainer import new_run, origin_of, save
from dehusk.training.boilernet.vocabulary import Vocabulary
from dehusk.training.pages.gold import GoldPage
from dehusk.training.runs import Preparation, write_pages

pytestmark = pytest.mark.training

BOILERNET = ["--config", str(BOILERNET_CONFIG)]


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
        (["signal", "fit"], "signal prepare"),
        (["signal", "evaluate"], "signal prepare"),
        (["train", *BOILERNET], "prepare"),
        (["evaluate", *BOILERNET], "prepare"),
        (["export", "--version", "99", *BOILERNET], "prepare"),
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


def test_the_default_model_takes_no_pages_for_validation(monkeypatch, tmp_path):
    (tmp_path / "data").touch()
    error = error_of(
        monkeypatch, "prepare", "--directory", tmp_path, "--validation", tmp_path / "data", tmp_path / "data"
    )
    assert error == "Error: the default model is cross-validated; --validation is for BoilerNet"


@pytest.mark.parametrize("command", [["evaluate"], ["export", "--version", "99"]])
def test_a_network_of_another_configuration_is_neither_scored_nor_published(monkeypatch, tmp_path, command):
    config = BoilerNetConfig.read(BOILERNET_CONFIG)
    page = label(GoldPage("1", "mill.example", "article", "<p>the mill", "the mill"), 2 / 3)
    write_pages(Preparation([], tmp_path, BOILERNET_CONFIG, 1), config, [page])
    run = new_run(config, Vocabulary(("p",), ("mill",)), seed=1)
    save(run, origin_of(config, prepared_pages(tmp_path, config)), tmp_path / "checkpoint-1.pt")
    other = tmp_path / "other.toml"
    other.write_text(BOILERNET_CONFIG.read_text().replace("dropout = 0.5", "dropout = 0.4"))
    error = error_of(monkeypatch, *command, "--directory", tmp_path, "--config", other)
    assert error.startswith(f"Error: {tmp_path}/checkpoint-1.pt is of another configuration")


@pytest.mark.parametrize("command", [["train"], ["cross-validate"], ["evaluate"], ["signal", "prepare"]])
def test_a_run_that_was_prepared_for_another_kind_of_model_is_refused(monkeypatch, tmp_path, command):
    prepared = Preparation([], tmp_path, BOILERNET_CONFIG, 1)
    write_pages(prepared, BoilerNetConfig.read(BOILERNET_CONFIG), ["a page"])
    files = [BOILERNET_CONFIG] if "signal" in command else []
    error = error_of(monkeypatch, *command, "--directory", tmp_path, *files)
    assert error.startswith(f"Error: {tmp_path} was prepared with kind = boilernet, held_out = 0.2, and the")


def test_a_device_that_is_not_there_is_named(monkeypatch, tmp_path, capsys):
    assert error_of(monkeypatch, "train", "--directory", tmp_path, "--device", "nonsense") == "2"
    assert "'--device': nonsense:" in capsys.readouterr().err


def test_boilernet_takes_no_labels_of_blocks(monkeypatch, tmp_path):
    file = tmp_path / "data"
    file.touch()
    error = error_of(monkeypatch, "prepare", "--directory", tmp_path, "--labels", file, file, *BOILERNET)
    assert "--labels is for the default model" in error


def test_labels_of_other_pages_stop_the_preparation(monkeypatch, tmp_path):
    data, labels = tmp_path / "data.jsonl", tmp_path / "labels.jsonl"
    data.write_text('{"id": "a", "url": null, "html": "<p>A"}')
    labels.write_text(
        '{"id": "b", "url": null, "html_hash": "' + "0" * 32 + '", "blocks_hash": "' + "0" * 32 + '", '
        '"labels": [1], "labeled_at": "2026-11-23T03:30:00Z"}'
    )
    error = error_of(monkeypatch, "prepare", "--directory", tmp_path / "run", "--labels", labels, data)
    assert error.startswith(f"Error: labels in {labels} do not fit: unknown-page (1: ")
    assert not (tmp_path / "run").exists()


def test_a_seed_below_zero_is_refused(monkeypatch, tmp_path, capsys):
    assert error_of(monkeypatch, "cross-validate", "--directory", tmp_path, "--seed", "-1") == "2"
    assert "'--seed': -1 is not in the range" in capsys.readouterr().err


WEB2TEXT_CONFIG = BOILERNET_CONFIG.parents[1] / "web2text" / "web2text.toml"
KINDS = {"dehusk": [], "boilernet": BOILERNET, "web2text": ["--config", str(WEB2TEXT_CONFIG)]}


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_files_without_pages_are_named(monkeypatch, tmp_path, config):
    (tmp_path / "empty.jsonl").touch()
    directory = ["--directory", tmp_path / "run", *config]
    for command in (["prepare", "--processes", 1, tmp_path / "empty.jsonl"], ["train"]):
        error = error_of(monkeypatch, *command, *directory)
        assert error.startswith(f"Error: {tmp_path}/run has no pages, as empty.jsonl (SHA-256 e3b0c44298fc1c")


def trained(monkeypatch, folder, gold, config):
    """Prepare a page of each of many sites, and return the error of `train`."""
    page = {"html": "<p>the mill<p>the mill", "main_content": gold}
    lines = [orjson.dumps(page | {"url": f"https://mill{number}.example/"}) for number in range(40)]
    (folder / "data.jsonl").write_bytes(b"\n".join(lines))
    directory = ["--directory", folder / "run", *config]
    assert error_of(monkeypatch, "prepare", "--processes", 1, *directory, folder / "data.jsonl") == "0"
    return error_of(monkeypatch, "train", *directory)


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_content_alone_is_nothing_to_train_on(monkeypatch, tmp_path, config):
    error = trained(monkeypatch, tmp_path, "the mill the mill", config)
    assert re.match(
        r"Error: all \d+ blocks of the \d+ pages to learn from are labeled as content: there", error
    )


@pytest.mark.parametrize("config", KINDS.values(), ids=KINDS)
def test_pages_whose_gold_is_not_in_them_are_nothing_to_train_on(monkeypatch, tmp_path, config):
    error = trained(monkeypatch, tmp_path, "a river", config)
    assert re.match(
        "Error: (the pages to learn from are in 0 of 3 parts|there are no pages to learn from)", error
    )
