from dataclasses import replace

import numpy as np
import pytest

from dehusk.training.dehusk.evaluation import groups, page_score, table


def test_a_page_is_scored_by_the_words_of_what_is_selected(pages):
    page = pages[0]
    perfect = page_score(page, page.encoded, page.content.astype(np.float32), page.gold)
    everything = page_score(page, page.encoded, np.ones(len(page.content), np.float32), page.gold)
    assert perfect == 1.0
    assert 0.3 < everything < 1.0
    assert page_score(page, page.encoded, np.zeros(len(page.content), np.float32), page.gold) == 0.0


def test_pages_are_grouped_by_kind_and_type(pages):
    some = [*pages[:3], replace(pages[3], repaired=True)]
    assert groups(some) == {
        "all pages": ["0", "1", "2", "3"],
        "labels never repaired": ["0", "1", "2"],
        "as crawled": ["0", "2"],
        "stripped": ["1", "3"],
        "article": ["0", "2"],
        "forum": ["1", "3"],
    }


@pytest.mark.parametrize(
    ("seeds", "cell"), [([{"a": 0.5, "b": 1.0}], "0.750"), ([{"a": 0.5}, {"a": 0.7}], "0.600 ± 0.141")]
)
def test_a_table_has_means_and_their_spread_over_seeds(seeds, cell):
    lines = table({"all": ["a", "b"]}, {"F1": seeds}).splitlines()
    assert lines == ["| pages | number | F1 |", "|---|--:|--:|", f"| all | 2 | {cell} |"]


def test_pages_of_no_known_type_are_grouped_by_collection(pages):
    others = [replace(pages[2], has_gold=False), replace(pages[3], altered="shortened")]
    found = groups([pages[0], replace(pages[1], page_type=""), *others])
    assert found["all pages"] == ["0"]
    assert found["mills"] == ["1"]
    assert found["shortened"] == ["3"]
