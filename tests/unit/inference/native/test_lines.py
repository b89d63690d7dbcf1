import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.segmentation.segmentation import segment


@given(st.text(st.sampled_from("aZ~ \t\n\x7f\u00ad\u00e9"), min_size=8, max_size=60))
def test_white_space_is_folded_and_what_is_invisible_left_out(text: str) -> None:
    folded = " ".join(text.replace("\x7f", "").replace("\u00ad", "").split())
    assert list(segment(f"<p>{text}".encode()).texts) == ([folded] if folded else [])


def test_preformatted_text_keeps_its_lines() -> None:
    html = "<pre>\n\ndef f(x):\n    <b>return</b> <span>x</span><span>y</span>  \n\tpass<br>end\n</pre>"
    assert list(segment(html.encode()).texts) == ["def f(x):\n    return xy\n\tpass\nend"]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<div>a {<br></div><div>  b<br></div><div><br></div><div>}</div>", ["a {\n  b\n\n}"]),
        ("<code><div><div></div><div>a</div></div><div><div></div><div>\tb</div></div></code>", ["a\n\tb"]),
        ("<code><span>a</span><div>b\n</div>  c", ["a\nb\n  c"]),
        ("<table><tr><td>1<td>a<tr><td><td>  b</table>", ["1\ta\n  b"]),
        ("<ol><li>a<li>  b</ol>", ["a\n  b"]),
        ("a<div><button>Copy</button></div>", ["a", "Copy"]),
        ("a<p>b<h2>c</h2>", ["a", "b", "c"]),
        ("\n    a\n\n      b\n", ["a\n\n  b"]),
        ("<span class=linenos> 1 </span>a\n<span class='hl ln'>2</span>  b", ["a\n  b"]),
        ("<span class=lineno>x1</span>=<span class=number>2</span>", ["x1=2"]),
        ("&ZeroWidthSpace;&nbsp;a&nbsp;", ["a"]),
        ("a {\n&nbsp;&nbsp;b&nbsp;c", ["a {\n  b c"]),
        ("<code>a</code><code>  b</code>\n<code>c</code> <code>d</code>e", ["a\n  b\nc de"]),
        ("<code><code>a</code><code>b</code></code>", ["ab"]),
        (
            "<span class=line>a</span><span class='line hl'>  b</span>\n<span class=line>c</span>d",
            ["a\n  b\ncd"],
        ),
        ("<span class=x-code-line>a</span><span class=code-line></span><span class=code-line>b", ["a\nb"]),
        (
            "<u class=line>a</u><i class=line>b</i><i class=underline>c</i><i class=inline>d</i>e",
            ["abcde"],
        ),
        ("<ol>\n<li>a\n<li>  b</li>\n<li>\n</li>\n<li>c</ol>", ["a\n  b\n\nc"]),
        ("<table>\n <tr>\n  <td>a</td>\n  <td>b</td>\n </tr>\n <tr><td>c</table>", ["a\tb\nc"]),
        ("<span style=display:block>a</span><a style='display: block'>  b</a>c", ["a\n  b\nc"]),
    ],
)
def test_preformatted_text_goes_on_where_its_lines_are_elements(html: str, expected: list[str]) -> None:
    page = segment(f"<pre>{html}</pre>end".encode())
    assert page.texts == (*expected, "end")
    assert page.items is not None
    assert page.items.size == 0


@pytest.mark.parametrize(
    "gutter",
    [
        "<td class=linenos><div class=linenodiv><pre><span>1</span>\n<span>2</span></pre></div>",
        "<td class='rouge-gutter gutter gl'><pre class=lineno>1\n2</pre>",
        "<td class=lntd><pre><code><span class=lnt>1\n</span><span class=lnt>2\n</span></code></pre>",
    ],
)
def test_numbers_of_lines_are_no_text(gutter: str) -> None:
    page = segment(f"<table><tr>{gutter}</td><td class=lntd><pre>a\n  b</pre></table>".encode())
    assert page.texts == ("a\n  b",)
    cells = segment(b"<table><tr><td class=gutter>12 a<td class=number>3</table>")
    assert list(cells.texts) == ["12 a", "3"]
