from dataclasses import replace

import numpy as np
import pytest

from dehusk.inference.labelers.rules import BOILERPIPE, RulesLabeler, classify
from dehusk.schemas.pages import EncodedPage, Prediction


def page(*blocks: tuple[int, int]) -> EncodedPage:
    """A page of blocks with so many words and linked words."""
    words = np.array([block[0] for block in blocks], np.uint32)
    linked = np.array([block[1] for block in blocks], np.uint32)
    return EncodedPage(
        words=words,
        linked_words=linked,
        hidden=np.zeros(len(blocks), np.bool_),
        repeat=np.full(len(blocks), -1, np.int32),
    )


@pytest.mark.parametrize(
    ("before", "block", "after", "content"),
    [
        ((0, 0), (17, 0), (0, 0), True),
        ((0, 0), (16, 0), (0, 0), False),
        ((0, 0), (16, 0), (16, 0), True),
        ((0, 0), (16, 0), (15, 0), False),
        ((5, 0), (1, 0), (0, 0), True),
        ((4, 0), (1, 0), (15, 0), False),
        ((10, 10), (40, 0), (17, 0), False),
        ((10, 10), (41, 0), (0, 0), True),
        ((10, 10), (1, 0), (18, 0), True),
        ((9, 5), (17, 0), (0, 0), True),
        ((9, 6), (17, 0), (0, 0), False),
        ((50, 0), (60, 21), (50, 0), False),
        ((50, 0), (60, 20), (50, 0), False),
        ((50, 0), (60, 19), (50, 0), True),
    ],
)
def test_the_tree_decides_by_the_block_and_its_neighbours(
    before: tuple[int, int], block: tuple[int, int], after: tuple[int, int], *, content: bool
) -> None:
    assert classify(page(before, block, after))[1] == content


@pytest.mark.parametrize(("block", "content"), [((17, 0), True), ((16, 0), False)])
def test_a_neighbour_that_is_not_there_has_no_words(block: tuple[int, int], *, content: bool) -> None:
    assert classify(page(block)).tolist() == [content]


@pytest.mark.parametrize(("shown", "content"), [(60, [True, False]), (50, [True, False]), (40, [True, True])])
def test_what_is_hidden_is_no_content_but_where_it_outweighs_the_page(
    shown: int, content: list[bool]
) -> None:
    hiding = replace(page((shown, 0), (50, 0)), hidden=np.array([False, True]))
    assert classify(hiding).tolist() == content


async def test_every_page_is_answered_in_order() -> None:
    labeler = RulesLabeler()
    answers = await labeler.label([page((50, 0), (2, 2)), page(), page((1, 0))])
    await labeler.close()
    assert all(isinstance(answer, Prediction) and answer.model == BOILERPIPE for answer in answers)
    assert [answer.probabilities.tolist() for answer in answers if isinstance(answer, Prediction)] == [
        [1, 0],
        [],
        [0],
    ]
    assert {answer.labeler for answer in answers if isinstance(answer, Prediction)} == {"rules"}
