import numpy as np
import pytest

from inference.tokens import tag_id, word_id
from schemas.pages import SegmentedPage
from training.boilernet.vocabulary import UNKNOWN_ROW, Vocabulary, most_frequent


def page(*blocks):
    texts, paths = zip(*blocks, strict=True)
    zeros = (0,) * len(blocks)
    return SegmentedPage("", None, texts, paths, zeros, zeros, (False,) * len(blocks))


def test_the_most_frequent_tokens_are_kept_ties_in_alphabetical_order():
    pages = [
        page(("the mill", "html/body/p"), ("The wheel", "html/body/div")),
        page(("a wheel", "html/body/p")),
    ]
    vocabulary = most_frequent(pages, tag_limit=3, word_limit=3)
    assert vocabulary == Vocabulary(tags=("body", "html", "p"), words=("the", "wheel", "a"))
    assert len(vocabulary) == 7


def test_rows_follow_the_order_of_tags_and_words_and_unknown_tokens_share_one():
    vocabulary = Vocabulary(tags=("p", "div"), words=("mill",))
    ids = np.array([word_id("mill"), tag_id("div"), tag_id("p"), word_id("p"), tag_id("mill")], np.uint32)
    assert vocabulary.rows(ids).tolist() == [3, 2, 1, UNKNOWN_ROW, UNKNOWN_ROW]


def test_the_hash_table_finds_every_token_and_no_other():
    vocabulary = Vocabulary(tags=("p", "div"), words=tuple(f"word{i}" for i in range(1000)))
    table = vocabulary.hash_table()
    ids = np.concatenate([vocabulary.ids(), np.random.default_rng(1).integers(0, 2**32, 5000, np.uint32)])
    slots = ids % len(table.ids)
    found = np.where(table.ids[slots] == ids, table.rows[slots], UNKNOWN_ROW)
    assert found.tolist() == vocabulary.rows(ids).tolist()


def test_tokens_that_no_table_can_keep_apart_are_refused():
    with pytest.raises(ValueError, match="same hash"):
        Vocabulary(tags=("p", "p"), words=()).hash_table()
