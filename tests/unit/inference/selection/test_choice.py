"""Choice of a document's blocks, with the statistics of its site and without."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.selection.selection import (
    MIN_PROBABILITY_OF_SYMBOLS,
    Bools,
    Content,
    choose,
    select,
    takes_content,
    user_comments,
    weigh,
)
from dehusk.schemas.documents import Comments
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction

PROBABILITIES = st.integers(0, 20).map(lambda twentieths: twentieths / 20)
BLOCKS = st.lists(
    st.tuples(PROBABILITIES, PROBABILITIES, PROBABILITIES, st.integers(0, 60), st.booleans()), max_size=12
)
"""Of each block the probabilities before and after the correction and of a comment, words, whether hidden."""


def page_of(words: list[int], hidden: list[bool]) -> EncodedPage:
    count = len(words)
    return EncodedPage(
        words=np.array(words, np.uint32),
        linked_words=np.zeros(count, np.uint32),
        hidden=np.array(hidden, np.bool_),
        repeat=np.full(count, -1, np.int32),
        alike=np.arange(count, dtype=np.int32) // 2 * 2,
    )


def kept(page: EncodedPage, likely: list[float], of_comments: list[float], how: Comments) -> Bools:
    """Return the shown blocks that are content, and the comments among them if they are part of the text."""
    probabilities = np.array(likely, np.float64)
    comments = user_comments(probabilities, np.array(of_comments, np.float32), page.words, page.alike)
    weights, threshold = weigh(probabilities * ~page.hidden, page.words, page.repeat, comments)
    content = comments if threshold is None else weights >= threshold
    content = content | symbols_within(content, probabilities * ~page.hidden, page.words) & ~comments
    if how is Comments.INCLUDE:
        content = content | comments
    return content & ~page.hidden


def symbols_within(content: Bools, probabilities: np.ndarray, words: np.ndarray) -> Bools:
    """Return the blocks without words between two of content, or of such blocks between these."""
    is_open = ~content & (words == 0)
    found = np.zeros_like(content)
    for number in np.flatnonzero(is_open & (probabilities >= MIN_PROBABILITY_OF_SYMBOLS)):
        before = [content[each] for each in range(number) if not is_open[each]]
        after = [content[each] for each in range(number, len(content)) if not is_open[each]]
        found[number] = bool(before and after and before[-1] and after[0])
    return found


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
    choice = choose(page, labels, DocumentOptions(drop_hidden=True, comments=how))
    corrected, alone = kept(page, after, of_comments, how), kept(page, before, of_comments, how)
    contents = (
        Content(np.array(each), kept(page, each, of_comments, Comments.SEPARATE)) for each in (before, after)
    )
    if takes_content(*contents, page.words):
        corrected = alone
        assert choice.probabilities.tolist() == before
    assert choice.content.tolist() == corrected.tolist()
    assert choice.dropped.tolist() == (alone & ~corrected).tolist()
    assert choice.saved.tolist() == (corrected & ~alone).tolist()


@pytest.mark.parametrize("drop_hidden", [False, True])
def test_a_thread_is_content_and_no_comment(drop_hidden: bool) -> None:  # noqa: FBT001
    page = page_of([40] * 20, [False] * 20)
    unlikely, comments = np.full(20, 0.01, np.float32), np.full(20, 0.9, np.float32)
    labels = Prediction(unlikely, ModelVersion("m", "1"), "onnx", comments, uncorrected=unlikely)
    choice = choose(page, labels, DocumentOptions(drop_hidden=drop_hidden))
    assert choice.content.all()
    assert not choice.comment.any()
    assert not choice.dropped.any()


def corrected(before: list[float], after: list[float], words: list[int]) -> list[bool]:
    """The blocks that are content by probabilities before and after a correction."""
    labels = Prediction(
        np.array(after, np.float32),
        ModelVersion("m", "1"),
        "onnx",
        uncorrected=np.array(before, np.float32),
    )
    found: list[bool] = choose(page_of(words, [False] * len(words)), labels).content.tolist()
    return found


MENU, MENU_WORDS = [0.01] * 12, [2] * 12
"""So many blocks that the page may have no content."""


def test_a_page_is_not_emptied_by_its_site() -> None:
    after = [0.04, 0.06, *MENU]
    assert corrected([0.6, 0.9, *MENU], after, [30, 40, *MENU_WORDS]) == [True, True, *[False] * 12]


def test_a_page_without_likely_content_is_not_emptied_by_its_site_either() -> None:
    assert corrected([0.3, *MENU], [0.02, *MENU], [30, *MENU_WORDS])[0]


def test_a_line_that_is_hardly_likely_is_no_content_instead_of_a_likely_article() -> None:
    after = [0.04, 0.06, 0.3, *MENU[1:]]
    assert corrected([0.6, 0.9, *MENU], after, [30, 40, *MENU_WORDS]) == [True, True, *[False] * 12]


def test_likely_content_elsewhere_replaces_what_the_site_repeats() -> None:
    before, after = [0.6, 0.6, 0.3, *MENU], [0.01, 0.02, 0.9, *MENU]
    assert corrected(before, after, [90, 90, 30, *MENU_WORDS]) == [False, False, True, *[False] * 12]


def test_a_tenth_of_the_content_may_be_all_of_it() -> None:
    after = [0.04, 0.45, *MENU]
    assert corrected([0.6, 0.6, *MENU], after, [90, 10, *MENU_WORDS]) == [False, True, *[False] * 12]


@given(BLOCKS)
def test_a_page_with_content_by_its_labels_keeps_some(
    blocks: list[tuple[float, float, float, int, bool]],
) -> None:
    before, after, _, words, _ = map(list, zip(*blocks, strict=True)) if blocks else [[]] * 5
    page = page_of(words, [False] * len(words))
    alone = select(np.array(before, np.float64), page.words, page.repeat)
    has_words = page.words > 0
    assert (np.array(corrected(before, after, words), np.bool_) & has_words).any() >= (
        alone & has_words
    ).any()
