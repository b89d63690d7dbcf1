import numpy as np
import pytest

from dehusk.inference.encoding.tokens import tag_token, word_token
from dehusk.schemas.pages import SegmentedPage
from dehusk.training.boilernet.vocabulary import UNKNOWN_TAG_ROW, UNKNOWN_WORD_ROW, Vocabulary, most_frequent


def page(*blocks):
    texts, paths = zip(*blocks, strict=True)
    zeros = (0,) * len(blocks)
    return SegmentedPage("", None, texts, paths, zeros, zeros, (False,) * len(blocks))


def test_the_most_frequent_tokens_are_kept_ties_in_alphabetical_order():
    pages = [
        page(("the mill!", "html/body/p"), ("The wheel!", "html/body/div")),
        page(("a wheel!", "html/body/p")),
    ]
    vocabulary = most_frequent(pages, tag_limit=3, word_limit=4)
    assert vocabulary == Vocabulary(tags=("body", "html", "p"), words=("!", "the", "wheel", "a"))
    assert len(vocabulary) == 9


def test_without_punctuation_that_of_the_pages_is_ignored():
    pages = [page(("the mill! 木", "p"), ("The «wheel»!", "p"))]
    vocabulary = most_frequent(pages, tag_limit=1, word_limit=2, punctuation=False)
    assert vocabulary == Vocabulary(("p",), ("the", "mill"), ignored=("!", "«", "»"))
    tokens = [word_token(token) for token in ("mill", "!", "«", "wheel", "?")]
    rows = vocabulary.rows(np.array(tokens, np.uint32)).tolist()
    assert rows == [4, 5, 5, UNKNOWN_WORD_ROW, UNKNOWN_WORD_ROW]
    assert (vocabulary.ignored_row, len(vocabulary)) == (5, 6)
    assert Vocabulary(("p",), ("the", "mill")).ignored_row is None


def test_unknown_tags_and_words_can_share_a_row():
    vocabulary = most_frequent([page(("mill", "p"))], 1, 1, separate_unknown=False)
    unknown = np.array([word_token("wheel"), tag_token("div")], np.uint32)
    assert vocabulary.rows(unknown).tolist() == [UNKNOWN_WORD_ROW] * 2


def test_rows_follow_the_order_of_tags_and_words_and_unknown_ones_have_a_row_each():
    vocabulary = Vocabulary(tags=("p", "div"), words=("mill",))
    known = [word_token("mill"), tag_token("div"), tag_token("p")]
    unknown = [word_token("p"), tag_token("mill"), 0]
    rows = vocabulary.rows(np.array(known + unknown, np.uint32)).tolist()
    assert rows == [4, 3, 2, UNKNOWN_WORD_ROW, UNKNOWN_TAG_ROW, UNKNOWN_WORD_ROW]


def test_the_hash_table_finds_every_token_and_no_other():
    vocabulary = Vocabulary(("p", "div"), tuple(f"word{i}" for i in range(998)), ignored=("!", "?"))
    table = vocabulary.hash_table()
    ids = np.concatenate([vocabulary.ids(), np.random.default_rng(1).integers(0, 2**32, 5000, np.uint32)])
    slots = ids % len(table.ids)
    holds = table.ids[slots] == ids
    rows = vocabulary.rows(ids)
    assert table.rows[slots][holds].tolist() == rows[holds].tolist()
    assert set(rows[~holds].tolist()) == {UNKNOWN_WORD_ROW, UNKNOWN_TAG_ROW}
    assert holds[:1002].all()


def test_tokens_that_no_table_can_keep_apart_are_refused():
    with pytest.raises(ValueError, match="same hash"):
        Vocabulary(tags=("p", "p"), words=()).hash_table()
