from dataclasses import replace

import numpy as np

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.fine_tuning.crawl import DEPTHS, PRIME, structure_keys


def keys_of(html):
    return structure_keys(encode(segment(html.encode())).structure)


def deep(outermost):
    return (
        f"<body><div class={outermost}>{'<div class=in>' * 5}<section><p class=left>a</p><p class=right>b</p>"
    )


def test_blocks_have_a_key_for_each_depth():
    keys = keys_of("<body><p>a</p><div><p>b</p></div>")
    assert keys.shape == (DEPTHS, 2)
    assert ((keys > 0) & (keys < PRIME)).all()
    assert len(np.unique(keys)) == 7, "the innermost element alone is the same"


def test_blocks_of_the_same_structure_have_the_same_keys_whatever_their_numbers_and_later_classes():
    one, two = keys_of(
        "<body><div id=post-1 class='post sticky'><p>a</p></div><div class='post'><p>b</p></div>"
    ).T
    assert (one == two).all()


def test_an_outer_element_changes_the_keys_of_more_elements_alone():
    one, other = keys_of(deep("here")), keys_of(deep("there"))
    assert (one[:3] == other[:3]).all()
    assert (one[3] != other[3]).all()


def test_the_first_class_of_the_innermost_element_changes_all_keys():
    left, right = keys_of(deep("here")).T
    assert (left != right).all()


def test_classes_of_the_body_are_not_seen():
    assert (keys_of("<body class=home><p>a") == keys_of("<body class=post><p>a")).all()


def test_a_block_in_no_element_has_the_key_0():
    page = encode(segment(b"<body><p>a")).structure
    lost = replace(page, element=np.zeros_like(page.element))
    assert not structure_keys(lost).any()
