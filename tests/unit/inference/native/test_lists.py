import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import BULLET, Boundary


def test_a_list_in_an_item_stands_on_lines_of_its_own() -> None:
    assert segment(b"<ul><li>one<ul><li>two</ul>three</ul>").boundaries[1:] == (Boundary.LINE, Boundary.LINE)


def items(html: str) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int | None, ...]]:
    """The item of each block; the item around each, and its number."""
    page = segment(html.encode())
    assert page.lists_and_tables is not None
    assert page.items is not None
    of_blocks, (parents, numbers) = page.lists_and_tables[0].tolist(), page.items.tolist()
    return tuple(of_blocks), tuple(parents), tuple(None if number == BULLET else number for number in numbers)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>no list", ((0,), (), ())),
        ("<ul><li><p>a<p>b<li>c</ul>d", ((1, 1, 2, 0), (0, 0), (None, None))),
        ("<ul><li>a<ol><li>b</ol>c</ul>", ((1, 2, 1), (0, 1), (None, 1))),
        ("<ul><li><b> </b><li><ul><li>a</ul><li><img></ul>", ((2,), (0, 1), (None, None))),
        ("<ol><li>a<ol><li>b</ol></ol>", ((1, 2), (0, 1), (1, 1))),
        ("<ol><li>a</li><ol><li>b</li></ol><li>c</ol>", ((1, 2, 3), (0, 1, 0), (1, 1, 2))),
        ("<ol><ol><li>a</ol></ol>", ((1,), (0,), (1,))),
        ("<li>a", ((1,), (0,), (None,))),
        ("<menu><li>a</menu>", ((1,), (0,), (None,))),
        ("<pre><ul><menu>a", ((0,), (), ())),
        ("<pre><ol><dir><li>a</dir></ol></pre>", ((0,), (), ())),
        ("<ol><li>a<pre><ul><menu><li>b", ((1, 1), (0,), (1,))),
        ("<ol><div><li>a</div><li>b</ol>", ((1, 2), (0, 0), (1, 2))),
    ],
)
def test_a_block_knows_its_item(
    html: str, expected: tuple[tuple[int, ...], tuple[int, ...], tuple[int | None, ...]]
) -> None:
    assert items(html) == expected


@pytest.mark.parametrize(
    ("attributes", "numbers"),
    [
        (("", "", ""), (1, 2, 3)),
        (("start=5", "", ""), (5, 6, 7)),
        (("start=' -1st'", "", ""), (-1, 0, 1)),
        (("start=x", "", ""), (1, 2, 3)),
        (("", "value=7", ""), (1, 7, 8)),
        (("reversed", "", ""), (3, 2, 1)),
        (("reversed start=10", "", "value=2"), (10, 9, 2)),
        (("start=99999999999999999999", "", ""), (999999999, 1000000000, 1000000001)),
    ],
)
def test_items_are_numbered_as_their_list_says(
    attributes: tuple[str, str, str], numbers: tuple[int, ...]
) -> None:
    on_list, on_second, on_third = attributes
    html = f"<ol {on_list}><li>a</li> <li {on_second}>b</li> <li {on_third}>c</li></ol>"
    assert items(html)[2] == numbers
