from dataclasses import replace

import numpy as np
import pytest

from dehusk.inference.labelers import network
from dehusk.inference.labelers.batching import Window, windows
from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.network import NativeModel, read_native
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.onnx_runtime import RuntimeModel
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.inference.labelers.signature import STRUCTURE_WITH_LINKS as SIGNATURE
from dehusk.inference.native.network import WIDTHS, Network
from dehusk.schemas.outcomes import Broken, BrokenReason

_, FILE = find_model(DEFAULT_REPOSITORY, "dehusk")
GOLDEN = parse_golden(FILE.with_name(GOLDEN_FILE).read_bytes())
TREES = "TreeEnsembleRegressor"


@pytest.fixture(scope="module", params=WIDTHS)
def native(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "WIDTHS", (request.param,))
        model = read_native(FILE)
    assert model is not None
    return model


@pytest.fixture(scope="module")
def on_runtime():
    return RuntimeModel(FILE)


def random_window(blocks, elements, seed, *, most_words=24):
    """Return a window of random tensors, some of which point beyond the page."""
    random = np.random.default_rng(seed)

    def numbers(count, first, after, dtype):
        return random.integers(first, after, count).astype(dtype)

    word_lengths = numbers(blocks, 0, most_words + 1, np.uint8)
    token_lengths = numbers(elements, 0, 9, np.uint8)
    tensors = {
        "words": numbers(int(word_lengths.sum()), 0, 1 << 32, np.uint32),
        "word_len": word_lengths,
        "heading": numbers(blocks, -2, blocks + 3, np.int32),
        "element": numbers(blocks, -2, elements + 3, np.int32),
        "alike": numbers(blocks, -2, blocks + 3, np.int32) // 3,
        "features": numbers(blocks * 105, 0, 256, np.uint8) * (random.random(blocks * 105) < 0.4),
        "parent": numbers(elements, -2, elements + 3, np.int32),
        "tokens": numbers(int(token_lengths.sum()), 0, 1 << 32, np.uint32),
        "token_len": token_lengths,
        "page": numbers(29, 0, 256, np.uint8),
        "links": numbers(blocks * 17, 0, 256, np.uint8) * (random.random(blocks * 17) < 0.3),
        "address": numbers(17, 0, 256, np.uint8),
    }
    of_type = {each.name: each.data_type.lower() for each in SIGNATURE.request}
    return Window({name: values.astype(of_type[name]) for name, values in tensors.items()}, blocks)


def assert_equal_answers(native, on_runtime, window):
    """Content may differ more on a block, whose first answer is rounded to another byte for the trees."""
    ours, theirs = (model.answers([window])[0] for model in (native, on_runtime))
    content, *others = (np.abs(one - other) for one, other in zip(ours, theirs, strict=True))
    assert all(one.dtype == np.float32 for one in ours)
    assert max(each.max() for each in others) < 1e-4
    assert (content >= 1e-4).sum() <= 1 + len(content) // 200
    assert content.max() < 0.1


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.name)
def test_golden_pages_have_the_answers_of_the_training_framework(native, on_runtime, golden):
    (window,) = windows(golden.page, SIGNATURE)
    (answer,) = native.answers([window])
    assert np.abs(answer[0] - golden.probabilities).max() < 1e-4
    assert_equal_answers(native, on_runtime, window)


@pytest.mark.parametrize(
    ("blocks", "elements"),
    [(1, 1), (2, 5), (3, 1), (7, 20), (8, 8), (9, 3), (64, 200), (65, 1), (400, 900), (2048, 3000)],
)
def test_random_tensors_have_the_answers_of_onnx_runtime(native, on_runtime, blocks, elements):
    for seed in range(3):
        assert_equal_answers(native, on_runtime, random_window(blocks, elements, seed))


def test_blocks_without_words(native, on_runtime):
    assert_equal_answers(native, on_runtime, random_window(30, 40, 1, most_words=0))


def test_several_windows_have_the_answers_of_each_alone(native):
    batch = [random_window(blocks, 30, blocks) for blocks in (40, 1, 300)]
    together = native.answers(batch)
    for window, answer in zip(batch, together, strict=True):
        (alone,) = native.answers([window])
        for one, other in zip(answer, alone, strict=True):
            assert (one == other).all()


@pytest.mark.parametrize("lengths", ["word_lengths", "element_token_lengths"])
def test_a_page_whose_lengths_contradict_its_tokens_is_rejected(lengths):
    page = GOLDEN[0].page
    changed = getattr(page.structure, lengths).copy()
    changed[0] += 1
    wrong = replace(page, structure=replace(page.structure, **{lengths: changed}))
    answer = OnnxLabeler("dehusk").label_here(wrong)
    assert isinstance(answer, Broken)
    assert answer.reason is BrokenReason.REJECTED_BY_MODEL


@pytest.mark.parametrize(
    "name", ["heading", "element", "alike", "features", "page", "links", "address", "parent"]
)
def test_tensors_of_no_page_are_refused(native, name):
    window = random_window(20, 30, 0)
    window.tensors[name] = window.tensors[name][:-1]
    with pytest.raises(ValueError, match="not of one page"):
        native.answers([window])


def test_a_window_without_blocks_is_refused(native):
    with pytest.raises(ValueError, match="not of one page"):
        native.answers([random_window(0, 3, 0)])


def read_changed(tmp_path, change):
    """Return what is read of the published model after a change to its message."""
    model = network._Model.FromString(FILE.read_bytes())
    change(model)
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    return read_native(file)


def constant(model, name):
    return next(each for each in model.graph.initializer if each.name == name)


def trees(model, name):
    (node,) = (each for each in model.graph.node if each.op_type == TREES)
    return next(each for each in node.attribute if each.name == name)


