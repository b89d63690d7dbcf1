import numpy as np
import pytest

from dehusk.inference.document.text import plain_text
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import SegmentedPage


def text_of(html: str, left_out: str = "") -> str:
    """The text of a page, without the blocks whose text is one of these words."""
    page = segment(html.encode())
    return plain_text(page, np.array([text not in left_out.split() for text in page.texts], np.bool_))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>Title</h1><p>one</p><p>two</p>", "Title\n\none\n\ntwo"),
        ("one<br>two<br><br>three", "one\ntwo\n\nthree"),
        ("<div>one</div><div>two</div>", "one\ntwo"),
        ("<p>code:</p><pre>if x:\n    y</pre><p>end</p>", "code:\n\nif x:\n    y\n\nend"),
        ("", ""),
    ],
)
def test_text_keeps_the_lines_of_the_page(html: str, text: str) -> None:
    assert text_of(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a</p><ul><li>b</li><li>c</li></ul><p>d</p>", "a\n\n- b\n- c\n\nd"),
        ("<ol start=9><li>a<li>b</ol>", "9. a\n10. b"),
        ("<ol reversed><li>a<li value=7>b<li>c</ol>", "3. a\n7. b\n6. c"),
        ("<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>", "- a\n  - b\n  - c\n- d"),
        ("<ol><li>a<ul><li>b</ul><li>c<ol><li>d<ul><li>e", "1. a\n   - b\n2. c\n   1. d\n      - e"),
        ("<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ul><li><p>a</p><ul><li>b</ul><p>c</p></ul>", "- a\n  - b\n\n  c"),
        ("<ul><li><p>a</p></li><li><p>b</p><p>c</p></li></ul>", "- a\n\n- b\n\n  c"),
        ("<ol><li>a:<pre>if x:\n\n    y</pre></li><li>b", "1. a:\n\n   if x:\n\n       y\n\n2. b"),
        ("<ul><li><pre>a\n  b</pre></ul>", "- a\n    b"),
        ("<ul><li>a<br>b<blockquote>c</blockquote></ul>d", "- a\n  b\n\n  c\n\nd"),
        ("<ul><li><table><tr><td>a<td>b<tr><td>c<td>d</table></ul>", "- a\tb\n  c\td"),
        ("<ul><li>a<table><tr><th><th>b<th>c</table></ul>", "- a\n\n  \tb\tc"),
        ("<ul><li><ul><li>a<li>b</ul>c<li>d</ul>", "- a\n- b\nc\n- d"),
        ("<ul><li><a href=x><img></a></li></ul><p>a</p>", "a"),
        ("<ul><li></li><li><div></div>a</li><li>&shy;</li></ul>b", "- a\n\nb"),
        ("<ol><li> <li>a</ol>", "2. a"),
    ],
)
def test_items_are_marked_and_what_stands_in_them_is_indented(html: str, text: str) -> None:
    assert text_of(html) == text


