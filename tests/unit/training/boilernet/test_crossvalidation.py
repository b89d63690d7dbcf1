from dataclasses import replace

import numpy as np
import pytest

from dehusk.training.boilernet import crossvalidation
from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig
from dehusk.training.boilernet.crossvalidation import (
    ablations,
    cross_validated,
    forget_scores,
    halves,
    known_or_scored,
    seeds_table,
)
from dehusk.training.boilernet.labeled_pages import labeled_page
from dehusk.training.pages.gold import LabeledBlock, PageOfBlocks

pytestmark = pytest.mark.training

CONFIG = BoilerNetConfig.read(DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml"))


def page(number):
    blocks = tuple(LabeledBlock(("p",), f"mill {number}", place) for place in (0, 1))
    return replace(labeled_page(PageOfBlocks(str(number), blocks)), validation=number < 3)


PAGES = [page(number) for number in range(20)]


def test_half_of_the_sites_are_learned_from_and_validation_pages_never():
    learned, held_out = halves(PAGES, 1)
    assert len(learned) == 10
    assert sorted([*learned, *held_out], key=PAGES.index) == PAGES
    assert not any(each.validation for each in learned)
    assert halves(PAGES, 1) == (learned, held_out)
    assert halves(PAGES, 2) != (learned, held_out)


def test_the_pages_of_a_site_stay_together():
    pages = [replace(each, site=str(place % 5)) for place, each in enumerate(PAGES[3:])]
    learned, held_out = halves(pages, 1)
    assert len({each.site for each in learned}) == 2
    assert {each.site for each in learned}.isdisjoint(each.site for each in held_out)


def test_scores_are_means_over_epochs_of_all_held_out_pages_and_of_those_for_validation(monkeypatch):
    def epochs(learned, held_out, config, seed):
        assert (learned, held_out) == halves(PAGES, seed)
        right, wrong = np.array([0, 1], np.float32), np.array([1, 0], np.float32)
        yield [right for _ in held_out]
        yield [right if each.validation else wrong for each in held_out]

    monkeypatch.setattr(crossvalidation, "scored_epochs", epochs)
    scores = cross_validated(PAGES, CONFIG, 1)
    assert scores["validation"] == (1, 1, 1)
    assert scores["held-out half"] == pytest.approx([(1 + 3 / 10) / 2] * 3)
    assert list(cross_validated(PAGES, CONFIG, 2)) == ["validation", "held-out half"]


def test_pages_of_unreliable_gold_are_scored_but_not_learned_from(monkeypatch):
    bad = [replace(each, oracle=0.1, validation=False) for each in PAGES]
    data = BoilerNetConfig.read(DEFAULT_CONFIG).data

    def epochs(learned, held_out, config, seed):
        assert (len(learned), len(held_out)) == (0, 10)
        yield [np.array([0, 1], np.float32) for _ in held_out]

    monkeypatch.setattr(crossvalidation, "scored_epochs", epochs)
    assert cross_validated(bad, replace(CONFIG, data=data), 1) == {"held-out half": (1, 1, 1)}


def test_what_was_scored_is_not_scored_again_until_it_is_forgotten(tmp_path, monkeypatch):
    calls = []

    def scored(pages, config, seed):
        calls.append(seed)
        return {"held-out half": (0.5, 0.25, 0.375)}

    monkeypatch.setattr(crossvalidation, "cross_validated", scored)
    other = replace(CONFIG, trainer=replace(CONFIG.trainer, epochs=3))
    for config, seed in ((CONFIG, 1), (CONFIG, 2), (CONFIG, 1), (other, 1)):
        scores = known_or_scored(tmp_path, PAGES, config, seed)
        assert [tuple(each) for each in scores.values()] == [(0.5, 0.25, 0.375)]
    assert calls == [1, 2, 1]
    forget_scores(tmp_path)
    known_or_scored(tmp_path, PAGES, CONFIG, 1)
    assert calls == [1, 2, 1, 1]


def test_each_ablation_changes_one_detail_of_the_configuration_and_none_are_alike():
    config = BoilerNetConfig.read(DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml"))
    variants = ablations(config)
    assert len(set(map(repr, (config, *variants.values())))) == 6
    for variant in variants.values():
        changed = [
            (part, name)
            for part in ("network", "trainer")
            for name in getattr(config, part).__dataclass_fields__
            if getattr(getattr(variant, part), name) != getattr(getattr(config, part), name)
        ]
        assert len(changed) == 1
        assert replace(variant, network=config.network, trainer=config.trainer) == config


def test_differences_are_told_seed_by_seed_and_starred_where_they_exceed_their_noise():
    full = [{"held-out half": (0.9, 0.5, 0.7)}, {"held-out half": (0.8, 0.6, 0.7)}]
    less = [{"held-out half": (0.85, 0.6, 0.72)}, {"held-out half": (0.751, 0.5, 0.71)}]
    assert seeds_table({"as configured": full, "no commas": less}).splitlines() == [
        "| F1 of 2 seeds | held-out half, boilerplate (0) | held-out half, content (1) |"
        " held-out half, both |",
        "|---|--:|--:|--:|",
        "| as configured | 0.850 ± 0.071 | 0.550 ± 0.071 | 0.700 ± 0.000 |",
        "| no commas | -0.050 ± 0.001 * | +0.000 ± 0.141 | +0.015 ± 0.007 |",
    ]


def test_one_seed_has_no_spread():
    full, less = [{"validation": (0.9, 0.5, 0.7)}], [{"validation": (0.8, 0.5, 0.65)}]
    *_, first, second = seeds_table({"as configured": full, "no commas": less}).splitlines()
    assert first == "| as configured | 0.900 | 0.500 | 0.700 |"
    assert second == "| no commas | -0.100 | +0.000 | -0.050 |"
