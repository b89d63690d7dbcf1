from dataclasses import replace

import numpy as np
import pytest

from dehusk.inference.encoding.features import BLOCK_FEATURES
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import PAGE_KINDS
from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.dehusk.examples import example_of
from dehusk.training.dehusk.first_pass import INPUT_GROUPS
from dehusk.training.dehusk.trainer import train_first_pass

pytestmark = pytest.mark.training

CONFIG = DehuskConfig.read(DEFAULT_CONFIG)


@pytest.fixture(scope="module")
def config():
    config = DehuskConfig.read(DEFAULT_CONFIG)
    trainer = replace(
        config.trainer,
        epochs=4,
        folds=3,
        batch_pages=4,
        warmup_steps=2,
        least_sites=2,
        threads=1,
        crop_blocks=12,
    )
    return replace(config, trainer=trainer, network=replace(config.network, dense=16, hidden=8))


def trained(pages, config, **options):
    *_, last = train_first_pass([example_of(page, CONFIG) for page in pages], config, 1, **options)
    return last


def test_a_model_learns_what_is_content_on_sites_it_did_not_see(pages, config, device):
    last = trained(pages[:18], config)
    assert {each.device.type for each in last.model.network.parameters()} == {device}
    assert last.number == 4
    for page in pages[18:]:
        answer = last.model(page.structure)
        assert answer.probabilities[page.content].min() > answer.probabilities[~page.content].max()
        assert answer.comments[page.comment].mean() > answer.comments[~page.comment].mean()
        assert answer.page_kinds.shape == (len(PAGE_KINDS),)
        assert answer.page_kinds.sum() == pytest.approx(1, abs=1e-5)


def test_a_model_learns_the_kind_of_a_page(pages, config):
    forums = [replace(page, page_type="forum" if int(page.id) % 3 else "article") for page in pages[:18]]
    longer = replace(config, trainer=replace(config.trainer, epochs=20, page_type_weight=3.0))
    model = trained(forums, longer).model
    told = [PAGE_KINDS[model(page.structure).page_kinds.argmax()] for page in pages[:18]]
    assert [kind == page.page_type for kind, page in zip(told, forums, strict=True)].count(True) >= 15


def test_pages_of_no_known_type_teach_blocks_alone(pages, config):
    last = trained([replace(page, page_type="") for page in pages[:18]], config)
    probabilities = last.model(pages[20].structure).probabilities
    assert probabilities[pages[20].content].min() > probabilities[~pages[20].content].max()


def test_an_interrupted_run_goes_on_to_the_same_model(pages, config, tmp_path):
    whole = trained(pages[:12], config)
    examples = [example_of(page, CONFIG) for page in pages[:12]]
    started = train_first_pass(examples, config, 1, checkpoint=tmp_path / "run.pt")
    assert [next(started).number, next(started).number] == [1, 2]
    started.close()
    resumed = list(train_first_pass(examples, config, 1, checkpoint=tmp_path / "run.pt"))
    assert [epoch.number for epoch in resumed] == [2, 3, 4]
    ours, theirs = (each.model(pages[20].structure).probabilities for each in (resumed[-1], whole))
    assert np.abs(ours - theirs).max() < 1e-6


def test_a_run_of_another_configuration_or_of_other_pages_is_not_gone_on_with(pages, config, tmp_path):
    short = replace(config, trainer=replace(config.trainer, epochs=1))
    trained(pages[:8], short, checkpoint=tmp_path / "run.pt")
    with pytest.raises(ConfigurationError, match="another configuration"):
        trained(pages[:8], config, checkpoint=tmp_path / "run.pt")
    with pytest.raises(ConfigurationError, match="other pages"):
        trained(pages[:9], short, checkpoint=tmp_path / "run.pt")
    uncommented = replace(pages[0], comment=np.zeros_like(pages[0].comment))
    with pytest.raises(ConfigurationError, match="other pages or labels"):
        trained([uncommented, *pages[1:8]], short, checkpoint=tmp_path / "run.pt")
    other_answer = replace(short, answer=replace(short.answer, offset=0.0))
    trained(pages[:8], other_answer, checkpoint=tmp_path / "run.pt")


@pytest.mark.parametrize("group", dict.fromkeys(INPUT_GROUPS))
def test_a_group_that_is_left_out_changes_nothing(pages, config, group):
    short = replace(config, trainer=replace(config.trainer, epochs=1))
    model = trained(pages[:8], short, without=group).model
    structure = pages[20].structure
    of_block = [place for place, each in enumerate(BLOCK_FEATURES) if each.group == group]
    changed = structure.features.copy()
    # short blocks remain short, as they share a step in any case
    changed[:, of_block] ^= np.array([255 if place else 1 for place in of_block], np.uint8)
    assert (model(structure).logits == model(replace(structure, features=changed)).logits).all()
