import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.batching import (
    ANCESTORS,
    GROUP_PADDING,
    GROUP_SIZE,
    WINDOW_BLOCKS,
    WINDOW_IDS,
    groups,
    join,
    windows,
)
from dehusk.inference.labelers.signature import STRUCTURE, STRUCTURE_WITH_LINKS, TOKENS, WEB2TEXT
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError, NotEncodedError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import Encoding, ModelVersion
from tests.encoded import page_of

MODEL = ModelVersion("boilernet", "1")


def page(lengths):
    return page_of(np.arange(int(np.sum(lengths)), dtype=np.uint32), lengths)


@pytest.mark.parametrize(
    ("lengths", "blocks_per_window"),
    [
        ([], []),
        ([3], [1]),
        ([1] * WINDOW_BLOCKS, [WINDOW_BLOCKS]),
        ([2] * (2 * WINDOW_BLOCKS + 1), [WINDOW_BLOCKS, WINDOW_BLOCKS, 1]),
        ([65535] * 9, [4, 4, 1]),
        ([6, 65535, 65535, 65535, 65535, 1], [4, 2]),
    ],
)
def test_a_page_is_cut_into_consecutive_windows(lengths, blocks_per_window):
    whole = page(lengths)
    cut = list(windows(whole, TOKENS))
    assert [len(window) for window in cut] == blocks_per_window
    assert all(
        len(window.tensors["ids"]) == window.tensors["block_len"].sum() <= WINDOW_IDS for window in cut
    )
    assert (
        np.concatenate([whole.tokens.ids[:0], *(window.tensors["ids"] for window in cut)]).tolist()
        == whole.tokens.ids.tolist()
    )


@given(st.lists(st.integers(1, 3000), max_size=40))
def test_groups_hold_each_window_once_are_small_and_little_padded(lengths):
    grouped = groups(lengths)
    assert sorted(index for group in grouped for index in group) == list(range(len(lengths)))
    for group in grouped:
        sizes = [lengths[index] for index in group]
        assert len(group) <= GROUP_SIZE
        assert max(sizes) * len(sizes) <= GROUP_PADDING * sum(sizes)


