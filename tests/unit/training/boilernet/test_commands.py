import lzma
import re

import orjson
import pytest

from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.pages import ModelVersion
from dehusk.training.boilernet.block_scores import mean_f1, score_blocks
from dehusk.training.boilernet.checkpoint import load_trained
from dehusk.training.boilernet.commands import cross_validate, evaluate, export, prepare, train
from dehusk.training.boilernet.config import DEFAULT_CONFIG, read_config
from dehusk.training.boilernet.model import network_predict
from dehusk.training.boilernet.pages import held_out_pages
from dehusk.training.boilernet.prepare import prepared_pages
from dehusk.training.predictor import labeler_predict

pytestmark = pytest.mark.training

SMALL = {"dense": 8, "hidden": 4, "epochs": 2, "seeds": "[1, 2, 3]"}


@pytest.fixture
def config(tmp_path):
    text = DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml").read_text()
    for name, value in SMALL.items():
        text = re.sub(rf"^{name} = .*", f"{name} = {value}", text, flags=re.MULTILINE)
    file = tmp_path / "boilernet-cleaneval.toml"
    file.write_text(text)
    return file


def pages(file, numbers):
    blocks = [
        [
            {"path": ["html", "body", "p"], "text": f"The mill, {number}.", "label": number % 2},
            {"path": ["html", "body", "a"], "text": "imprint", "label": 0},
            {"path": ["html", "body", "p"], "text": "the wheel", "label": (number + place) % 2},
        ]
        for place, number in enumerate(numbers)
    ]
    with lzma.open(file, "wb") as lines:
        for number, page in zip(numbers, blocks, strict=True):
            lines.write(orjson.dumps({"id": str(number), "blocks": page}, option=orjson.OPT_APPEND_NEWLINE))
    return file


def test_networks_are_scored_on_held_out_halves_with_and_without_each_detail(tmp_path, config, capsys):
    directory, files = tmp_path / "run", [pages(tmp_path / "train.xz", range(20))]
    prepare(files, directory, config, 1, [pages(tmp_path / "val.xz", range(30, 33))])
    cross_validate(directory, config, (1, 2), leave_out="site", ablate=True)
    first = capsys.readouterr()
    names = [line.split(" | ")[0] for line in first.out.splitlines()[-6:]]
    assert names == [
        "| as configured",
        "| no punctuation",
        "| one input for all unknown",
        "| no class weights",
        "| first weights of PyTorch",
        "| Adam's epsilon 1e-8",
    ]
    assert first.err.count("seed 2, ") == 6
    cross_validate(directory, config, (1, 2), leave_out="site", ablate=False)
    assert capsys.readouterr().out.splitlines()[-1] == first.out.splitlines()[-6]
    kept = directory / "half-scores.json"
    assert len(orjson.loads(kept.read_bytes())) == 12
    prepare(files, directory, config, 1, [])
    assert not kept.exists()


def test_of_several_seeds_the_median_is_published_and_all_are_told(tmp_path, config, capsys):
    directory = tmp_path / "run"
    held_out = pages(tmp_path / "val.xz", range(30, 39))
    prepare([pages(tmp_path / "train.xz", range(20))], directory, config, 1, [held_out])
    train(directory, config)
    evaluate(directory, config, "boilernet-cleaneval", None, tmp_path)
    told = capsys.readouterr().out
    export(directory, config, ModelVersion("small", "1"), tmp_path / "models")
    settings, validation = read_config(config), held_out_pages(prepared_pages(directory), None)
    runs = [load_trained(directory / f"checkpoint-{seed}.pt", settings) for seed in (1, 2, 3)]
    scores = [mean_f1(score_blocks(validation, network_predict(run))) for run in runs]
    median = sorted(range(3), key=lambda place: scores[place])[1]
    published = labeler_predict(OnnxLabeler("small", repository=tmp_path / "models"))
    card = (tmp_path / "models" / "small" / "1" / "card.md").read_text()
    assert mean_f1(score_blocks(validation, published)) == scores[median]
    assert f"this is seed {median + 1}," in card
    for seed, score in enumerate(scores, start=1):
        assert re.search(rf"^\| {seed} \|.* {score:.3f} \|$", told, re.MULTILINE)
        assert re.search(rf"^\| {seed} \|.* {score:.3f} \|$", card, re.MULTILINE)
