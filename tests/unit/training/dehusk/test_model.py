from dataclasses import replace

import pytest

from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.dehusk.examples import by_site
from dehusk.training.dehusk.model import Training, cross_validated

pytestmark = pytest.mark.training


def test_every_page_is_scored_once_and_dropped_pages_only_by_the_published_gold(pages):
    config = DehuskConfig.read(DEFAULT_CONFIG)
    small = replace(
        config.trainer, epochs=3, folds=3, batch_pages=4, warmup_steps=2, least_sites=2, threads=1
    )
    told = []
    some = [replace(pages[0], repaired=True, reliable=False), *pages[1:]]
    some[1] = replace(some[1], scripts={"Same": some[1].encoded})
    training = Training(replace(config, trainer=small), 1, report=told.append)
    scores = cross_validated(some, training, by_site(3))
    assert set(scores.published) == {page.id for page in pages}
    assert set(scores.repaired) == {page.id for page in pages[1:]}
    assert {each: found.kind for each, found in scores.kinds.items()} == {
        page.id: page.page_type for page in pages
    }
    assert scores.scripts == {"Same": {"1": scores.repaired["1"]}}
    assert sum(scores.repaired.values()) / len(scores.repaired) > 0.8
    assert len(told) == 9
