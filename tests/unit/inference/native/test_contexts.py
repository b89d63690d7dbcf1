from math import log1p

import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment

PROSE = "a word of prose that is long enough to be taken for a paragraph of an article"
"""17 words."""


def test_a_block_knows_its_place_in_the_page(block_columns) -> None:
    columns = block_columns("<p>two words<h1>Title</h1><p>three words here<p>last")
    assert columns["index_share"] == pytest.approx([0, 0.25, 0.5, 0.75], abs=0.01)
    assert columns["words_before_share"] == pytest.approx([0, 2 / 7, 3 / 7, 6 / 7], abs=0.01)
    assert columns["log_index"] == pytest.approx([log1p(index) for index in range(4)], abs=0.03)
    assert columns["log_blocks_after"] == pytest.approx([log1p(3 - index) for index in range(4)], abs=0.03)
    assert columns["distance_from_h1"] == pytest.approx([-0.02, 0, 0.02, 0.04], abs=0.01)
    assert columns["after_h1"] == [0, 1, 1, 1]


def test_without_h1_there_is_no_distance_from_it(block_columns) -> None:
    columns = block_columns("<p>one<h2>Title</h2>")
    assert columns["distance_from_h1"] == pytest.approx([0, 0], abs=0.01)
    assert columns["after_h1"] == [0, 0]


def test_a_block_knows_the_elements_around_it(block_columns) -> None:
    columns = block_columns(
        "<main><ul><li>item</ul><h3>Title</h3></main><p>plain<p hidden>secret<p><b hidden>b"
    )
    assert columns["in_main"] == [1, 1, 0, 0, 0]
    assert columns["in_li"] == [1, 0, 0, 0, 0]
    assert columns["in_hidden"] == [0, 0, 0, 1, 1]
    assert columns["in_heading"] == [0, 1, 0, 0, 0]
    assert columns["heading_level"] == pytest.approx([0, 0.5, 0, 0, 0], abs=0.01)
    assert columns["depth"] == pytest.approx([0.5, 0.4, 0.3, 0.3, 0.3], abs=0.02)


def test_a_block_names_the_first_whose_elements_are_like_its_own() -> None:
    html = "<ul><li class=card>a<li class=card>b<li>c<li class='card'>d</ul><ol><li class=card>e</ol><p>f"
    structure = encode(segment(html.encode())).structure
    assert structure is not None
    assert structure.alike.tolist() == [0, 0, 2, 0, 4, 5]


def test_blocks_of_the_same_tags_and_classes_are_told_of_each_other(block_columns) -> None:
    columns = block_columns("<p class=a1>one two<p class=a2><a href=x>four</a><p class=b>x")
    assert columns["signature_count_share"] == pytest.approx([2 / 3, 2 / 3, 1 / 3], abs=0.01)
    assert columns["signature_words_share"] == pytest.approx([3 / 4, 3 / 4, 1 / 4], abs=0.01)
    assert columns["signature_log_mean_words"] == pytest.approx([log1p(1.5), log1p(1.5), log1p(1)], abs=0.03)
    assert columns["signature_link_density"] == pytest.approx([1 / 3, 1 / 3, 0], abs=0.01)


def test_elements_that_hold_the_same_blocks_are_one_level(block_columns) -> None:
    columns = block_columns(
        f"<div><section><div><p>{PROSE}</p></div></section><a href=x>linked</a><img></div><p>rest of it"
    )
    blocks = [columns[f"level_{level}_log_blocks"][0] for level in range(1, 6)]
    assert blocks == pytest.approx([log1p(2), log1p(3), *[log1p(3)] * 3], abs=0.03)
    assert columns["level_1_log_words"][0] == pytest.approx(log1p(18), abs=0.03)
    assert columns["level_1_link_density"][0] == pytest.approx(1 / 18, abs=0.01)
    assert columns["level_1_words_share"][0] == pytest.approx(18 / 21, abs=0.01)
    assert columns["level_1_paragraph_share"][0] == pytest.approx(1 / 2, abs=0.01)
    assert columns["level_1_log_images"][0] == pytest.approx(log1p(1), abs=0.03)


