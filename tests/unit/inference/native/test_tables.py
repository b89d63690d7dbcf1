import pytest

from dehusk.inference.segmentation.segmentation import segment


def cells(html: str) -> tuple[int, ...]:
    """The column of the cell of each block."""
    lists_and_tables = segment(html.encode()).lists_and_tables
    assert lists_and_tables is not None
    return tuple(lists_and_tables[1].tolist())


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<table><tr><td>a<td>b<tr><td><td>c<td>d</table>e", (1, 2, 2, 3, 0)),
        ("<table><caption>a</caption><tr><th colspan=2>b<th>c<td colspan=x>d<td>e</table>", (0, 1, 3, 4, 5)),
        ("<math><tr><td>a", (0,)),
    ],
)
def test_a_block_knows_its_cell(html: str, expected: tuple[int, ...]) -> None:
    assert cells(html) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<p>b</p><p>c</p>", (1, 2, 2)),
        ("b<br>c <span hidden>d</span>", (1, 2, 2, 2)),
        ("<h3>b</h3>", (1, 2)),
        ("<h3>b</h3>c", (0, 0, 0)),
        ("<ul><li>b</ul>", (1, 2)),
        ("b<ul><li>c</ul>", (0, 0, 0)),
        ("<pre>b\nc</pre>", (0, 0)),
        ("b<table></table>", (0, 0)),
        ("<table><tr><td><td>b</table><td>c", (0, 2, 0)),
        ("x" * 1_000, (1, 2)),
        ("x" * 199 + "<br>y", (1, 2, 2)),
        ("x" * 200 + "<br>y", (0, 0, 0)),
    ],
)
def test_cells_that_lay_out_a_page_are_no_columns(cell: str, expected: tuple[int, ...]) -> None:
    assert cells(f"<table><tr><td>a<td>{cell}</table>") == expected


def test_rows_with_one_cell_of_several_blocks_are_no_lines() -> None:
    assert cells("<table><tr><td><td>a<p>b<tr><td><td>c<tr><td>d<td>e") == (0, 0, 2, 1, 2)


def test_a_table_in_an_item_has_no_list_in_its_cells() -> None:
    assert cells("<ul><li><table><tr><td>a<p>b<td>c</table></ul>") == (1, 1, 2)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("<tr><td rowspan=2>a<td>b<tr><td>c<tr><td>d", (1, 2, 2, 1)),
        ("<tr><td>a<td rowspan=3>b<td>c<tr><td>d<td>e<tr><td>f<td>g", (1, 2, 3, 1, 3, 1, 3)),
        ("<tr><td rowspan=2 colspan=2>a<td>b<tr><td>c", (1, 3, 3)),
        ("<tr><td rowspan=2>a<td>b<tr><td rowspan=2>c<tr><td>d<td>e", (1, 2, 2, 1, 3)),
        ("<tr><td rowspan=2>a<td>b<tr><tr><td>c", (1, 2, 1)),
        ("<tr><td rowspan=0>a<td>b<tr><td>c<tr><td>d", (1, 2, 2, 2)),
        (
            "<thead><tr><td rowspan=0>a<td>b<tbody><tr><td>c<td>d<tr><td rowspan=9>e<tbody><tr><td>f",
            (1, 2, 1, 2, 1, 1),
        ),
        ("<tr><td rowspan=-2>a<td>b<tr><td>c<tr><td rowspan=x>d<tr><td>e", (1, 2, 1, 1, 1)),
        ("<tr><td rowspan=2><td>a<td><table><tr><td rowspan=2>b</table><tr><td>c", (0, 1, 2)),
        (f"<tr>{'<td>' * 99}<td rowspan=2>a<td rowspan=2>b<tr>{'<td>' * 99}<td>c", (100, 101, 101)),
    ],
)
def test_cells_stand_beside_those_that_reach_down_to_them(rows: str, expected: tuple[int, ...]) -> None:
    assert cells(f"<table>{rows}</table>") == expected


def test_hostile_spans_are_bounded() -> None:
    rows = "<tr><td colspan=9999999999 rowspan=9999999999>a<td rowspan=999999999>b" * 2
    assert cells(f"<table>{rows}</table>") == (1, 101, 101, 201)
