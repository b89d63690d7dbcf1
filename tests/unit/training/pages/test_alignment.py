import numpy as np
import pytest

from dehusk.training.pages.alignment import content_blocks

SHARE = 2 / 3


def aligned(blocks, gold):
    return content_blocks([block.split() for block in blocks], gold.split(), SHARE).tolist()


def test_blocks_of_the_gold_text_are_content_and_the_others_are_not():
    blocks = [
        "home news sport",
        "the mill turns again",
        "it ground flour today",
        "read more",
        "all rights reserved",
    ]
    assert aligned(blocks, "the mill turns again it ground flour today") == [False, True, True, False, False]


@pytest.mark.parametrize(
    ("block", "content"),
    [
        ("the mill turns xx xx xx", False),
        ("the mill turns again xx xx", True),
        ("the mill turns again xx xx xx", False),
        ("mill the again turns", False),
    ],
)
def test_a_block_is_content_from_two_thirds_of_its_words_on_in_their_order(block, content):
    assert aligned([block], "the mill turns again") == [content]


def test_a_long_block_may_miss_a_few_words():
    words = [f"w{i}" for i in range(60)]
    gold = [word for i, word in enumerate(words) if i not in (10, 30, 50)]
    assert aligned([" ".join(words)], " ".join(gold)) == [True]


def test_a_repeated_block_is_content_as_often_as_the_gold_text_has_it():
    assert sum(aligned(["buy it now"] * 3, "a teapot buy it now")) == 1


def test_the_copy_that_stands_in_order_is_preferred():
    blocks = ["tidal mill reopens", "a carpenter built the wheel", "tidal mill reopens"]
    assert aligned(blocks, "tidal mill reopens a carpenter built the wheel") == [True, True, False]


def test_a_block_out_of_order_is_content_unless_it_is_very_short():
    gold = "first a long introduction of the matter then its end"
    assert aligned(["then its end", "first a long introduction of the matter"], gold) == [True, True]
    assert aligned(["its end", "first a long introduction of the matter"], gold) == [False, True]


def test_one_long_block_beats_two_short_ones_in_the_same_place():
    blocks = ["the mill", "turns again", "the mill turns again"]
    assert aligned(blocks, "the mill turns again") == [False, False, True]


def test_nothing_is_content_without_a_gold_text_and_empty_blocks_never_are():
    assert aligned(["a b c", ""], "") == [False, False]
    assert aligned(["", "a b c"], "a b c") == [False, True]
    assert content_blocks([], ["a"], SHARE).tolist() == []


def test_every_page_is_reproduced_from_its_own_blocks():
    random = np.random.default_rng(7)
    blocks = [[f"w{word}" for word in random.integers(0, 40, random.integers(1, 30))] for _ in range(80)]
    kept = random.random(80) < 0.5
    gold = [word for block, keep in zip(blocks, kept, strict=True) if keep for word in block]
    found = content_blocks(blocks, gold, SHARE)
    long = np.array([len(block) > 4 for block in blocks])
    assert (found == kept)[long].all()
