from dataclasses import replace

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.dehusk.model import Training, cross_validated

pytestmark = pytest.mark.training


def short_config(epochs):
    config = DehuskConfig.read(DEFAULT_CONFIG)
    return replace(
        config,
        trainer=replace(
            config.trainer, epochs=epochs, folds=3, batch_pages=4, warmup_steps=2, least_sites=2, threads=1
        ),
        trees=replace(config.trees, least_blocks=10),
    )


def test_every_page_is_scored_once_and_dropped_pages_only_by_the_published_gold(pages):
    told = []
    some = [replace(pages[0], repaired=True, reliable=False), *pages[1:]]
    some[1] = replace(some[1], scripts={"Same": some[1].encoded})
    training = Training(short_config(epochs=4), 1, report=told.append)
    scores = cross_validated(some, training, "site")
    assert set(scores.published) == {page.id for page in pages}
    assert set(scores.repaired) == {page.id for page in pages[1:]}
    assert {each: found.kind for each, found in scores.kinds.items()} == {
        page.id: page.page_type for page in pages
    }
    assert scores.scripts == {"Same": {"1": scores.repaired["1"]}}
    assert sum(scores.repaired.values()) / len(scores.repaired) > 0.8
    assert len(told) == 12


def test_pages_of_too_few_sites_or_of_one_collection_are_refused(pages):
    training = Training(short_config(epochs=1), 1)
    with pytest.raises(ConfigurationError, match="in 1 of 3 parts"):
        training.model(training.examples([replace(page, site="mill.example") for page in pages]))
    with pytest.raises(ConfigurationError, match="of one collection"):
        cross_validated(pages, training, "collection")


def test_a_collection_is_scored_by_a_whole_model_of_the_others(pages, tmp_path):
    told = []
    some = [replace(page, collection="ab"[place % 2] + "-train") for place, page in enumerate(pages)]
    training = Training(short_config(epochs=1), 1, checkpoints=tmp_path, report=told.append)
    scores = cross_validated(some, training, "collection")
    assert set(scores.published) == {page.id for page in pages}
    networks = ["all-parts", *(f"without-part-{part}-of-3" for part in (1, 2, 3))]
    assert sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.pt")) == [
        f"without-{collection}/first-pass-{name}.pt" for collection in "ab" for name in networks
    ]
    of_each = ["without a", "without b"]
    assert [each for each in told if each in of_each] == of_each
    assert len(told) == 2 * (1 + 4 + 1)
    epochs = [each for each in told if "epoch" in each]
    assert cross_validated(some, training, "collection").published == scores.published
    assert [each for each in told if "epoch" in each] == 2 * epochs
