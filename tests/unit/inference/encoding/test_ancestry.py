import numpy as np

from dehusk.inference.encoding.ancestry import holding, subtree_ends, with_tag, within
from tests.unit.inference.documents import tree_of

TREE = tree_of("<title>t</title><div><p>a<b>b</b></p><img></div><p>c</p>")
TAGS = ("html", "head", "title", "body", "div", "p", "b", "img", "p")


def test_elements_are_found_by_their_tags() -> None:
    assert TREE.tags == TAGS
    assert np.flatnonzero(with_tag(TREE, frozenset({"p", "b"}))).tolist() == [5, 6, 8]


def test_a_subtree_ends_before_the_next_element_that_is_not_in_it() -> None:
    assert subtree_ends(TREE).tolist() == [9, 3, 3, 9, 8, 7, 7, 8, 9]


def test_what_stands_in_an_element_is_covered_once_it_is_chosen() -> None:
    chosen = with_tag(TREE, frozenset({"div", "b"}))
    assert np.flatnonzero(within(TREE, chosen)).tolist() == [4, 5, 6, 7]


def test_what_holds_a_chosen_element_is_around_it() -> None:
    assert np.flatnonzero(holding(TREE, with_tag(TREE, frozenset({"img"})))).tolist() == [0, 3, 4, 7]


def test_a_document_without_elements_has_none() -> None:
    empty = tree_of("")
    nothing = with_tag(empty, frozenset({"p"}))
    assert not within(empty, nothing).any()
    assert not holding(empty, nothing).any()