def test_the_features_of_a_page_are_cut_with_its_blocks():
    html = b"<body>" + b"<p>one<p>two" * (WINDOW_BLOCKS // 2) + b"<p>last"
    whole = encode(segment(html, with_tree=True), (Encoding.WEB2TEXT,))
    first, last = windows(whole, WEB2TEXT)
    assert (len(first), len(last)) == (WINDOW_BLOCKS, 1)
    assert first.tensors["block_features"].shape == (128 * WINDOW_BLOCKS,)
    assert last.tensors["edge_features"].tolist() == whole.web2text.edge_features[-1].tolist()
    assert last.tensors["distance"].tolist() == [2]


@pytest.mark.parametrize("signature", [TOKENS, WEB2TEXT])
def test_a_page_without_the_encoding_that_is_read_names_it(signature):
    with pytest.raises(NotEncodedError) as raised:
        list(windows(encode(segment(b"<p>one")), signature))
    assert {raised.value.encoding} == signature.encodings


def test_windows_of_the_same_length_fill_their_groups():
    assert [len(group) for group in groups([7] * 10)] == [4, 4, 2]


def test_answers_to_windows_become_the_labels_of_the_page():
    windows = [np.array([[0.1, 0.9]], np.float32), np.array([[1.0]], np.float32)]
    labels = join(page([1, 1, 1]), windows, MODEL, "onnx")
    assert labels.probabilities.tolist() == pytest.approx([0.1, 0.9, 1.0])
    assert labels.comments is None
    assert (labels.model, labels.labeler) == (MODEL, "onnx")


def test_what_a_model_says_of_comments_stands_beside_it():
    labels = join(page([1, 1]), [np.array([[0.1, 0.9], [0.8, 0.2]], np.float32)], MODEL, "onnx")
    assert labels.probabilities.tolist() == pytest.approx([0.1, 0.9])
    assert labels.comments.tolist() == pytest.approx([0.8, 0.2])


def test_a_page_without_blocks_gets_empty_labels():
    assert join(page([]), [], MODEL, "onnx").probabilities.shape == (0,)


@pytest.mark.parametrize("answer", [[0.5], [0.5, 0.5, 0.5], [0.5, np.nan], [0.5, 1.5], [-0.1, 0.5]])
def test_an_answer_that_is_not_a_probability_per_block_is_rejected(answer):
    broken = join(page([1, 1]), [np.array([answer], np.float32)], MODEL, "triton")
    assert broken.reason is BrokenReason.REJECTED_BY_MODEL
    assert "boilernet version 1" in broken.detail


def test_comments_of_another_number_of_blocks_are_rejected():
    answer = [np.array([0.5, 0.5], np.float32), np.empty(0, np.float32)]
    broken = join(page([1, 1]), [answer], MODEL, "triton")
    assert broken.reason is BrokenReason.REJECTED_BY_MODEL
    assert "0 probabilities for 2 blocks" in broken.detail


@pytest.fixture(scope="module")
def long_page():
    items = "".join(f"<li class=item{j}>item {j}" for j in range(9))
    parts = "".join(f"<section class=part{k}><h2>Part {k}</h2><ul>{items}</ul></section>" for k in range(500))
    return encode(segment(f"<body><main>{parts}</main>".encode()))


def ancestors(tensors, block):
    """The tokens of the innermost elements that hold a block."""
    ends = np.cumsum(tensors["token_len"], dtype=np.int64)
    chain, element = [], int(tensors["element"][block])
    while element and len(chain) < ANCESTORS:
        end = int(ends[element - 1])
        chain.append(tensors["tokens"][end - int(tensors["token_len"][element - 1]) : end].tolist())
        element = int(tensors["parent"][element - 1])
    return chain


def words_of(tensors, block):
    ends = np.concatenate([[0], np.cumsum(tensors["word_len"], dtype=np.int64)])
    return tensors["words"][ends[block] : ends[block + 1]].tolist()


def test_a_page_of_few_blocks_is_one_window_as_it_was_encoded():
    short = encode(segment(b"<h1>Mill</h1><p class=lead>It grinds</p><p>slowly"))
    (window,) = windows(short, STRUCTURE)
    assert window.blocks == len(short) == 3
    assert {tensor.name for tensor in STRUCTURE_WITH_LINKS.request} == set(window.tensors)
    assert window.tensors["features"].shape == (3 * short.structure.features.shape[1],)
    assert window.tensors["heading"].tolist() == [1, 1, 1]


def test_a_model_gets_the_links_of_its_blocks_if_it_reads_them(long_page):
    cut = list(windows(long_page, STRUCTURE_WITH_LINKS))
    assert all({tensor.name for tensor in STRUCTURE_WITH_LINKS.request} == set(each.tensors) for each in cut)
    links = np.concatenate([each.tensors["links"] for each in cut])
    assert links.tolist() == long_page.structure.links.ravel().tolist()
    assert all(each.tensors["address"] is long_page.structure.address for each in cut)


def test_the_windows_of_a_long_page_know_the_elements_and_headings_of_their_blocks(long_page):
    cut = list(windows(long_page, STRUCTURE))
    assert [window.blocks for window in cut] == [WINDOW_BLOCKS, WINDOW_BLOCKS, 5000 - 2 * WINDOW_BLOCKS]
    structure = long_page.structure
    whole = {
        "tokens": structure.element_tokens,
        "token_len": structure.element_token_lengths,
        "parent": structure.parent,
        "element": structure.element,
        "words": structure.word_ids,
        "word_len": structure.word_lengths,
    }
    first = 0
    for window in cut:
        assert len(window.tensors["parent"]) < len(structure.parent)
        for block in range(0, window.blocks, 7):
            assert ancestors(window.tensors, block) == ancestors(whole, first + block)
            assert words_of(window.tensors, block) == words_of(whole, first + block)
        headings = window.tensors["heading"]
        outside = structure.heading[first : first + window.blocks] <= first
        assert (headings[outside] == 0).all()
        assert (
            headings[~outside] + first == structure.heading[first : first + window.blocks][~outside]
        ).all()
        alike = window.tensors["alike"]
        assert (alike[alike] == alike).all()
        here = structure.alike[first : first + window.blocks]
        assert ((alike[:, None] == alike) == (here[:, None] == here)).all()
        first += window.blocks


def test_a_page_of_which_only_texts_are_known_has_no_structure():
    with pytest.raises(ConfigurationError, match="only texts and paths"):
        list(windows(page([1, 2]), STRUCTURE))
