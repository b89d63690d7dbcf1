"""The collapsed DOM of small documents."""

import numpy as np
import pytest

from dehusk.inference.encoding.web2text.cdom import NONE, collapse
from dehusk.inference.segmentation.segmentation import segment


def collapsed(html):
    page = segment(html.encode(), with_tree=True)
    return page, collapse(page.tree, len(page))


def tags_of(page, merged, number):
    elements, owners = merged
    return [page.tree.tags[element] for element in elements[owners == number]]


LIST = """<html><body><main><div><p><b>One</b></p></div>
<ul><li><a>Two</a></li><li>Three</li></ul></main></body></html>"""


@pytest.mark.parametrize(
    ("html", "places"),
    [
        ("<p>a<div><math alttext=x><mi>x</mi></math></div>", ["p", "p"]),
        ("<div><math alttext=x><mi>x</mi></math></div><p>a", ["p", "p"]),
        ("<math alttext=x><mi>x</mi></math>", ["html"]),
    ],
)
def test_a_formula_that_is_read_as_it_declares_is_where_its_neighbour_is(html, places):
    page, dom = collapsed(html)
    assert [page.tree.tags[element] for element in dom.innermost] == places


def test_elements_that_hold_the_same_blocks_are_one_node():
    page, dom = collapsed(LIST)
    assert page.texts == ("One", "Two", "Three")
    assert [tags_of(page, dom.of_nodes, node) for node in range(2)] == [["html", "body", "main"], ["ul"]]
    assert [page.tree.tags[element] for element in dom.outermost] == ["html", "ul"]


def test_elements_that_hold_one_block_are_merged_with_it():
    page, dom = collapsed(LIST)
    assert [tags_of(page, dom.of_leaves, leaf) for leaf in range(3)] == [
        ["div", "p", "b"],
        ["li", "a"],
        ["li"],
    ]


def test_leaves_and_nodes_know_what_is_around_them():
    _, dom = collapsed(LIST)
    assert dom.parents.tolist() == [0, 1, 1]
    assert dom.node_parents.tolist() == [NONE, 0]
    assert dom.depths.tolist() == [0, 1]
    assert dom.leaf_depths.tolist() == [1, 2, 2]
    assert (dom.first.tolist(), dom.after.tolist()) == ([0, 1], [3, 3])


def test_what_stands_within_a_line_is_part_of_its_block():
    page, dom = collapsed("<body><p>A <b>bold</b> <a href=/>link</a> here.</p><p>Next</p>")
    assert len(page) == 2
    assert tags_of(page, dom.of_leaves, 0) == ["p"]
    assert page.tree.tags[dom.innermost[0]] == "p"


def test_a_line_that_begins_in_an_element_and_ends_behind_it_is_held_by_both():
    page, dom = collapsed("<body><div><i>One <div>Two</div> three</i> four</div><p>Five</p>")
    assert page.texts == ("One", "Two", "three four", "Five")
    assert page.tree.tags[dom.innermost[2]] == "div"
    assert [tags_of(page, dom.of_nodes, node) for node in range(3)] == [["html", "body"], ["div"], ["i"]]
    assert dom.parents.tolist() == [2, 2, 1, 0]
    assert (dom.first.tolist(), dom.after.tolist()) == ([0, 0, 0], [4, 3, 2])


def test_texts_beside_elements_are_leaves_of_what_holds_both():
    _, dom = collapsed("<body><div>One<p>Two</p>Three<p>Four</p></div>")
    assert dom.parents.tolist() == [0, 0, 0, 0]


def test_a_page_of_one_block_has_a_root_and_no_parent():
    page, dom = collapsed("<title>Title</title><body><div><p>One")
    assert dom.parents.tolist() == [NONE]
    assert dom.node_parents.tolist() == [NONE]
    assert [page.tree.tags[element] for element in dom.outermost] == ["html"]
    assert tags_of(page, dom.of_leaves, 0)[-1] == "p"


@pytest.mark.parametrize(
    "html", [LIST, "<script>x</script><p>One<script>y</script><p>Two", "<p>One<template><p>Two"]
)
def test_blocks_begin_where_their_first_texts_do(html):
    page, dom = collapsed(html)
    starts = [np.flatnonzero(page.tree.blocks == block)[0] for block in range(len(page))]
    assert dom.begins.tolist() == page.tree.text_begins[starts].tolist()
