import asyncio
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.batching import WINDOW_BLOCKS, windows
from dehusk.inference.labelers.network import read_native
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.signature import STRUCTURE_WITH_LINKS as SIGNATURE
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.outcomes import Broken
from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.dehusk.examples import example_of
from dehusk.training.dehusk.export import build_dehusk
from dehusk.training.dehusk.model import Training

pytestmark = pytest.mark.training

MENU = f"<ul>{'<li>Home' * 40}</ul>"
CONFIG = DehuskConfig.read(DEFAULT_CONFIG)


@pytest.fixture(scope="module")
def model(pages):
    config = DehuskConfig.read(DEFAULT_CONFIG)
    trainer = replace(config.trainer, epochs=1, folds=3, least_sites=1, threads=1)
    small = replace(config, trainer=trainer, trees=replace(config.trees, least_blocks=5))
    return Training(small, small.trainer.seed).model([example_of(page, CONFIG) for page in pages])


@pytest.fixture(scope="module")
def exported(model):
    return build_dehusk(model).SerializeToString()


@pytest.mark.parametrize("source", ["built", "published"])
def test_what_a_gpu_adds(exported, source):
    """On a GPU, ONNX Runtime's `ScatterND` adds no float64: a model that asks for it fails on every page."""
    model = (
        onnx.load_from_string(exported)
        if source == "built"
        else onnx.load(find_model(DEFAULT_REPOSITORY, "dehusk")[1])
    )
    graph = onnx.shape_inference.infer_shapes(model).graph
    types = {value.name: value.type.tensor_type.elem_type for value in graph.value_info}
    added = [types[node.output[0]] for node in graph.node if node.op_type == "ScatterND"]
    assert added
    assert onnx.TensorProto.DOUBLE not in added


@pytest.fixture(scope="module")
def labeler(exported, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    (repository / "dehusk" / "1").mkdir(parents=True)
    (repository / "dehusk" / "1" / "model.onnx").write_bytes(exported)
    return OnnxLabeler("dehusk", repository=repository)


def test_the_graph_that_is_built_is_the_one_in_native_code(exported, tmp_path):
    """Otherwise a version that is trained next would label in more than twice the time."""
    (tmp_path / "model.onnx").write_bytes(exported)
    assert read_native(tmp_path / "model.onnx") is not None


@pytest.fixture(scope="module")
def together(exported):
    """Return the answers of the graph to pages that run as one batch, whatever their lengths, and kinds."""
    session = onnxruntime.InferenceSession(exported)
    names = [tensor.name for tensor in SIGNATURE.answer]

    def together(pages):
        *of_blocks, kinds = session.run(names, batch(pages))
        return np.stack(of_blocks), kinds

    return together


def batch(pages):
    tensors = [window.tensors for page in pages for window in windows(page, SIGNATURE)]
    joined = {each.name: np.concatenate([of[each.name] for of in tensors]) for each in SIGNATURE.request}
    sizes = {
        each.tensor.name: np.array([of[each.counted.name].size for of in tensors], np.int32)
        for each in SIGNATURE.counts
    }
    return joined | sizes


def page_of(blocks):
    cards = "".join(
        f"<h2>Part {k // 7}</h2>"
        if k % 7 == 0
        else f"<div class='card c{k % 3}'><p><a href=/{'mill' * (k % 2)}/{k}>grain {k}, wheel</a></p></div>"
        for k in range(blocks)
    )
    html = f"<body><div class=article-body>{cards}</div></body>"
    return encode(segment(html.encode(), url="https://mill.example/mill"))


def answers(labeler, *pages):
    return asyncio.run(labeler.label(pages))


def test_the_graph_answers_as_the_network_does_in_any_company(pages, model, labeler):
    encoded = [page.encoded for page in pages]
    together = answers(labeler, *encoded)
    for page, labels in zip(pages, together, strict=True):
        assert np.abs(np.stack([labels.probabilities, labels.comments]) - model(page.structure)).max() < 1e-5
        assert np.abs(labels.page_kinds - model.page_kinds(page.encoded)).max() < 1e-5


@pytest.mark.parametrize(
    "html",
    [
        "<p>a",
        "<p>...</p><p>!</p>",
        "<h1>Mill</h1>",
        "<div>" * 40 + "deep",
        "<p>磨坊磨得很慢</p>" * 3,
        MENU,
        f"<p>Mills</p>{MENU}<p>Grain</p>{MENU}",
    ],
)
def test_odd_pages_are_answered_as_the_network_does(html, model, labeler):
    page = encode(segment(html.encode()))
    (labels,) = answers(labeler, page)
    assert np.abs(np.stack([labels.probabilities, labels.comments]) - model(page.structure)).max() < 1e-5


def test_pages_of_any_lengths_run_in_one_batch(model, together):
    menu = encode(segment(f"<body>{MENU}<p>Mills".encode()))
    pages = [page_of(1), menu, *(page_of(blocks) for blocks in (300, 2, 15, 16, 17, 1, 33)), menu, menu]
    expected = np.concatenate([model(page.structure) for page in pages], 1)
    of_blocks, kinds = together(pages)
    assert np.abs(of_blocks - expected).max() < 1e-5
    assert np.abs(kinds - np.stack([model.page_kinds(page) for page in pages])).max() < 1e-5
    assert np.abs(kinds - kinds[0]).max() > 1e-3


@pytest.mark.parametrize("company", [(), (1,), (40, 1)])
def test_pages_whose_blocks_point_nowhere_are_answered_as_the_network_does(company, model, together):
    page = page_of(20)
    nowhere = {
        name: np.zeros_like(getattr(page.structure, name)) for name in ("heading", "element", "parent")
    }
    alone = np.arange(20, dtype=np.int32)
    lost = replace(page, structure=replace(page.structure, alike=alone, **nowhere))
    pages = [*(page_of(blocks) for blocks in company), lost, page]
    expected = np.concatenate([model(each.structure) for each in pages], 1)
    of_blocks, _ = together(pages)
    assert np.abs(of_blocks - expected).max() < 1e-5


def test_a_page_of_very_many_blocks_is_labeled_in_windows(labeler):
    paragraphs = "".join(
        f"<h2>Part {k}</h2><div class=c{k}><p>grain {k}</p></div>" for k in range(WINDOW_BLOCKS)
    )
    page = encode(segment(paragraphs.encode()))
    (labels,) = answers(labeler, page)
    assert len(labels.probabilities) == 2 * WINDOW_BLOCKS
    assert np.isfinite(labels.probabilities).all()
    assert labels.page_kinds.sum() == pytest.approx(1, abs=1e-5)


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
