"""The headings of a page by its elements."""

import numpy as np

from dehusk.inference.native.headings import headings_of


def headings(
    levels: list[int], parents: list[int], elements: list[int], most: int = 10
) -> list[tuple[int, int, int]]:
    columns = np.array(levels, np.uint8), np.array(parents, np.int32), np.array(elements, np.int32)
    return headings_of(*columns, 3, most)


def test_the_blocks_of_a_heading_are_one() -> None:
    assert headings([0, 2, 2, 0], [-1, 0, 1, 0], [3, 1, 2, 2, 3, 1]) == [(2, 1, 4), (2, 5, 6)]


def test_headings_beside_each_other_are_several() -> None:
    assert headings([0, 1, 2], [-1, 0, 0], [1, 2, 2]) == [(1, 0, 1), (2, 1, 3)]


def test_a_heading_in_another_has_the_level_of_the_outer_one() -> None:
    assert headings([0, 1, 3], [-1, 0, 1], [2]) == [(1, 0, 1)]


def test_lesser_headings_are_none() -> None:
    assert headings([0, 4, 3], [-1, 0, 0], [0, 1, 2]) == [(3, 2, 3)]
    assert headings([4, 3], [-1, 0], [1]) == [(4, 0, 1)]


def test_headings_are_limited_and_so_are_their_blocks() -> None:
    levels, parents = [0, 1, 2, 3], [-1, 0, 0, 0]
    assert headings(levels, parents, [1, 2, 3], most=2) == [(1, 0, 1), (2, 1, 2)]
    assert headings(levels, parents, [1, 1, 1, 2], most=1) == [(1, 0, 2)]


def test_a_page_without_blocks_has_no_headings() -> None:
    assert headings([], [], []) == []
