"""Both trees of Boilerpipe, on examples that are worked out by hand."""

import numpy as np
import pytest

from dehusk.inference.encoding.boilerpipe import (
    BlockStatistics,
    block_numbers,
    boilerpipe_shares,
    classify,
    describe,
)
from dehusk.inference.segmentation.segmentation import segment
from tests.unit.inference.documents import tree_of


def blocks_of(html: str) -> list[str]:
    tree = tree_of(html)
    numbers = block_numbers(tree)
    texts: list[str] = [""] * (numbers.max(initial=-1) + 1)
    for text, number in zip(tree.texts, numbers.tolist(), strict=True):
        if number >= 0:
            texts[number] += text
    return [" ".join(text.split()) for text in texts]


def statistics_of(html: str) -> BlockStatistics:
    tree = tree_of(html)
    return describe(tree, block_numbers(tree))


def shares_of(html: str) -> list[list[float]]:
    page = segment(html.encode(), with_tree=True)
    assert page.tree is not None
    return boilerpipe_shares(page.tree, len(page)).tolist()


@pytest.mark.parametrize(
    ("html", "blocks"),
    [
        (
            '<h2>Hello World!</h2><p>This is a <a href="x">test</a>. <br>',
            ["Hello World!", "This is a test."],
        ),
        ("<p>one <b>two</b> three</p>", ["one", "two", "three"]),
        ("<p>one<br>two<img>three", ["one", "two", "three"]),
        ("<p>one <a>two <b>three</b> four</a> five", ["one two", "three", "four five"]),
        ("<a>one</a> <a>two</a>", ["one two"]),
        ("<a><div>one</div></a>two", ["one", "two"]),
        ("<p>o<!-- no tag -->ne<p> \n <p>two", ["one", "two"]),
        ("<p>one<script>two</script>three<style>four</style>", ["one", "three"]),
        ("<title>one</title><select><option>two</select><object>three</object>four", ["four"]),
        ("one<noscript>two</noscript><iframe>three</iframe>", ["one"]),
        ("<body><noscript>" + "two " * 101 + "</noscript>", [("two " * 101).strip()]),
        ("", []),
    ],
)
def test_a_block_is_the_text_between_two_tags_other_than_of_links(html: str, blocks: list[str]) -> None:
    assert blocks_of(html) == blocks


@pytest.mark.parametrize(
    ("html", "words", "link_density"),
    [
        ('This is a <a href="x">test</a>. ', 4, 0.25),
        ("<a>one two</a>", 2, 1),
        ("one | two — 3 ...", 3, 0),
        ("| — ", 0, 0),
        ("<a>|</a> one", 1, 0),
        ("un<a>do</a> it", 2, 0.5),
        ("<a>one</a><a>two</a> three four", 3, 1 / 3),
    ],
)
def test_words_have_a_letter_or_digit_and_may_be_linked(html: str, words: int, link_density: float) -> None:
    statistics = statistics_of(html)
    assert statistics.words.tolist() == [words]
    assert statistics.link_density.tolist() == [pytest.approx(link_density)]


@pytest.mark.parametrize(
    ("tokens", "density"),
    [
        (["a"], 1),
        (["a"] * 40, 40),
        (["a"] * 41, 40),
        (["a"] * 80, 40),
        (["a"] * 81, 40),
        (["word"] * 20, 16),
        (["word"] * 16 + ["x" * 40], 16),
        (["x" * 40, "x" * 39], 2),
        (["x" * 40, "x" * 40, "y"], 1),
        (["x" * 200], 1),
        (["one", "x" * 200, "two", "three"], 1),
        (["one", "|", "two"], 3),
    ],
)
def test_text_density_is_of_lines_of_80_characters_but_the_last(tokens: list[str], density: float) -> None:
    assert statistics_of(f"<p>{' '.join(tokens)}").text_density.tolist() == [density]
    split = "</a><a>".join(" ".join(tokens))
    assert statistics_of(f"<p><a>{split}").text_density.tolist() == [density]