def test_the_largest_part_does_not_have_nearly_all_words(block_columns) -> None:
    columns = block_columns(f"<div><div><p>{PROSE}</p></div><p>{PROSE}</p></div><div><p>more</p></div>")
    assert columns["largest_part_words_share"] == pytest.approx([17 / 35, 17 / 35, 1 / 35], abs=0.01)
    assert columns["largest_part_paragraph_share"] == [1, 1, 0]


def test_an_element_that_repeats_is_found_around_a_block(block_columns) -> None:
    card = "<div class='card'><h3>Name</h3><p>text of it<img></div>"
    columns = block_columns(f"<section>{card * 3}</section><div><p>a<p>b</div><div><p>c<p>d</div>")
    assert columns["nearest_repeated_log_count"][:2] == pytest.approx([log1p(3)] * 2, abs=0.03)
    assert columns["nearest_repeated_log_words"][0] == pytest.approx(log1p(4), abs=0.03)
    assert columns["nearest_repeated_log_images"][0] == pytest.approx(log1p(1), abs=0.03)
    assert columns["nearest_repeated_parent_words_share"][0] == pytest.approx(12 / 16, abs=0.01)
    assert columns["nearest_repeated_log_count"][6:] == [0] * 4
    assert columns["most_repeated_log_count"][6:] == pytest.approx([log1p(2)] * 4, abs=0.03)


def test_of_repeating_elements_the_outer_one_stays_unless_an_inner_one_repeats_more(block_columns) -> None:
    inner = "<div class=i><p>a<p>b</div>"
    columns = block_columns(f"<div class=o>{inner * 2}</div>" * 2 + f"<section>{inner * 3}</section>" * 2)
    counts = columns["most_repeated_log_count"]
    assert counts == pytest.approx([log1p(2)] * 8 + [log1p(3)] * 12, abs=0.03)
    assert columns["most_repeated_log_words"] == pytest.approx([log1p(4)] * 8 + [log1p(2)] * 12, abs=0.03)


def test_a_block_knows_what_came_before_it(block_columns) -> None:
    columns = block_columns(f"<p>a<div><h2>Head</h2><div><p>b</div></div><p>{PROSE}<p>c<p>d")
    assert columns["log_sibling_index"] == pytest.approx(
        [log1p(1), log1p(1), log1p(1), log1p(2), log1p(3), log1p(4)], abs=0.03
    )
    assert columns["log_blocks_since_heading"] == pytest.approx(
        [6, *(log1p(distance) for distance in range(5))], abs=0.03
    )
    assert columns["depth_below_heading"] == pytest.approx([0, 0, 0.2, -0.2, -0.2, -0.2], abs=0.01)
    assert columns["log_blocks_since_paragraph"] == pytest.approx([6, 6, 6, 6, log1p(1), log1p(2)], abs=0.03)


def test_runs_of_repeated_blocks_are_known_to_both_copies(block_columns) -> None:
    columns = block_columns("<p>one two<p>three<p>x<p>One two<p>Three")
    assert columns["log_run_repeated_words"] == pytest.approx([0, 0, 0, log1p(3), log1p(3)], abs=0.03)
    assert columns["log_run_to_repeat_words"] == pytest.approx([log1p(3), log1p(3), 0, 0, 0], abs=0.03)


def test_a_block_stands_under_the_last_short_heading() -> None:
    long = "word " * 25
    structure = encode(segment(f"<p>a<h2>one</h2><p>b<h2>{long}</h2><h3>two</h3><p>c".encode())).structure
    assert structure is not None
    assert structure.heading.tolist() == [0, 2, 2, 2, 5, 5]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "page", ["<div><p>a" * 500 + "<p>b" * 100_000, "<div class=a><p>x<p>y</div>" * 50_000]
)
def test_a_large_page_takes_linear_time(page: str) -> None:
    structure = encode(segment(page.encode())).structure
    assert structure is not None
    assert len(structure.features) >= 100_000
