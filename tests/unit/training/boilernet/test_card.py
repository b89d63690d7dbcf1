from dataclasses import replace

import pytest

from dehusk.schemas.pages import ModelVersion
from dehusk.training.boilernet.card import card
from dehusk.training.boilernet.checkpoint import Best, new_run
from dehusk.training.boilernet.config import DEFAULT_CONFIG, read_config
from dehusk.training.boilernet.pages import label, labeled_page
from dehusk.training.boilernet.vocabulary import Vocabulary
from dehusk.training.pages import GoldPage

pytestmark = pytest.mark.training


def test_a_card_says_what_a_version_was_made_of_and_what_it_scores():
    pages = [
        label(GoldPage(str(i), f"site{i}.example", "article", "<p>the mill", "the mill"), 2 / 3)
        for i in range(50)
    ]
    run = new_run(read_config(DEFAULT_CONFIG), Vocabulary(("p",), ("mill",)), seed=1)
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
    config = read_config(DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml"))
    network = replace(config.network, punctuation=False, separate_unknown=False, first_weights="torch")
    trainer = replace(config.trainer, class_weights=False, adam_epsilon=1e-8)
    plain = replace(config, network=network, trainer=trainer)
    run = new_run(plain, Vocabulary(("p",), ("mill",), ("!",), separate_unknown=False), seed=1)
    text = card(ModelVersion("boilernet-cleaneval", "1"), run, [], ["data.xz"], "")
    assert "a row in common for all other tags\n  and words. Punctuation is not read." in text
    assert "all blocks weighted alike;\n  first weights as in PyTorch, Adam's epsilon 1e-08." in text


def test_a_card_of_labeled_blocks_says_which_epoch_was_chosen():
    page = labeled_page("1", [{"path": ["p"], "text": "the mill", "label": 1}])
    pages = [page, replace(page, validation=True)]
    config = read_config(DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml"))
    run = replace(new_run(config, Vocabulary(("p",), ("mill",)), seed=1), epochs=50, best=Best(7, 0.8, {}))
    text = card(ModelVersion("boilernet-cleaneval", "1"), run, pages, ["data.xz"], "| content (1) | 9 |")
    assert "trained on 1 (1 blocks),\n  1 held out (1 blocks)" in text
    assert "then stays; 50 epochs" in text
    assert "those of epoch 7," in text
    assert "- Seeds 1, 2, 3, 4, 5; this is seed 1, whose F1 is the median," in text
    assert "{" not in text