def statistics(*blocks: tuple[float, float, float]) -> BlockStatistics:
    """Of blocks with so many words, such a link density and such a text density."""
    return BlockStatistics(*np.array(blocks, np.float64).reshape(-1, 3).T)


@pytest.mark.parametrize(
    ("before", "block", "after", "content"),
    [
        ((0, 0), (17, 0), 0, True),
        ((0, 0), (16, 0), 15, False),
        ((0, 0), (16, 0), 16, True),
        ((4, 0), (1, 0), 15, False),
        ((5, 0), (1, 0), 15, True),
        ((0, 0.6), (40, 0), 17, False),
        ((0, 0.6), (40, 0), 18, True),
        ((0, 0.6), (41, 0), 17, True),
        ((9, 5 / 9), (17, 0), 0, True),
        ((50, 0), (50, 0.34), 50, False),
        ((50, 0), (50, 0.333), 50, True),
    ],
)
def test_the_tree_of_the_number_of_words(
    before: tuple[float, float], block: tuple[float, float], after: float, *, content: bool
) -> None:
    by_words, _ = classify(statistics((*before, 0), (*block, 0), (after, 0, 0)))
    assert by_words[1] == content


@pytest.mark.parametrize(
    ("before", "block", "after", "content"),
    [
        ((4, 0), (9, 0), 10, False),
        ((4.5, 0), (9, 0), 10, True),
        ((4, 0), (9, 0), 10.5, True),
        ((4, 0), (9.5, 0), 0, False),
        ((4, 0), (9.5, 0), 0.5, True),
        ((9, 0.6), (50, 0), 11, False),
        ((9, 0.6), (1, 0), 11.5, True),
        ((50, 0), (50, 0.34), 50, False),
    ],
)
def test_the_tree_of_text_density(
    before: tuple[float, float], block: tuple[float, float], after: float, *, content: bool
) -> None:
    rows = [(0, links, density) for density, links in (before, block, (after, 0))]
    _, by_density = classify(statistics(*rows))
    assert by_density[1] == content


def test_a_neighbour_that_is_not_there_has_no_words() -> None:
    assert [each.tolist() for each in classify(statistics((17, 0, 10)))] == [[True], [False]]
    assert [each.tolist() for each in classify(statistics())] == [[], []]


PAGE = (
    "<ul><li><a href=/>Home</a><li><a href=/n>News</a></ul><h1>A title</h1>"
    f"<p>{'word ' * 20}</p><p>{'text ' * 20}</p><p>Read <b>more</b></p><footer>© 2010</footer>"
)
"""Words 1, 1, 2, 20, 20, 1, 1, 1 and text densities 1, 1, 2, 16, 16, 1, 1, 2; the first two are linked."""


def test_a_page_is_labeled_by_both_trees() -> None:
    measured = statistics_of(PAGE)
    assert measured.words.tolist() == [1, 1, 2, 20, 20, 1, 1, 1]
    assert measured.text_density.tolist() == [1, 1, 2, 16, 16, 1, 1, 2]
    assert measured.link_density.tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    expected = [False, False, True, True, True, True, False, False]
    assert [each.tolist() for each in classify(measured)] == [expected, expected]


def test_a_block_of_ours_has_the_share_of_theirs() -> None:
    assert shares_of(PAGE) == [[0, 0, 1, 1, 1, 0.5, 0]] * 2


def test_the_trees_differ_where_a_short_text_stands_last() -> None:
    assert shares_of(f"<p>{'word ' * 20}") == [[1], [0]]


@pytest.mark.parametrize("html", ["", " ", "<p>", "<div>" * 10_000 + "x", "<a>" * 10_000 + "x", "\0"])
def test_any_document_is_labeled(html: str) -> None:
    page = segment(html.encode(), with_tree=True)
    assert page.tree is not None
    assert boilerpipe_shares(page.tree, len(page)).shape == (2, len(page))
