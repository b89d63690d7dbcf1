"""The exported graph compared with the networks and the plain Viterbi algorithm."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.encoding.web2text.features import BLOCK_COLUMNS, EDGE_COLUMNS
from dehusk.inference.labelers.batching import WINDOW_BLOCKS, windows
from dehusk.inference.labelers.onnx_runtime import run
from dehusk.inference.labelers.signature import WEB2TEXT
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Encoding, Web2TextTensors
from dehusk.training.web2text.config import Web2TextConfig
from dehusk.training.web2text.export import build_web2text
from dehusk.training.web2text.model import NETWORKS, Standard, Web2TextModel, new_network
from tests.unit.training.web2text.viterbi import viterbi

pytestmark = pytest.mark.training

LENGTHS = 1, 2, 3, 9, 40, 1, 700, WINDOW_BLOCKS


def page(blocks, random):
    """A page of random features."""
    tensors = Web2TextTensors(
        random.normal(size=(blocks, 128)).astype(np.float16),
        random.normal(size=(blocks, 21)).astype(np.float16),
        random.integers(2, 6, blocks).astype(np.uint8),
    )
    tensors.edge_features[0] = tensors.distances[0] = 0
    return replace(encode(segment(b"<p>a</p>" * blocks)), web2text=tensors)


def standard(columns, random):
    size = len(columns)
    return Standard(
        random.normal(size=size).astype(np.float32), random.uniform(0.5, 2, size).astype(np.float32)
    )


@pytest.fixture(scope="module")
def model(config_file):
    """A model whose neighbours matter more than the paper's."""
    random = np.random.default_rng(1)
    config = Web2TextConfig.read(config_file).network
    networks = [new_network(kind, config, 1) for kind in NETWORKS]
    for network in networks:
        for weights in network.parameters():
            weights.data *= 3
    return Web2TextModel(
        *networks, standard(BLOCK_COLUMNS, random), standard(EDGE_COLUMNS, random), coupling=2.0
    )


@pytest.fixture(scope="module")
def pages():
    random = np.random.default_rng(2)
    return [page(blocks, random) for blocks in LENGTHS]


@pytest.fixture(scope="module")
def session(model):
    return onnxruntime.InferenceSession(build_web2text(model).SerializeToString())


def answers(session, pages):
    """Return the answers of the graph to pages of one window each, in one batch."""
    batch = [window for each in pages for window in windows(each, WEB2TEXT)]
    return [content for (content,) in run(session, WEB2TEXT, batch)]


def test_the_graph_gives_what_the_networks_and_the_decoding_give(model, session, pages):
    for each, answer in zip(pages, answers(session, pages), strict=True):
        assert np.abs(answer - model(each)).max() < 1e-5


def test_content_is_what_the_viterbi_algorithm_says(model, session, pages):
    for each, answer in zip(pages, answers(session, pages), strict=True):
        ((unary, pairwise),) = model.potentials(each)
        labels = viterbi(unary, pairwise)
        assert (answer > 0.5).tolist() == labels.tolist()
    assert 0 < labels.mean() < 1
    assert labels.tolist() != (unary[:, 1] > unary[:, 0]).tolist()


def test_pages_answered_together_do_not_change_each_other(session, pages):
    together = answers(session, pages)
    alone = [answers(session, [each])[0] for each in pages]
    assert max(np.abs(one - other).max() for one, other in zip(together, alone, strict=True)) < 1e-6


def test_a_page_of_nonsense_leaves_its_batch_mates_alone(session, pages):
    broken = replace(pages[3].web2text, block_features=np.full((9, 128), np.nan, np.float16))
    nonsense = replace(pages[3], web2text=broken)
    with_it = answers(session, [pages[2], nonsense, pages[4]])
    without = answers(session, [pages[2], pages[4]])
    assert np.isnan(with_it[1]).all()
    assert np.abs(with_it[0] - without[0]).max() < 1e-6
    assert np.abs(with_it[2] - without[1]).max() < 1e-6


def test_a_page_without_blocks_has_no_answer(model):
    nothing = encode(segment(b"", with_tree=True), (Encoding.WEB2TEXT,))
    assert model(nothing).shape == (0,)