@pytest.mark.parametrize(
    ("html", "left_out", "text"),
    [
        ("<ol><li>a<li>b<li>c</ol>", "b", "1. a\n3. c"),
        ("<ul><li>menu</ul><p>a</p><ul><li>b</ul>", "menu", "a\n\n- b"),
        ("<ol><li><div>ad</div><p>a</p><p>b</p></ol>", "ad", "1. a\n\n   b"),
        ("<ul><li>menu<ol><li>a<li>b</ol><li>c</ul>", "menu", "1. a\n2. b\n- c"),
        ("<ul><li>a<ul><li>ad<li>b</ul></ul>", "ad", "- a\n  - b"),
        ("<ul><li>a<p>ad</p><ul><li>b</ul></ul>", "ad", "- a\n  - b"),
    ],
)
def test_items_keep_their_marks_where_others_are_left_out(html: str, left_out: str, text: str) -> None:
    assert text_of(html, left_out) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td>d</td></tr></table>", "a\tb\nc\td"),
        ("<table><tr><td><p>a</p></td><td><p>b</p></td></tr></table><p>c", "a\tb\n\nc"),
        ("<table><tr><th><th>a<th>b<tr><th>c<td><td>d</table>", "\ta\tb\nc\t\td"),
        ("<table><tr><th colspan=2>a<th>b<tr><td>c<td>d<td>e</table>", "a\t\tb\nc\td\te"),
        ("<p>x<table><caption>a</caption><thead><tr><th>b<th>c<tbody><tr><td>d<td>e", "x\n\na\nb\tc\nd\te"),
        ("<table><tr><td>a<td>b<br>c<td>d<tr><td>e<td>f</table>", "a\tb c\td\ne\tf"),
        ("<table><tr><td><p>a</p><p>b</p><td><p>c</p></table>", "a b\tc"),
        ("<table><tr><td><td><div>a</div><div>b</div><td><td>c<p>d</table>", "\ta b\t\tc d"),
        ("<ul><li>a<table><tr><td>b<br>c<td>d</table></ul>", "- a\n\n  b c\td"),
        ("<table><tr><td>menu<td><p>a</p><table><tr><td>b<td>c</table><p>d", "menu\n\na\n\nb\tc\n\nd"),
        ("<table><tr><td>a<td><ul><li>b<li>c</ul><td>d</table>", "a\n\n- b\n- c\n\nd"),
        ("<table><tr><td><h3>a</h3>b<td><p>c</p></table>", "a\n\nb\n\nc"),
        (
            f"<table><tr><td>a<td><p>{'b' * 150}</p><p>{'c' * 51}</p></table>",
            f"a\n\n{'b' * 150}\n\n{'c' * 51}",
        ),
        ("<table><tr><td><td><p>a</p>b</table>", "a\n\nb"),
        ("<table><tr><td rowspan=2>a<td>b<tr><td>c<tr><td>d<td>e</table>", "a\tb\n\tc\nd\te"),
        ("<table><tr><td>a<td rowspan=2>b<td>c<tr><td>d<td>e</table>", "a\tb\tc\nd\t\te"),
        ("<table><tr><td><p>a</p><td><ul><li>b</ul></table>", "a\t- b"),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>e", "a\nb\nc\nd\n\ne"),
        ("<dl><dt>a<dt>b<dd><p>c</p><p>d</p><dd>e<dl><dt>f<dd>g</dl></dl>", "a\nb\n\nc\n\nd\n\ne\n\nf\ng"),
    ],
)
def test_cells_keep_their_columns(html: str, text: str) -> None:
    assert text_of(html) == text


@pytest.mark.parametrize(
    ("left_out", "text"),
    [("a", "b\tc\nd\te\tf"), ("b e", "a\t\tc\nd\t\tf"), ("b c", "a\nd\te\tf"), ("c d e", "a\tb\nf")],
)
def test_cells_keep_their_columns_where_others_are_left_out(left_out: str, text: str) -> None:
    assert text_of("<table><tr><td>a<td>b<td>c<tr><td>d<td>e<td>f</table>", left_out) == text


@pytest.mark.parametrize(
    ("left_out", "text"),
    [
        ("a", "\tb\tc d\te"),
        ("b", "\ta\tc d\te"),
        ("a b", "\tc d\te"),
        ("a b c", "\td\te"),
        ("c", "\ta b\td\te"),
        ("c d", "\ta b\t\te"),
        ("a b e", "\tc\n\nd"),
        ("c d e", "\ta\nb"),
    ],
)
def test_a_cell_of_several_blocks_keeps_its_column_where_some_are_left_out(left_out: str, text: str) -> None:
    assert text_of("<table><tr><td><td>a<br>b<td><p>c</p><p>d</p><td>e</table>", left_out) == text


def test_a_cell_that_is_written_alone_keeps_its_lines() -> None:
    assert text_of("<ul><li>a<table><tr><td>menu<td>b<br>c</table></ul>", "menu") == "- a\n\n  b\n  c"


def test_deep_lists_are_no_wider_than_they_are_worth() -> None:
    assert len(text_of("<ul><li>a" * 3_000)) < 50 * 3_000


def test_blocks_of_which_no_layout_is_known_are_lines() -> None:
    page = SegmentedPage("", None, ("a", "b"), ("p", "p"), (0, 0), (0, 0), (False, False))
    assert plain_text(page, np.ones(2, np.bool_)) == "a\nb"


def test_content_of_other_blocks_is_an_error() -> None:
    page = SegmentedPage("", None, ("a", "b"), ("p", "p"), (0, 0), (0, 0), (False, False))
    with pytest.raises(ValueError, match="mismatch"):
        plain_text(page, np.ones(3, np.bool_))
