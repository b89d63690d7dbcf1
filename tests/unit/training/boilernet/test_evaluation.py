from statistics import fmean

import numpy as np
import pytest

from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig
from dehusk.training.boilernet.evaluation import PageScore, group_table, scores_by_group
from dehusk.training.boilernet.labeled_pages import label
from dehusk.training.pages.gold import GoldPage

DATA = BoilerNetConfig.read(DEFAULT_CONFIG).data
HTML = "<p>the mill turns again</p><p>all rights reserved</p>"


def pages():
    text = "the mill turns again"
    return [
        label(GoldPage("1", "a.example", "article", HTML, text), 2 / 3),
        label(GoldPage("2", "b.example", "forum", HTML + "<script>1</script>", text), 2 / 3),
        label(GoldPage("3", "c.example", "forum", "", text), 2 / 3),
    ]


def test_scores_are_means_over_pages_for_each_kind_and_type():
    scores = scores_by_group(pages(), lambda page: np.array([0.9, 0.1], np.float32), DATA)
    assert {name: len(each) for name, each in scores.items()} == {
        "all pages": 3, "reliable gold": 2, "as crawled": 1, "stripped": 2, "article": 1, "forum": 2,
    }  # fmt: skip
    means = {name: PageScore(*map(fmean, zip(*each, strict=True))) for name, each in scores.items()}
    assert means["reliable gold"].f1 == 1.0
    assert means["all pages"].f1 == pytest.approx(2 / 3)
    assert means["forum"].oracle == pytest.approx(1 / 2)
    assert means["article"].everything == pytest.approx(2 * 4 / (4 + 7))


def test_blocks_that_are_not_selected_are_not_scored():
    scores = scores_by_group(pages()[:1], lambda page: np.array([0.1, 0.9], np.float32), DATA)
    assert scores["all pages"][0].f1 == 0.0


def test_the_table_has_a_line_per_group():
    table = group_table(scores_by_group(pages()[:1], lambda page: np.ones(2, np.float32), DATA)).splitlines()
    assert table[2] == "| all pages | 1 | 0.727 | 0.727 | 1.000 |"
    assert len(table) == 2 + 4
