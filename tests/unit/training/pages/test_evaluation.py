from dataclasses import replace

import numpy as np
import pytest

from dehusk.schemas.pages import PAGE_KINDS
from dehusk.training.pages.evaluation import (
    ToldKind,
    gold_table,
    groups,
    kind_table,
    page_score,
    table,
    told_kinds,
)


def test_a_page_is_scored_by_the_words_of_what_is_selected(pages):
    page = pages[0]
    perfect = page_score(page, page.encoded, page.content.astype(np.float32), page.gold)
    everything = page_score(page, page.encoded, np.ones(len(page.content), np.float32), page.gold)
    assert perfect == 1.0
    assert 0.3 < everything < 1.0
    assert page_score(page, page.encoded, np.zeros(len(page.content), np.float32), page.gold) == 0.0


def test_pages_are_grouped_by_collection_and_kind(pages):
    some = [*pages[:3], replace(pages[3], repaired=True)]
    assert groups(some) == {
        "all pages": ["0", "1", "2", "3"],
        "labels never repaired": ["0", "1", "2"],
        "as crawled": ["0", "2"],
        "stripped": ["1", "3"],
        "mills": ["0", "1", "2", "3"],
        "kind: article": ["0", "2"],
        "kind: forum": ["1", "3"],
    }


@pytest.mark.parametrize(
    ("seeds", "cell"),
    [([{"a": 0.5, "b": 1.0}], "0.750"), ([{"a": 0.5, "b": 0.5}, {"a": 0.6, "b": 0.8}], "0.600 ± 0.141")],
)
def test_a_table_has_means_and_their_spread_over_seeds(seeds, cell):
    lines = table({"all": ["a", "b"]}, {"F1": seeds}).splitlines()
    assert lines == ["| pages | number | F1 |", "|---|--:|--:|", f"| all | 2 | {cell} |"]


def test_pages_that_are_not_scored_are_not_counted_and_leave_cells_empty(pages):
    columns = {"F1": [{"a": 0.5}], "repaired": [{}]}
    lines = table({"all": ["a", "b"], "none": ["b"]}, columns).splitlines()
    assert lines[2:] == ["| all | 1 | 0.500 |  |"]


def test_a_dropped_page_has_no_repaired_gold_to_be_scored_by(pages):
    dropped = replace(pages[1], repaired=True, reliable=False)
    keeps_all = gold_table([pages[0], dropped], lambda page: np.ones((2, len(page)), np.float32))
    whole, *_ = (row for row in keeps_all.splitlines() if row.startswith("| all pages"))
    alone = gold_table([pages[0]], lambda page: np.ones((2, len(page)), np.float32))
    assert whole.split("|")[4] == next(row for row in alone.splitlines() if "all pages" in row).split("|")[4]


def test_pages_of_no_known_kind_are_in_their_collections(pages):
    others = [replace(pages[2], has_gold=False), replace(pages[3], altered="shortened")]
    found = groups([pages[0], replace(pages[1], page_type="", collection="nets"), *others])
    assert found["all pages"] == ["0", "1"]
    assert (found["mills"], found["nets"]) == (["0"], ["1"])
    assert found["kind: article"] == ["0"]
    assert found["shortened"] == ["3"]


def row(kind):
    return np.array([each == kind for each in PAGE_KINDS], np.float32)


def test_kinds_are_told_of_whole_pages_of_a_known_kind(pages):
    others = [replace(pages[1], page_type=""), replace(pages[2], altered="shortened")]
    assert told_kinds([pages[0], *others], lambda _: row("listing")) == {"0": ("article", "listing")}


def test_a_table_says_how_often_a_kind_is_told_rightly():
    told = [("article", "article"), ("article", "listing"), ("forum", "forum"), ("listing", "listing")]
    lines = kind_table([{str(number): ToldKind(*each) for number, each in enumerate(told)}]).splitlines()
    assert lines[0] == "| kind | pages | told rightly | rightly so called |"
    assert lines[2] == "| all | 4 | 0.750 |  |"
    assert lines[3] == "| article | 2 | 0.500 | 1.000 |"
    assert "| listing | 1 | 1.000 | 0.500 |" in lines
    assert "| product | 0 |  |  |" in lines


def test_a_table_of_several_seeds_has_each_page_once():
    seeds = [{"1": ToldKind("forum", told)} for told in ("forum", "article")]
    lines = kind_table(seeds).splitlines()
    assert "| forum | 1 | 0.500 | 1.000 |" in lines
    assert kind_table([]).splitlines()[2] == "| all | 0 |  |  |"
