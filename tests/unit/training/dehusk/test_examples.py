from dataclasses import replace

import pytest

from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.dehusk.examples import example_of, learned_from

CONFIG = DehuskConfig.read(DEFAULT_CONFIG)


def test_so_many_pages_of_a_site_are_learned_from(pages):
    few = replace(CONFIG, trainer=replace(CONFIG.trainer, most_of_a_site=2))
    of_one_site = [replace(page, site="mill.example") for page in pages[:4]]
    some = [replace(of_one_site[0], reliable=False), *of_one_site[1:], *pages[4:6]]
    assert [page.id for page in learned_from(some, few)] == ["1", "2", "4", "5"]


def test_nothing_is_learned_from_collections_that_weigh_nothing(pages):
    config = replace(CONFIG, importance={"mills": 0})
    assert {page.collection for page in pages} == {"mills"}
    assert learned_from(pages, config) == []


def test_uncertain_labels_and_collections_of_little_importance_count_less(pages):
    config = replace(CONFIG, importance={"mills": 0.5})
    page = replace(pages[0], uncertain=pages[0].comment)
    example, certain = example_of(page, config), example_of(pages[0], replace(config, importance={}))
    assert example.weights.sum() == pytest.approx(0.5)
    assert certain.weights.sum() == pytest.approx(1)
    share = (example.weights / certain.weights * 2)[page.comment] / (example.weights / certain.weights * 2)[0]
    assert share == pytest.approx(config.trainer.doubtful)


def test_altered_pages_count_less_and_beside_the_whole_ones(pages):
    one = replace(pages[0], site="mill.example")
    short, renamed = (replace(one, altered=altered) for altered in ("shortened", "renamed"))
    assert learned_from([one, short, renamed], CONFIG) == [one, short, renamed]
    whole, of_short, of_renamed = (example_of(page, CONFIG) for page in (one, short, renamed))
    assert of_short.importance == of_renamed.importance == CONFIG.trainer.altered * whole.importance
    assert [each.in_second_pass for each in (whole, of_short, of_renamed)] == [True, True, False]
