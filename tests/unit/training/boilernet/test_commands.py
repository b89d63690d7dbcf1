import lzma
import re
from dataclasses import replace

import orjson
import pytest

from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.boilernet.commands import card, cross_validate, evaluate, export, prepare, train
from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig
from dehusk.training.boilernet.evaluation import score_blocks
from dehusk.training.boilernet.labeled_pages import held_out_pages, label, labeled_page, prepared_pages
from dehusk.training.boilernet.trainer import Best, load_trained, network_answer, new_run, origin_of
from dehusk.training.boilernet.vocabulary import Vocabulary
from dehusk.training.pages.gold import GoldPage, LabeledBlock, PageOfBlocks
from dehusk.training.runs import Preparation
from dehusk.training.scores import mean_f1
from dehusk.training.versions import labeler_answer

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


def test_cross_validation_is_refused(tmp_path, config):
    with pytest.raises(ConfigurationError, match="run `python -m training evaluate`"):
        cross_validate(tmp_path, config, (1,), leave_out="site", ablate=False)


def test_of_several_seeds_the_median_is_published_and_all_are_told(tmp_path, config, capsys):
    directory = tmp_path / "run"
    held_out = pages(tmp_path / "val.xz", range(30, 39))
    prepare(Preparation([pages(tmp_path / "train.xz", range(20))], directory, config, 1, [held_out]))
    train(directory, config)
    evaluate(directory, config, "boilernet-cleaneval", None, tmp_path)
    told = capsys.readouterr().out
    export(directory, config, ModelVersion("small", "1"), tmp_path / "models")
    settings = BoilerNetConfig.read(config)
    made = prepared_pages(directory, settings)
    validation, origin = held_out_pages(made, None), origin_of(settings, made)
    runs = [load_trained(directory / f"checkpoint-{seed}.pt", settings, origin) for seed in (1, 2, 3)]
    scores = [mean_f1(score_blocks(validation, network_answer(run))) for run in runs]
    median = sorted(range(3), key=lambda place: scores[place])[1]
    published = labeler_answer(OnnxLabeler("small", repository=tmp_path / "models"))
    card = (tmp_path / "models" / "small" / "1" / "card.md").read_text()
    assert mean_f1(score_blocks(validation, published)) == scores[median]
    assert f"this is seed {median + 1}," in card
    for seed, score in enumerate(scores, start=1):
        assert re.search(rf"^\| {seed} \|.* {score:.3f} \|$", told, re.MULTILINE)
        assert re.search(rf"^\| {seed} \|.* {score:.3f} \|$", card, re.MULTILINE)


def test_a_card_says_what_a_version_was_made_of_and_what_it_scores():
    pages = [
        label(GoldPage(str(i), f"site{i}.example", "article", "<p>the mill", "the mill"), 2 / 3)
        for i in range(50)
    ]
    run = new_run(BoilerNetConfig.read(DEFAULT_CONFIG), Vocabulary(("p",), ("mill",)), seed=1)
    text = card(ModelVersion("boilernet", "4"), run, pages, ["data.xz"], "| all pages | 9 | 0.500 |")
    assert text.startswith("# boilernet, version 4\n")
    assert "- data.xz\n- 50 pages; trained on " in text
    assert text.endswith("\n| all pages | 9 | 0.500 |\n")
    assert "then falls to zero; 0 epochs" in text
    assert "those of the last epoch" in text
    assert "- Seed 1. Trained in" in text
    assert "a row each for all other tags\n  and words. Punctuation counts as words." in text
    assert "entropy,\n  both classes weighted alike; first weights as in Keras, Adam's epsilon 1e-07." in text
    assert "{" not in text


def test_a_card_says_how_a_plainer_network_was_made():
    config = BoilerNetConfig.read(DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml"))
    network = replace(config.network, punctuation=False, separate_unknown=False, first_weights="torch")
    trainer = replace(config.trainer, class_weights=False, adam_epsilon=1e-8)
    plain = replace(config, network=network, trainer=trainer)
    run = new_run(plain, Vocabulary(("p",), ("mill",), ("!",), separate_unknown=False), seed=1)
    text = card(ModelVersion("boilernet-cleaneval", "1"), run, [], ["data.xz"], "")
    assert "a row in common for all other tags\n  and words. Punctuation is not read." in text
    assert "all blocks weighted alike;\n  first weights as in PyTorch, Adam's epsilon 1e-08." in text


def test_a_card_of_labeled_blocks_says_which_epoch_was_chosen():
    page = labeled_page(PageOfBlocks("1", (LabeledBlock(("p",), "the mill", 1),)))
    pages = [page, replace(page, validation=True)]
    config = BoilerNetConfig.read(DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml"))
    run = replace(new_run(config, Vocabulary(("p",), ("mill",)), seed=1), epochs=50, best=Best(7, 0.8, {}))
    text = card(ModelVersion("boilernet-cleaneval", "1"), run, pages, ["data.xz"], "| content (1) | 9 |")
    assert "trained on 1 (1 blocks),\n  1 held out (1 blocks)" in text
    assert "then stays; 50 epochs" in text
    assert "those of epoch 7," in text
    assert "- Seeds 1, 2, 3, 4, 5; this is seed 1, whose F1 is the median," in text
    assert "{" not in text
