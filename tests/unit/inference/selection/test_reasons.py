"""Reasons for blocks to be in the document or not, in step with the choice."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dehusk.inference.selection.reasons import Explanation, Reason, explain
from dehusk.inference.selection.selection import choose
from dehusk.schemas.documents import Comments
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction

CONTENT = {Reason.LIKELY, Reason.THREAD, Reason.HEADING, Reason.LIST, Reason.SYMBOLS, Reason.INCLUDED}
TENTHS = st.integers(0, 10).map(lambda tenths: tenths / 10)
BLOCKS = st.lists(
    st.tuples(TENTHS, TENTHS, st.integers(0, 60), st.booleans(), st.integers(0, 20)), max_size=14
)
"""Of each block the probabilities of content and of a comment, words, whether hidden, and a number from which
the earlier block is taken that it repeats, if any."""


def page_of(
    words: list[int], hidden: list[bool] | None = None, repeat: list[int] | None = None
) -> EncodedPage:
    count = len(words)
    return EncodedPage(
        words=np.array(words, np.uint32),
        linked_words=np.zeros(count, np.uint32),
        hidden=np.array(hidden or [False] * count, np.bool_),
        repeat=np.array(repeat or [-1] * count, np.int32),
    )


def labels_of(likely: list[float], comments: list[float] | None = None) -> Prediction:
    of_comments = None if comments is None else np.array(comments, np.float32)
    return Prediction(np.array(likely, np.float32), ModelVersion("m", "1"), "onnx", of_comments)


def explained(page: EncodedPage, labels: Prediction, **how: object) -> list[str]:
    return [str(reason) for reason in explain(page, labels, DocumentOptions(**how)).reasons]  # type: ignore[arg-type]


@given(BLOCKS, st.sampled_from(["model", "drop"]), st.sampled_from(Comments))
@example(
    [(0, 0.5, 0, False, 0), (0.1, 0.5, 1, False, 0), (0, 0, 0, False, 2), (0, 0.5, 0, False, 0)],
    "model",
    Comments.SEPARATE,
)
def test_the_reasons_agree_with_the_choice(
    blocks: list[tuple[float, float, int, bool, int]], hidden_text: str, how: Comments
) -> None:
    drop_hidden = hidden_text == "drop"
    options = DocumentOptions(drop_hidden=drop_hidden, comments=how)
    likely, of_comments, words, hidden, numbers = map(list, zip(*blocks, strict=True)) if blocks else [[]] * 5
    repeat = [number if number < block else -1 for block, number in enumerate(numbers)]
    page, labels = page_of(words, hidden, repeat), labels_of(likely, of_comments)
    page = replace(page, headings=np.array([number % 3 == 0 for number in numbers], np.bool_))
    if len(numbers) > 3:
        page = replace(page, link_lists=np.array([[1 + numbers[0] % 2], [3]], np.int32))
    choice = choose(page, labels, options)
    found: Explanation = explain(page, labels, options)
    assert [reason in CONTENT for reason in found.reasons] == choice.content.tolist()
    of_comment = [reason in {Reason.COMMENT, Reason.INCLUDED} for reason in found.reasons]
    assert of_comment == choice.comment.tolist()
    assert [reason is Reason.REPEAT for reason in found.reasons] == (found.copies >= 0).tolist()
    for block, reason in enumerate(found.reasons):
        if reason is Reason.LIKELY:
            assert found.least is not None
            assert choice.probabilities[block] >= found.least
        if reason is Reason.UNLIKELY:
            assert found.least is not None
            assert choice.probabilities[block] < found.least or choice.probabilities[block] == 0


def test_an_unlikely_block_is_below_the_least_probability() -> None:
    found = explain(page_of([50, 50]), labels_of([0.9, 0.1]))
    assert found.reasons == (Reason.LIKELY, Reason.UNLIKELY)
    assert found.least is not None
    assert 0.1 < found.least <= 0.9


def test_a_copy_names_the_block_that_is_kept() -> None:
    first = explain(page_of([50, 50, 50], repeat=[-1, -1, 0]), labels_of([0.9, 0.1, 0.95]))
    assert first.reasons == (Reason.LIKELY, Reason.UNLIKELY, Reason.REPEAT)
    assert first.copies.tolist() == [-1, -1, 0]
    later = explain(page_of([50, 5, 50], repeat=[-1, -1, 0]), labels_of([0.2, 0.15, 0.21]))
    assert later.reasons == (Reason.REPEAT, Reason.UNLIKELY, Reason.LIKELY)
    assert later.copies.tolist() == [2, -1, -1]


def test_hidden_text_is_dropped_where_it_is_to_be() -> None:
    page, labels = page_of([50, 50], [False, True]), labels_of([0.9, 0.9])
    assert explained(page, labels, drop_hidden=True) == ["likely", "hidden"]
    assert explained(page, labels) == ["likely", "likely"]


def test_comments_are_told_from_content() -> None:
    page, labels = page_of([50, 50]), labels_of([0.9, 0.1], [0.0, 0.9])
    assert explained(page, labels) == ["likely", "comment"]
    assert explained(page, labels, comments=Comments.INCLUDE) == ["likely", "included"]
    assert explained(page, labels_of([0.01, 0.01], [0.9, 0.9])) == ["thread", "thread"]


def test_a_page_without_content_says_so() -> None:
    page = page_of([3] * 20)
    found = explain(page, labels_of([0.01] * 20))
    assert found.least is None
    assert set(found.reasons) == {Reason.NO_CONTENT}


def test_a_page_without_blocks_has_no_reasons() -> None:
    assert explain(page_of([]), labels_of([])).reasons == ()


@pytest.mark.parametrize(
    ("likely", "headings", "reasons"),
    [
        ([0.9, 0.2, 0.9], "-h-", ["likely", "heading", "likely"]),
        ([0.9, 0.2, 0.2, 0.9], "-hh-", ["likely", "heading", "heading", "likely"]),
        ([0.9, 0.05, 0.9], "-h-", ["likely", "unlikely", "likely"]),
        ([0.9, 0.2, 0.9], "---", ["likely", "unlikely", "likely"]),
        ([0.2, 0.9], "h-", ["unlikely", "likely"]),
        ([0.9, 0.2], "-h", ["likely", "unlikely"]),
        ([0.9, 0.2, 0.1, 0.9], "-h--", ["likely", "unlikely", "unlikely", "likely"]),
        ([0.9, 0.2, 0.9, 0.9], "-hh-", ["likely", "unlikely", "likely", "likely"]),
    ],
)
def test_a_heading_goes_with_the_content_around_it(
    likely: list[float], headings: str, reasons: list[str]
) -> None:
    words = [3 if each == "h" else 60 for each in headings]
    page = replace(page_of(words), headings=np.array([each == "h" for each in headings], np.bool_))
    assert explained(page, labels_of(likely)) == reasons


@pytest.mark.parametrize(
    ("likely", "reasons"),
    [
        ([0.9, 0.2, 0.1, 0.9], ["likely", "list", "list", "likely"]),
        ([0.9, 0.19, 0.02, 0.9], ["likely", "list", "list", "likely"]),
        ([0.9, 0.1, 0.05, 0.9], ["likely", "unlikely", "unlikely", "likely"]),
        ([0.9, 0.9, 0.05, 0.9], ["likely", "likely", "list", "likely"]),
        ([0.2, 0.2, 0.2, 0.9], ["unlikely", "unlikely", "unlikely", "likely"]),
        ([0.9, 0.2, 0.2, 0.2], ["likely", "unlikely", "unlikely", "unlikely"]),
        ([0.9, 0.2, 0.2], ["likely", "unlikely", "unlikely"]),
    ],
)
def test_a_list_of_links_goes_with_the_content_around_it(likely: list[float], reasons: list[str]) -> None:
    words = [60, 3, 3, 60][: len(likely)]
    page = replace(page_of(words), link_lists=np.array([[1], [3]], np.int32))
    assert explained(page, labels_of(likely)) == reasons


def test_copies_and_comments_in_a_list_of_links_do_not() -> None:
    lists = np.array([[1], [3]], np.int32)
    copy = replace(page_of([60, 3, 3, 60], repeat=[-1, -1, 0, -1]), link_lists=lists)
    assert choose(copy, labels_of([0.9, 0.2, 0.2, 0.9])).content.tolist() == [True, True, False, True]
    page = replace(page_of([60, 3, 3, 60]), link_lists=lists)
    labels = labels_of([0.9, 0.2, 0.2, 0.9], [0, 0, 0.9, 0])
    assert explained(page, labels) == ["likely", "list", "comment", "likely"]


@pytest.mark.parametrize(
    ("likely", "reasons"),
    [
        ([0.9, 0.2, 0.1, 0.9], ["likely", "symbols", "symbols", "likely"]),
        ([0.9, 0.2, 0.05, 0.9], ["likely", "symbols", "unlikely", "likely"]),
        ([0.9, 0.9, 0.2, 0.9], ["likely", "likely", "symbols", "likely"]),
        ([0.2, 0.2, 0.2, 0.9], ["unlikely", "unlikely", "unlikely", "likely"]),
        ([0.9, 0.2, 0.2, 0.2], ["likely", "unlikely", "unlikely", "unlikely"]),
        ([0.9, 0.2], ["likely", "unlikely"]),
    ],
)
def test_blocks_without_words_go_with_the_content_around_them(
    likely: list[float], reasons: list[str]
) -> None:
    assert explained(page_of([60, 0, 0, 60][: len(likely)]), labels_of(likely)) == reasons


def test_a_hidden_heading_and_a_copy_of_one_go_with_nothing() -> None:
    heading = np.array([False, True, False], np.bool_)
    labels = labels_of([0.9, 0.2, 0.9])
    hidden = page_of([60, 3, 60], [False, True, False])
    copy = page_of([60, 3, 60], repeat=[-1, 0, -1])
    assert explained(replace(hidden, headings=heading), labels) == ["likely", "unlikely", "likely"]
    assert not choose(replace(copy, headings=heading), labels).content[1]
