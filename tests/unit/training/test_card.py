import pytest

from schemas.pages import ModelVersion
from training.card import card
from training.checkpoint import new_run
from training.config import DEFAULT_CONFIG, read_config
from training.evaluation import GroupScore
from training.pages import GoldPage, label
from training.vocabulary import Vocabulary

pytestmark = pytest.mark.training


def test_a_card_says_what_a_version_was_made_of_and_what_it_scores():
    pages = [
        label(GoldPage(str(i), f"site{i}.example", "article", "<p>the mill", "the mill"), 2 / 3)
        for i in range(50)
    ]
    run = new_run(read_config(DEFAULT_CONFIG), Vocabulary(("p",), ("mill",)))
    text = card(
        ModelVersion("boilernet", "4"), run, pages, ["data.xz"], [GroupScore("all pages", 9, 0.5, 0.25, 1)]
    )
    assert text.startswith("# boilernet, version 4\n")
    assert "- data.xz\n- 50 pages; trained on " in text
    assert "| all pages | 9 | 0.500 | 0.250 | 1.000 |" in text
    assert "{" not in text
