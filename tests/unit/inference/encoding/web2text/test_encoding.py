"""The features of pages, by their names."""

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.encoding.web2text.features import ANCESTOR_COLUMNS, BLOCK_COLUMNS, EDGE_COLUMNS
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Encoding

PAGE = (
    "<body><div class=nav><ul><li><a href=/>Home</a></li><li><a href=/a>About us</a></li></ul></div>"
    "<div id=main><h1>The mill</h1><p>The mill by the river, built in 1850. Does it grind?</p>"
    "<form><input name=q>Search <table><tr><td>one<td>two</table></form></div><p>Home</p></body>"
)


def encoded(html=PAGE):
    page = segment(html.encode(), with_tree=True)
    return page, encode(page, (Encoding.WEB2TEXT,)).web2text


def block_feature(name):
    _, tensors = encoded()
    place = [column.name for column in BLOCK_COLUMNS].index(name)
    return tensors.block_features[:, place].astype(float).round(3).tolist()


def edge_feature(name):
    _, tensors = encoded()
    place = [column.name for column in ANCESTOR_COLUMNS].index(name)
    return tensors.edge_features[:, place].astype(float).round(3).tolist()


def test_there_are_as_many_features_as_in_the_paper():
    assert len(BLOCK_COLUMNS) == 128
    assert len(EDGE_COLUMNS) == 25


def test_each_block_of_the_page_has_all_features():
    page, tensors = encoded()
    assert page.texts == (
        "Home", "About us", "The mill", "The mill by the river, built in 1850. Does it grind?",
        "Search", "one", "two", "Home",
    )  # fmt: skip
    assert tensors.block_features.shape == (8, 128)
    assert tensors.edge_features.shape == (8, 21)
    assert tensors.distances.shape == (8,)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("has_duplicate", [1, 0, 0, 0, 0, 0, 0, 1]),
        ("has_10_duplicates", [0] * 8),
        ("same_class_path_ratio", [0.25, 0.25, 0.125, 0.125, 0.125, 0.25, 0.25, 0.125]),
        ("has_word", [1] * 8),
        ("log_words", [0, 0.693, 0.693, 2.398, 0, 0, 0, 0]),
        ("stopword_ratio", [0, 1, 0.5, 0.455, 0, 1, 0, 0]),
        ("has_year", [0, 0, 0, 1, 0, 0, 0, 0]),
        ("ends_with_question_mark", [0, 0, 0, 1, 0, 0, 0, 0]),
        ("has_sentences", [0, 0, 0, 1, 0, 0, 0, 0]),
        ("punctuation", [0, 0, 0, 3, 0, 0, 0, 0]),
        ("capital_ratio_2", [1, 0.25, 0.25, 0.033, 1, 0, 0, 1]),
        ("parent_link_density", [1, 1, 0, 0, 0, 0, 0, 0.136]),
        ("parent_has_form", [0, 0, 1, 1, 1, 0, 0, 1]),
        ("parent_is_ul", [1, 1, 0, 0, 0, 0, 0, 0]),
        ("parent_is_body", [0, 0, 0, 0, 0, 0, 0, 1]),
        ("has_grandparent", [1, 1, 1, 1, 1, 1, 1, 0]),
        ("grandparent_has_year", [1, 1, 1, 1, 1, 0, 0, 0]),
        ("root_body_share", [1] * 8),
        ("is_li", [1, 1, 0, 0, 0, 0, 0, 0]),
        ("is_a", [1, 1, 0, 0, 0, 0, 0, 0]),
        ("is_td", [0, 0, 0, 0, 0, 1, 1, 0]),
        ("is_p", [0, 0, 0, 1, 0, 0, 0, 1]),
    ],
)
def test_a_feature_of_each_block(name, expected):
    assert block_feature(name) == expected


def test_positions_rise_from_the_first_block_to_the_last():
    positions = block_feature("position")
    assert positions == sorted(positions)
    assert 0 < positions[0] < positions[-1] < 1


def test_the_distance_is_that_between_neighbours():
    _, tensors = encoded()
    assert tensors.distances.tolist() == [0, 2, 4, 2, 3, 3, 2, 5]


def test_a_line_breaks_between_blocks_but_not_between_cells():
    assert edge_feature("line_break") == [0, 1, 1, 1, 1, 1, 0, 1]


def test_the_common_ancestor_is_described():
    assert edge_feature("ancestor_link_density")[:2] == [0, 1]
    assert edge_feature("ancestor_body_share")[2] == 1
    assert edge_feature("ancestor_has_form") == [0, 0, 1, 1, 1, 1, 0, 1]


def test_a_page_of_one_block_has_neither_parent_nor_pair():
    page, tensors = encoded("<p>One mill.")
    features = dict(zip((column.name for column in BLOCK_COLUMNS), tensors.block_features[0], strict=True))
    assert len(page) == 1
    assert (features["has_parent"], features["parent_has_stopword"], features["is_p"]) == (0, 0, 1)
    assert features["root_body_share"] == 1
    assert tensors.distances.tolist() == [0]
    assert not tensors.edge_features.any()


def test_a_page_without_blocks_has_no_features():
    _, tensors = encoded("<title>Nothing</title>")
    assert tensors.block_features.shape == (0, 128)
    assert tensors.edge_features.shape == (0, 21)


def test_a_page_is_only_encoded_so_where_it_is_asked_for():
    page = segment(PAGE.encode(), with_tree=True)
    assert encode(page).web2text is None


def test_features_are_finite_on_odd_pages():
    for html in (
        "<p>🙂",
        "<p>。",
        "<body>a<br>b<br>c",
        "<p>\x00<p> x",
        "<a>x</a>" * 300,
        "<div>" * 400 + "deep",
    ):
        _, tensors = encoded(html)
        assert np.isfinite(tensors.block_features).all()
        assert np.isfinite(tensors.edge_features).all()
