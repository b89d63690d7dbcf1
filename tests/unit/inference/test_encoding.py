import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.encoding import MAX_BLOCK_TOKENS, encode
from inference.tokens import tag_id, word_id, words
from schemas.pages import SegmentedPage


def page(*blocks: tuple[str, str, int]) -> SegmentedPage:
    texts, paths, linked = zip(*blocks, strict=True) if blocks else ((), (), ())
    return SegmentedPage("", None, texts, paths, linked, (0,) * len(texts), (False,) * len(texts))


def test_a_block_is_its_ancestors_tags_and_then_its_words() -> None:
    encoded = encode(page(("Hello hello", "html/body/div/div/p", 0), ("…", "html/body", 0)))
    tags = [tag_id(tag) for tag in ("html", "body", "div", "div", "p", "html", "body")]
    assert encoded.ids.tolist() == [*tags[:5], word_id("hello"), word_id("hello"), *tags[5:]]
    assert encoded.block_lengths.tolist() == [7, 2]
    assert encoded.words.tolist() == [2, 0]
    assert encoded.ids.dtype == np.uint32
    assert encoded.block_lengths.dtype == np.uint16


def test_a_page_without_blocks_has_empty_columns() -> None:
    encoded = encode(page())
    assert len(encoded) == 0
    assert [
        len(column) for column in (encoded.ids, encoded.words, encoded.linked_words, encoded.fingerprints)
    ] == [0] * 4


def test_tokens_of_a_block_are_bounded_and_its_words_are_not() -> None:
    encoded = encode(page(("word " * 100_000, "html/body/p", 0), ("next", "html/body", 0)))
    assert encoded.block_lengths.tolist() == [MAX_BLOCK_TOKENS, 3]
    assert encoded.words.tolist() == [100_000, 1]


@pytest.mark.parametrize(
    ("text", "linked", "expected"),
    [("four words of text", 0, 0), ("four words of text", 18, 4), ("four words of text", 9, 2), ("…", 1, 0)],
)
def test_linked_words_follow_the_share_of_linked_characters(text: str, linked: int, expected: int) -> None:
    assert encode(page((text, "p", linked))).linked_words.tolist() == [expected]


def fingerprint(text: str) -> int:
    return int(encode(page((text, "html/body", 0))).fingerprints[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12 Comments", "3 comments"),
        ("Posted 2024-01-02", "posted 2025-11-30"),
        ("a\n  b", "a b"),
        ("ÉTÉ", "été"),
    ],
)
def test_blocks_that_differ_in_case_numbers_or_line_breaks_are_the_same(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("one", "other"), [("home", "about"), ("a b", "ab"), ("", "a"), ("a.", "a")])
def test_other_blocks_are_not_the_same(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    assert fingerprint("Home") == 6749948893202947895


BLOCKS = st.tuples(
    st.text(min_size=1, max_size=40),
    st.sampled_from(["html/body", "html/body/ul/li/a"]),
    st.integers(0, 1_000),
)


@given(BLOCKS)
def test_ids_are_those_of_the_words_and_tags(block: tuple[str, str, int]) -> None:
    text, path, _ = block
    expected = [*map(tag_id, path.split("/")), *map(word_id, words(text))]
    assert encode(page(block)).ids.tolist() == expected


@given(st.lists(BLOCKS, max_size=10))
def test_columns_fit_together(blocks: list[tuple[str, str, int]]) -> None:
    blocks = [(text, path, min(linked, len(text))) for text, path, linked in blocks]
    encoded = encode(page(*blocks))
    assert encoded.block_lengths.sum() == len(encoded.ids)
    assert (encoded.block_lengths >= 1).all()
    assert encoded.words.tolist() == [len(words(text)) for text, _, _ in blocks]
    assert (encoded.linked_words <= encoded.words).all()
    assert len(encoded.fingerprints) == len(encoded) == len(blocks)