def another_limit(model):
    name = next(node.input[1] for node in model.graph.node if node.op_type == "LessOrEqual")
    constant(model, name).raw_data = np.float32(30).tobytes()


def another_weight(model):
    weights = np.frombuffer(constant(model, "output_bias").raw_data, np.float32) + 1
    constant(model, "output_bias").raw_data = weights.tobytes()


def test_another_weight_is_the_same_graph(tmp_path):
    native = read_native(FILE)
    changed = read_changed(tmp_path, another_weight)
    window = random_window(20, 30, 0)
    (before,), (after,) = native.answers([window]), changed.answers([window])
    assert (after[1] > before[1]).all()


def set_first(values, value):
    values[0] = value


def set_weight(model, name, value):
    weights = np.frombuffer(constant(model, name).raw_data, np.float32).copy()
    weights[0] = value
    constant(model, name).raw_data = weights.tobytes()


def add_again(model, names):
    """List the first entry of some of the trees' lists again."""
    for name in names:
        attribute = trees(model, name)
        values = attribute.ints or attribute.floats or attribute.strings
        values.append(values[0])


def move_to_floats(model, name):
    attribute = trees(model, name)
    attribute.floats[:] = attribute.ints
    attribute.ints[:] = []
    attribute.type = 6


NODE_LISTS = [
    f"nodes_{name}"
    for name in ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
]
TARGET_LISTS = [f"target_{name}" for name in ("treeids", "nodeids", "ids", "weights")]


def reverse_first_tree(model):
    size = sum(1 for tree in trees(model, "nodes_treeids").ints if tree == 0)
    for name in NODE_LISTS:
        attribute = trees(model, name)
        values = attribute.ints or attribute.floats or attribute.strings
        values[:] = [*values[:size][::-1], *values[size:]]


def share_first_subtree(model):
    trees(model, "nodes_falsenodeids").ints[0] = trees(model, "nodes_truenodeids").ints[0]


@pytest.mark.parametrize(
    "change",
    [
        another_limit,
        lambda model: model.graph.node.pop(),
        lambda model: model.graph.node.add(op_type="Identity", input=["prob"], output=["again"]),
        lambda model: setattr(model.graph.node[-1], "op_type", "LogSoftmax"),
        lambda model: setattr(model.metadata_props[0], "value", "another signature"),
        lambda model: setattr(constant(model, "lstm_inputs"), "raw_data", b"\0" * 16),
        lambda model: set_first(constant(model, "words_table").dims, 1 << 18),
        lambda model: set_first(trees(model, "nodes_modes").strings, b"BRANCH_GT"),
        lambda model: set_first(trees(model, "nodes_featureids").ints, 231),
        lambda model: set_first(trees(model, "nodes_featureids").ints, -1),
        lambda model: set_first(trees(model, "nodes_featureids").ints, 1 << 40),
        lambda model: set_first(trees(model, "nodes_truenodeids").ints, 0),
        lambda model: set_first(trees(model, "nodes_truenodeids").ints, 10_000),
        lambda model: trees(model, "target_weights").floats.pop(),
        lambda model: trees(model, "nodes_values").floats.append(0),
        lambda model: setattr(trees(model, "n_targets"), "i", 2),
        lambda model: set_first(trees(model, "target_ids").ints, 1),
        lambda model: add_again(model, NODE_LISTS),
        lambda model: add_again(model, TARGET_LISTS),
        lambda model: move_to_floats(model, "nodes_featureids"),
        reverse_first_tree,
        share_first_subtree,
        lambda model: set_weight(model, "output_bias", np.nan),
        lambda model: set_weight(model, "words_table", np.inf),
    ],
)
def test_another_graph_is_left_to_onnx_runtime(tmp_path, change):
    assert read_changed(tmp_path, change) is None


def test_a_tree_of_more_leaves_than_bits_is_left_to_onnx_runtime(tmp_path):
    def chain(model):
        ids = trees(model, "nodes_treeids").ints
        size = sum(1 for tree in ids if tree == 0)
        for name in ("nodes_truenodeids", "nodes_falsenodeids"):
            for place in range(size - 1):
                trees(model, name).ints[place] = place + 1
        for place in range(size - 1):
            trees(model, "nodes_modes").strings[place] = b"BRANCH_LEQ"

    assert read_changed(tmp_path, chain) is None


def test_a_threshold_that_is_no_number_has_the_answers_of_onnx_runtime(tmp_path):
    def change(model):
        values = trees(model, "nodes_values").floats
        values[:] = [np.nan] * len(values)

    native = read_changed(tmp_path, change)
    assert_equal_answers(native, RuntimeModel(tmp_path / "model.onnx"), random_window(40, 60, 0))


def test_a_width_without_code_is_refused():
    with pytest.raises(ValueError, match="vectors of 12 numbers"):
        Network({}, 12, 1.0, 1.0, 0.0)


def test_a_network_has_its_weights_from_the_beginning():
    with pytest.raises(TypeError):
        Network.__new__(Network)


@pytest.mark.parametrize("content", [b"", b"no model", FILE.read_bytes()[:100_000]])
def test_a_file_without_a_model_is_left_to_onnx_runtime(tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    assert read_native(tmp_path / "model.onnx") is None


def test_a_processor_without_the_vectors_has_onnx_runtime(monkeypatch):
    monkeypatch.setattr(network, "WIDTHS", ())
    assert read_native(FILE) is None


@pytest.mark.parametrize(("model", "loaded"), [("dehusk", NativeModel), ("boilernet", RuntimeModel)])
def test_a_labeler_has_a_model_in_native_code_where_it_is_known(model, loaded):
    assert isinstance(OnnxLabeler(model)._loaded, loaded)
