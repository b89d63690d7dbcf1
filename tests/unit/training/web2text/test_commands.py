"""The way from pages to a published version."""

import lzma
import re

import numpy as np
import orjson
import pytest

from dehusk.inference.labelers.golden import parse_golden
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.signature import WEB2TEXT
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.runs import Preparation
from dehusk.training.versions import labeler_answer
from dehusk.training.web2text.commands import cross_validate, evaluate, export, prepare, train

pytestmark = pytest.mark.training

SMALL = {"seeds": "[1, 2, 3]", "iterations": 60, "validate_every": 30, "batch_excerpts": 16}


@pytest.fixture
def config(tmp_path, config_file):
    text = config_file.read_text()
    for name, value in SMALL.items():
        text = re.sub(rf"^{name} = .*", f"{name} = {value}", text, flags=re.MULTILINE)
    file = tmp_path / "web2text.toml"
    file.write_text(text)
    return file


def data(file, count=40):
    with lzma.open(file, "wb") as lines:
        for number in range(count):
            article = [f"The mill of {number} grinds slowly, but it grinds fine. Part {k}." for k in range(3)]
            menu = "".join(f"<li><a href=/{k}>Menu {k} of {number}</a></li>" for k in range(4))
            paragraphs = "".join(f"<p>{each}</p>" for each in article)
            fields = {
                "id": str(number),
                "url": f"http://mill{number}.example/",
                "page_type": "article",
                "html": f"<body><ul>{menu}</ul><div>{paragraphs}</div><p>Imprint</body>",
                "main_content": "\n".join(article),
            }
            lines.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))
    return file


def test_from_pages_to_a_published_version(tmp_path, config, capsys):
    directory = tmp_path / "run"
    prepare(Preparation([data(tmp_path / "mills.jsonl.xz")], directory, config, 1, ()))
    train(directory, config)
    evaluate(directory, config, "web2text", None, tmp_path)
    told = capsys.readouterr().out
    export(directory, config, ModelVersion("small", "1"), tmp_path / "models")
    labeler = OnnxLabeler("small", repository=tmp_path / "models")
    golden = parse_golden((tmp_path / "models" / "small" / "1" / "golden.json").read_bytes())
    card = (tmp_path / "models" / "small" / "1" / "card.md").read_text()
    assert labeler.signature is WEB2TEXT
    for answer in golden:
        assert np.abs(labeler_answer(labeler)(answer.page) - answer.probabilities).max() < 1e-5
    assert re.search(r"^\| content \(1\) \| \d+ \| 1\.000 \| 1\.000 \| 1\.000 \|$", told, re.MULTILINE)
    assert re.search(r"^\| all pages \| \d+ \| 1\.000 \| 1\.000 \|$", card, re.MULTILINE)
    assert "17,960" in card


def test_training_goes_on_where_it_stopped(tmp_path, config, capsys):
    directory = tmp_path / "run"
    prepare(Preparation([data(tmp_path / "mills.jsonl.xz")], directory, config, 1, ()))
    train(directory, config)
    files = {file.name: file.read_bytes() for file in directory.glob("*.pt")}
    (directory / "pairwise-3.pt").unlink()
    capsys.readouterr()
    train(directory, config)
    assert {line.split(",")[0] for line in capsys.readouterr().err.splitlines()} == {"pairwise"}
    assert {file.name for file in directory.glob("*.pt")} == set(files)
    assert len(files) == 6


def test_what_this_model_does_not_need_is_refused(tmp_path, config):
    with pytest.raises(ConfigurationError, match="sites"):
        prepare(Preparation([tmp_path], tmp_path, config, 1, [tmp_path]))
    with pytest.raises(ConfigurationError, match="evaluate"):
        cross_validate(tmp_path, config, (1,), leave_out="site", ablate=False)
