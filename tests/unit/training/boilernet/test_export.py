import asyncio
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch

from dehusk.inference.encoding.tokens import tag_token, word_token
from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.schemas.outcomes import Broken
from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig
from dehusk.training.boilernet.export import build_model
from dehusk.training.boilernet.network import Blocks, BoilerNet
from dehusk.training.boilernet.vocabulary import Vocabulary
from tests.encoded import page_of, random_page, with_tokens

pytestmark = pytest.mark.training

SMALL = replace(BoilerNetConfig.read(DEFAULT_CONFIG).network, tags=3, words=4, dense=8, hidden=5)
VOCABULARY = Vocabulary(tags=("html", "body", "p"), words=("the", "mill", "turns", "again"))
_, PUBLISHED = find_model(DEFAULT_REPOSITORY, "boilernet")


@pytest.fixture
def network():
    torch.manual_seed(3)
    return BoilerNet(len(VOCABULARY), SMALL).eval()


@pytest.fixture
def labeler(network, tmp_path):
    file = tmp_path / "small" / "1" / "model.onnx"
    file.parent.mkdir(parents=True)
    file.write_bytes(build_model(network, VOCABULARY).SerializeToString())
    return OnnxLabeler("small", repository=tmp_path)


def page(blocks, seed=0, ids=None):
    known = np.append(VOCABULARY.ids(), np.array([0, 7, 2**32 - 1], np.uint32))
    made = random_page(known, blocks, seed, longest=8)
    return made if ids is None else page_of(ids, made.tokens.block_lengths)


def answer(network, page, vocabulary=VOCABULARY):
    rows = torch.from_numpy(vocabulary.rows(page.tokens.ids))
    lengths = torch.from_numpy(page.tokens.block_lengths.astype(np.int64))
    with torch.inference_mode():
        return torch.sigmoid(network([Blocks(rows, lengths)])).numpy()


def test_the_graph_answers_as_the_network_does_whatever_the_batch(network, labeler):
    pages = [page(blocks, seed) for seed, blocks in enumerate((20, 1, 21, 3, 19, 200, 22))]
    for one, labels in zip(pages, asyncio.run(labeler.label(pages)), strict=True):
        assert np.abs(answer(network, one) - labels.probabilities).max() < 1e-5


def test_the_graph_leaves_out_what_the_network_ignores_and_joins_unknown_tags_and_words(tmp_path):
    torch.manual_seed(3)
    plain = replace(VOCABULARY, ignored=("!", ","), separate_unknown=False)
    network = BoilerNet(len(plain), SMALL, plain.ignored_row).eval()
    file = tmp_path / "plain" / "1" / "model.onnx"
    file.parent.mkdir(parents=True)
    file.write_bytes(build_model(network, plain).SerializeToString())
    unknown = [word_token("wheel"), tag_token("div")]
    ids = np.array([*plain.ids(), *unknown] * 9, np.uint32)
    given = page(20, ids=np.random.default_rng(5).permutation(ids))
    given = with_tokens(given, block_lengths=np.array([4] * 19 + [len(ids) - 76], np.uint16))
    (labels,) = asyncio.run(OnnxLabeler("plain", repository=tmp_path).label([given]))
    assert np.abs(answer(network, given, plain) - labels.probabilities).max() < 1e-5
    assert (
        np.abs(answer(network, given, replace(plain, separate_unknown=True)) - labels.probabilities).max()
        > 1e-4
    )


@pytest.mark.parametrize("change", [-1, 1, 5])
def test_a_page_whose_lengths_contradict_its_ids_disturbs_no_batch_mate(network, labeler, change):
    good = [page(20, seed) for seed in range(3)]
    bad = page(20, seed=9)
    bad = page(20, seed=9, ids=np.resize(bad.tokens.ids, len(bad.tokens.ids) + change))
    first, second, rejected, third = asyncio.run(labeler.label([good[0], good[1], bad, good[2]]))
    assert isinstance(rejected, Broken)
    for one, labels in zip(good, (first, second, third), strict=True):
        assert np.abs(answer(network, one) - labels.probabilities).max() < 1e-5


def published_network():
    """The framework's network with the published weights, read back from the graph."""
    model = onnx.load(PUBLISHED)
    arrays = {each.name: torch.tensor(onnx.numpy_helper.to_array(each)) for each in model.graph.initializer}
    network = BoilerNet(len(arrays["embeddings"]), BoilerNetConfig.read(DEFAULT_CONFIG).network).eval()
    state = {
        "embeddings.weight": arrays["embeddings"],
        "bias": arrays["embedding_bias"],
        "output.weight": arrays["output"].T,
        "output.bias": arrays["output_bias"],
    }
    for number in range(len(network.layers)):
        for direction, name in enumerate(("forwards", "backwards")):
            inputs, recurrent, biases = (
                arrays[f"lstm_{number}_{kind}"][direction] for kind in ("inputs", "recurrent", "biases")
            )
            bias_ih, bias_hh = biases.chunk(2)
            for key, values in (
                ("weight_ih", inputs), ("weight_hh", recurrent), ("bias_ih", bias_ih), ("bias_hh", bias_hh),
            ):  # fmt: skip
                i, o, f, c = values.chunk(4)
                state[f"layers.{number}.{name}.{key}_l0"] = torch.cat([i, f, c, o])
    network.load_state_dict(state)
    return network


def published_rows(ids):
    """The rows of ids, looked up in the published graph's own table."""
    tables = [
        onnx.numpy_helper.to_array(each)
        for each in onnx.load(PUBLISHED).graph.initializer
        if each.data_type in (onnx.TensorProto.UINT32, onnx.TensorProto.UINT16)
    ]
    known, rows = sorted(tables, key=lambda table: -table.itemsize)
    slots = ids % len(known)
    return np.where(known[slots] == ids, rows[slots].astype(np.int64), ids >> 31)


def test_the_published_model_answers_as_the_training_framework_does():
    network = published_network()
    golden = parse_golden(PUBLISHED.with_name(GOLDEN_FILE).read_bytes())
    answers = asyncio.run(OnnxLabeler("boilernet").label([each.page for each in golden]))
    for each, labels in zip(golden, answers, strict=True):
        page_blocks = Blocks(
            torch.from_numpy(published_rows(each.page.tokens.ids)),
            torch.from_numpy(each.page.tokens.block_lengths.astype(np.int64)),
        )
        with torch.inference_mode():
            probabilities = torch.sigmoid(network([page_blocks])).numpy()
        assert np.abs(probabilities - labels.probabilities).max() < 1e-5
        assert np.abs(probabilities - each.probabilities).max() < 1e-5
