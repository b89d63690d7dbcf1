import asyncio
from dataclasses import replace

import numpy as np
import pytest

from inference.batching import WINDOW_BLOCKS
from inference.encoding import encode
from inference.onnx import OnnxLabeler
from inference.segmentation import segment
from schemas.outcomes import Broken
from training.dehusk.config import DEFAULT_CONFIG, read_config
from training.dehusk.export import build_dehusk
from training.dehusk.model import train_dehusk

pytestmark = pytest.mark.training

CONFIG = read_config(DEFAULT_CONFIG)


@pytest.fixture(scope="module")
def model(pages):
    config = read_config(DEFAULT_CONFIG)
    trainer = replace(config.trainer, epochs=1, folds=3, least_sites=1, threads=1)
    small = replace(config, trainer=trainer, trees=replace(config.trees, least_blocks=5))
    return train_dehusk([page.example(CONFIG) for page in pages], small, progress=lambda _: None)


@pytest.fixture(scope="module")
def labeler(model, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    (repository / "dehusk" / "1").mkdir(parents=True)
    (repository / "dehusk" / "1" / "model.onnx").write_bytes(build_dehusk(model).SerializeToString())
    return OnnxLabeler("dehusk", repository=repository)


def answers(labeler, *pages):
    return asyncio.run(labeler.label(pages))


def test_the_graph_answers_as_the_network_does_in_any_company(pages, model, labeler):
    encoded = [page.encoded for page in pages]
    together = answers(labeler, *encoded)
    for page, labels in zip(pages, together, strict=True):
        assert np.abs(np.stack([labels.probabilities, labels.comments]) - model(page.structure)).max() < 1e-5


@pytest.mark.parametrize(
    "html", ["<p>a", "<p>...</p><p>!</p>", "<h1>Mill</h1>", "<div>" * 40 + "deep", "<p>磨坊磨得很慢</p>" * 3]
)
def test_odd_pages_are_answered_as_the_network_does(html, model, labeler):
    page = encode(segment(html.encode()))
    (labels,) = answers(labeler, page)
    assert np.abs(np.stack([labels.probabilities, labels.comments]) - model(page.structure)).max() < 1e-5


def test_a_page_of_very_many_blocks_is_labeled_in_windows(labeler):
    paragraphs = "".join(
        f"<h2>Part {k}</h2><div class=c{k}><p>grain {k}</p></div>" for k in range(WINDOW_BLOCKS)
    )
    page = encode(segment(paragraphs.encode()))
    (labels,) = answers(labeler, page)
    assert len(labels.probabilities) == 2 * WINDOW_BLOCKS
    assert np.isfinite(labels.probabilities).all()


@pytest.mark.parametrize("column", ["word_lengths", "element_token_lengths"])
def test_a_page_whose_lengths_contradict_its_tokens_is_rejected_and_its_batch_mates_are_not(
    pages, labeler, column
):
    good, bad = pages[0].encoded, pages[1].encoded
    lengths = getattr(bad.structure, column).copy()
    lengths[0] += 1
    bad = replace(bad, structure=replace(bad.structure, **{column: lengths}))
    (alone,) = answers(labeler, good)
    first, rejected, second = answers(labeler, good, bad, good)
    assert isinstance(rejected, Broken)
    assert np.abs(first.probabilities - alone.probabilities).max() < 1e-6
    assert np.abs(second.probabilities - alone.probabilities).max() < 1e-6
