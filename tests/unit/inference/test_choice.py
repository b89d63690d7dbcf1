"""Which blocks a document has, with the statistics of its site and without."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.choice import choose
from dehusk.inference.selection import Bools, likely_comments, select
from dehusk.schemas.documents import Comments
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction

PROBABILITIES = st.integers(0, 20).map(lambda twentieths: twentieths / 20)
BLOCKS = st.lists(
    st.tuples(PROBABILITIES, PROBABILITIES, PROBABILITIES, st.integers(0, 60), st.booleans()), max_size=12
)
"""Of each block the probabilities before and after the correction and of a comment, words, whether hidden."""


def page_of(words: list[int], hidden: list[bool]) -> EncodedPage:
    count = len(words)
    return EncodedPage(
        ids=np.zeros(count, np.uint32),
        block_lengths=np.ones(count, np.uint16),
        words=np.array(words, np.uint32),
        linked_words=np.zeros(count, np.uint32),
        fingerprints=np.arange(count, dtype=np.uint64),
        hidden=np.array(hidden, np.bool_),
        repeat=np.full(count, -1, np.int32),
        structures=np.zeros(count, np.uint64),
        alike=np.arange(count, dtype=np.int32) // 2 * 2,
    )


def kept(page: EncodedPage, likely: list[float], of_comments: list[float], how: Comments) -> Bools:
    """What `select` keeps of the shown blocks, and their comments where they are part of the text."""
    probabilities, comments = np.array(likely, np.float64), np.array(of_comments, np.float64)
    content = select(probabilities * ~page.hidden, page.words, page.repeat, comments, page.alike)
    if how is Comments.INCLUDE:
        content = content | likely_comments(probabilities, comments, page.words, page.alike)
    return content & ~page.hidden


@given(BLOCKS, st.sampled_from(Comments))
def test_the_choice_is_what_is_selected_with_and_without_the_correction(
    blocks: list[tuple[float, float, float, int, bool]], how: Comments
) -> None:
    before, after, of_comments, words, hidden = map(list, zip(*blocks, strict=True)) if blocks else [[]] * 5
    page = page_of(words, hidden)
    labels = Prediction(
        np.array(after, np.float32),
        ModelVersion("m", "1"),
        "onnx",
        np.array(of_comments, np.float32),
        uncorrected=np.array(before, np.float32),
    )
    choice = choose(page, labels, drop_hidden=True, comments=how)
    corrected, alone = kept(page, after, of_comments, how), kept(page, before, of_comments, how)
    assert choice.content.tolist() == corrected.tolist()
    assert choice.dropped.tolist() == (alone & ~corrected).tolist()
    assert choice.saved.tolist() == (corrected & ~alone).tolist()


@pytest.mark.parametrize("drop_hidden", [False, True])
def test_a_thread_is_content_and_no_comment(drop_hidden: bool) -> None:  # noqa: FBT001
    page = page_of([40] * 20, [False] * 20)
    unlikely, comments = np.full(20, 0.01, np.float32), np.full(20, 0.9, np.float32)
    labels = Prediction(unlikely, ModelVersion("m", "1"), "onnx", comments, uncorrected=unlikely)
    choice = choose(page, labels, drop_hidden=drop_hidden)
    assert choice.content.all()
    assert not choice.comment.any()
    assert not choice.dropped.any()
