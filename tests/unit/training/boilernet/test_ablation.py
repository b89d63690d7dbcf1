from dataclasses import replace

import pytest

from dehusk.training.boilernet.ablation import ablations, seeds_table
from dehusk.training.boilernet.config import DEFAULT_CONFIG, read_config

pytestmark = pytest.mark.training


def test_each_ablation_changes_one_detail_of_the_configuration_and_none_are_alike():
    config = read_config(DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml"))
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
