import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inference.elements import MAX_PATH
from inference.segmentation import segment
from schemas.errors import PageError
from schemas.outcomes import BrokenReason
from schemas.pages import BULLET, Boundary, SegmentedPage

WORDS = " ".join(f"word{number}" for number in range(120))


def texts(html: str) -> list[str]:
    return list(segment(html.encode()).texts)


def blocks(html: str) -> list[tuple[str, str]]:
    page = segment(html.encode())
    return list(zip(page.paths, page.texts, strict=True))


def test_blocks_stand_in_dom_order_with_their_paths() -> None:
    assert blocks("<h1>Title</h1><div>one<p>two</p>three</div>") == [
        ("html/body/h1", "Title"),
        ("html/body/div", "one"),
        ("html/body/div/p", "two"),
        ("html/body/div", "three"),
    ]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a <b>bold</b> word</p>", ["a bold word"]),
        ("<p>w<b>or</b>d</p>", ["word"]),
        ("<p><b>two</b> <i>words</i></p>", ["two words"]),
        ("<p><b>one</b>\n\t<i>line</i></p>", ["one line"]),
        ("<p><span>two</span><span>words</span></p>", ["two words"]),
        ("<p><a>link</a>.</p>", ["link."]),
        ("<p><span>os.</span><span>path</span><span>(</span>x<span>)</span></p>", ["os.path(x)"]),
        ("<p><span>One.</span><span>Two.</span></p>", ["One. Two."]),
        ("<p>H<sub>2</sub>O</p>", ["H2O"]),
        ("<p>10<sup>th</sup> x<sup>2</sup> <em>un</em>believable", ["10th x2 unbelievable"]),
        (
            "<p>10<sup>15</sup> 10<sup>-3</sup> IP68<sup>2</sup> 2<sub>10</sub> 1<sup><span>2</span></sup>-3",
            ["10^15 10^-3 IP68^2 2_10 1^2-3"],
        ),
        (
            "<p>10<sup>3</sup>5 v1<sub>1</sub><sup>2</sup> 2010<sup></sup>, 7<sup>th",
            ["10^3 5 v1_1^2 2010, 7th"],
        ),
        ("<p>2010<sup><a>1</a></sup> 2011<a><sup>2</sup></a> 2012<sup><a>[3]</a>", ["2010 1 2011 2 2012[3]"]),
        ("<p>5<sup></sup><p>7<pre>2<sup>3</sup></pre>", ["5", "7", "23"]),
        (
            "<p>1<span>st</span> 2<a>nd floor</a> 3<span>rda</span> 4<span>stars",
            ["1st 2nd floor 3 rda 4 stars"],
        ),
        ("<p>say <q>yes, <q>you</q> <i>can</i></q>. <q></q><q><b> </b></q>", ["say “yes, “you” can”."]),
        ("<q><p>one</p></q>two <q>three", ["“one", "two “three”"]),
        ("<p>a<span style='color:red;display:block'>b</span>c <a style=display:block>d</a>e", [*"abcde"]),
        ("<p>a <b style='display:inline-block'>b</b> <i style='x-display:block'>c</i>", ["a b c"]),
        ("<p><code>a</code><code>b", ["ab"]),
        ("<p><span class=dropcap>O</span>nce <span>I</span><span>f so", ["Once If so"]),
        ("<p>child<a>ren</a>", ["children"]),
        ("<p>a <a>cat</a>s, the <span>thi</span>ng, <a>RSVP</a>s", ["a cats, the thing, RSVPs"]),
        ("<p>S<span>pecific</span>, m<span>easurable", ["Specific, measurable"]),
        ("<p>trend<span>s</span>, Powel<span>l</span>", ["trends, Powell"]),
        ("<p><i><span>S</span><span>t</span><span>a</span><span>r</span><span>t", ["Start"]),
        ("<p>Price<span>10</span> <span>5</span>stars <span>New</span>York", ["Price 10 5 stars New York"]),
        ("<p><a>funny</a><a>dupe</a> <a>AI</a><a>jobs</a>", ["funny dupe AI jobs"]),
        ("<p>Main Menu<span>add</span> Sheet<span>v2</span>", ["Main Menu add Sheet v2"]),
        ("<p><a>Fred's</a><a>news</a> <a>A</a><a>B</a>", ["Fred's news A B"]),
        ("<p>و<a>كتاب</a>ها ال<a>كتاب</a> <a>بيت</a><a>كتاب", ["وكتابها الكتاب بيت كتاب"]),
        ("<p>pic<img src=x>ture</p>", ["pic ture"]),
        ("<p>long<wbr>word</p>", ["longword"]),
        ("<p>人类<a>最古老</a>的<b>食物</b>", ["人类最古老的食物"]),
        ("<p>ใน<a>อาหาร</a>ที่<p>価格<span>100</span>円", ["ในอาหารที่", "価格100円"]),
        ("<p>soft&shy;ened</p>", ["softened"]),
        ("<p>  much \n\n space&nbsp;here </p>", ["much space here"]),
        ("<p>a\u200bb\u2060c\ufeffd\u200ee\u200ff\u202ag\u202eh\u2066i\u2069j", ["abcdefghij"]),
        ("<p>می\u200cشود</p><p>👩\u200d👧</p>", ["می\u200cشود", "👩\u200d👧"]),
        ("<p>\ue001 Home \uf8ff</p><p><i>\ue900</i></p><p>\u200f\u00a0&zwnj;</p><p>&zwj; &zwnj;", ["Home"]),
        ("<p>\u2010\u2029\u202f\u205f\u2063\u206a\ud7ff\uf900", ["\u2010 \u2063\u206a\ud7ff\uf900"]),
        ("<pre>\ufeffa\u00ad\ue000\n\u200b  b\u200cc</pre><pre>&zwnj;\n &zwj;</pre>", ["a\n  b\u200cc"]),
        ("<p>zero&ZeroWidthSpace;</p><p>&ZeroWidthSpace;</p><p>&shy;</p>", ["zero"]),
        ("<h2>Title<a class=headerlink href='#title' title='Link to this heading'>¶</a></h2>", ["Title"]),
        ("<h2><a class=anchor href='#title'>§</a>Title</h2>", ["Title"]),
        (
            "<h3>Step one <a href='#one' aria-hidden=true>#</a></h3><h3>Two<a href='#'>\uf0c1</a>",
            ["Step one", "Two"],
        ),
        ("<dl><dt><code>f()</code><a href='#f'>¶</a><dd>text", ["f()", "text"]),
        (
            "<p><a href=/c>C#</a> <a href=/1># 1</a> <a href=/>#<i>tag</i></a> ¶ <a href=/>x</a>",
            ["C# # 1 #tag ¶ x"],
        ),
        ("line<br>break", ["line", "break"]),
        ("<p>rule<hr>below", ["rule", "below"]),
        ("<ul><li>a<li>b</ul>", ["a", "b"]),
        ("<table><tr><td>a<td>b<tr><th>c</table>", ["a", "b", "c"]),
        ("<x-card>own element</x-card><p>text", ["own element", "text"]),
        (
            "<p>see <x-term>own <b>element</b></x-term>s <g-emoji>👍</g-emoji>, too",
            ["see own elements 👍, too"],
        ),
        ("<p><x-a>one</x-a>, <span><b><x-b>two</x-b> <x-b>three</x-b></b></span>", ["one, two three"]),
        ("<h2><x-a><x-b>one</x-b> <x-b>two</x-b></x-a></h2>", ["one two"]),
        ("text <x-a><svg><path/></svg><br>one</x-a>", ["text", "one"]),
        ("text <x-a><x-b>one</x-b><p>two</x-a>", ["text", "one", "two"]),
        ("<x-app> <x-nav>one</x-nav> <span><x-main>two</x-main></span></x-app>", ["one", "two"]),
        (f"text <x-a>{100 * '<b></b>'}one</x-a>", ["text", "one"]),
        ("<pre>a <x-a>b</x-a> c\n<x-a><div>d</div></x-a></pre>", ["a b c", "d"]),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", ["漢(kan)"]),
        ("<p><ruby>漢字<rt>かんじ</rt>体<rt></rt></ruby>は", ["漢字(かんじ)体は"]),
        ("<select><option>a<option>b</select>", ["a", "b"]),
        ("<button>one</button><button>two</button>", ["one", "two"]),
        ("just text", ["just text"]),
        ("", []),
        ("<html></html>", []),
        ("<frameset><frame src=x></frameset>", []),
    ],
)
def test_a_block_is_what_a_reader_sees_as_one(html: str, expected: list[str]) -> None:
    assert texts(html) == expected


@pytest.mark.parametrize(
    "html",
    [
        "<script>var a = '<p>no</p>'</script>",
        "<style>p { color: red }</style>",
        "<template><p>no</p></template>",
        "<svg><text>no</text><title>no</title></svg>",
        "<head><title>no</title></head>",
        "<iframe>no</iframe><object>no</object><video>no</video><canvas>no</canvas><datalist>no</datalist>",
        "<math><annotation>no</annotation></math>",
        "<!-- no -->",
        "<noscript>no</noscript>",
    ],
)
def test_what_is_not_shown_is_no_text(html: str) -> None:
    assert texts(f"{html}<p>yes</p>") == ["yes"]


def hidden(html: str) -> list[tuple[str, bool]]:
    page = segment(html.encode())
    return list(zip(page.texts, page.hidden, strict=True))


@pytest.mark.parametrize(
    "html",
    [
        "<p hidden>no</p>",
        "<p hidden=''><b>no</b></p>",
        "<p HIDDEN=hidden>no</p>",
        "<div style='color:red; DISPLAY : none'><p>no</p></div>",
        "<div style='display:none!important'>no</div>",
        "<div style='visibility:hidden'>no</div>",
        "<section hidden><div><div style='display:block'>no</div></div></section>",
        "<dialog>no</dialog>",
        "<noscript hidden>no</noscript><p hidden>no</p>",
    ],
)
def test_what_is_not_shown_at_first_is_marked(html: str) -> None:
    assert hidden(f"{html}<p>yes</p>") == [("no", True), ("yes", False)]


@pytest.mark.parametrize(
    "html",
    [
        "<p hidden=until-found>yes</p>",
        "<p hidden=until-found style='display:none'>yes</p>",
        "<p aria-hidden=true>yes</p>",
        "<p style='display:block'>yes</p>",
        "<p style='overflow:hidden'>yes</p>",
        "<p style='border:none'>yes</p>",
        "<p style='-x-display:none'>yes</p>",
        "<p style='display'>yes</p>",
        "<p style='display:'>yes</p>",
        "<p style>yes</p>",
        "<dialog open>yes</dialog>",
        "<body style='visibility:hidden'>yes",
        "<html hidden>yes",
        "<details><summary>yes</summary></details>",
    ],
)
def test_what_may_be_seen_is_not_marked(html: str) -> None:
    assert hidden(html) == [("yes", False)]


MATHML = """<math><semantics> <mrow><mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></mrow>
<annotation-xml encoding="MathML-Content"><apply></apply></annotation-xml>
<annotation encoding="application/x-tex">{\\displaystyle x=\\frac 1 2}</annotation></semantics></math>"""
TEX = "{\\displaystyle x=\\frac 1 2}"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (MATHML, TEX),
        (MATHML.replace("annotation>", "annotation><annotation encoding=StarMath>x</annotation>"), TEX),
        (MATHML.replace("application/x-tex", "StarMath 5.0"), "x=1 2"),
        ("<math><mrow><msup><mi>a</mi><mi>b</mi></msup></mrow><mtext>or <b>c</b></mtext></math>", "ab or c"),
        (f"<math>{110 * '<mrow>'}x{110 * '</mrow>'}</math>", "x"),
        ("<math><semantics><mi>x</mi><annotation encoding=application/x-tex></annotation></math>", "x"),
        ("<math><semantics><mi>x</mi><annotation encoding=application/x-tex> </annotation></math>", "x"),
        (f"<span><span style='display: none;'>{MATHML}</span><img alt='x'></span>", TEX),
        (
            f"<span><span class=katex-mathml>{MATHML}</span><span class=katex-html aria-hidden=true>"
            f"<span>x</span><span>=1/2</span></span></span>",
            TEX,
        ),
        ("<span><span></span><span class=katex-html>x</span></span>", "x"),
    ],
)
def test_a_formula_is_read_once(formula: str, text: str) -> None:
    assert hidden(f"<p>if {formula} then</p><div>{formula}</div>") == [
        (f"if {text} then", False),
        (text, False),
    ]


def test_a_hidden_formula_without_a_picture_is_hidden() -> None:
    assert hidden(f"<span hidden>{MATHML}</span><i></i>") == [(TEX, True)]
    assert hidden(f"<span hidden>{MATHML}<b>too</b></span><img>") == [(f"{TEX}too", True)]


def test_hidden_text_in_a_line_is_a_block_of_its_own() -> None:
    assert hidden("<p>one <span hidden>two <b>three</b></span> four <span hidden></span> five</p>") == [
        ("one", False),
        ("two three", True),
        ("four five", False),
    ]


def test_noscript_counts_where_it_outweighs_the_page() -> None:
    page = f"<p>Turn on scripts</p><noscript><h1>Topic</h1><p>{WORDS}</p></noscript><p>end</p>"
    assert blocks(page) == [
        ("html/body/p", "Turn on scripts"),
        ("html/body/noscript/h1", "Topic"),
        ("html/body/noscript/p", WORDS),
        ("html/body/p", "end"),
    ]


@pytest.mark.parametrize("noscript", ["Please turn on scripts", "<img alt='" + WORDS + "'>", WORDS])
def test_noscript_does_not_count_beside_content(noscript: str) -> None:
    assert texts(f"<p>{WORDS} more</p><noscript>{noscript}</noscript>") == [f"{WORDS} more"]


def test_noscript_counts_where_it_outweighs_what_is_shown() -> None:
    page = f"<p hidden>{WORDS} more</p><noscript>{WORDS}</noscript>"
    assert hidden(page) == [(f"{WORDS} more", True), (WORDS, False)]


@pytest.mark.parametrize(
    ("html", "path"),
    [
        ("<ul><li><a href=x>link</a></ul>", "html/body/ul/li/a"),
        ("<p><a>all <b>of it</b></a></p>", "html/body/p/a"),
        ("<p><b>one</b> <b>two</b></p>", "html/body/p"),
        ("<p>text <a>link</a></p>", "html/body/p"),
        ("<p><a>link</a> <!-- --> </p>", "html/body/p/a"),
        ("<table><td>cell", "html/body/table/tbody/tr/td"),
        ("<my-element>x", "html/body/my-element"),
    ],
)
def test_a_path_leads_to_the_innermost_element_that_holds_the_block(html: str, path: str) -> None:
    assert segment(html.encode()).paths == (path,)


def test_elements_unknown_to_html_keep_their_names_from_page_to_page() -> None:
    for name in ("x-one", "x-two", "x-one", "x-three"):
        assert segment(f"<{name}>text".encode()).paths == (f"html/body/{name}",)


def test_paths_of_deep_elements_name_the_innermost() -> None:
    (path,) = segment(b"<div>" * 300 + b"<p>deep").paths
    assert path == "/".join(["div"] * 63 + ["p"])


@pytest.mark.parametrize(
    ("html", "linked"),
    [
        ("<p>none</p>", 0),
        ("<p><a href=x>all</a></p>", 3),
        ("<p><a href=x style='display:block'>all</a></p>", 3),
        ("<p>see <a href=x> this <b>one</b> </a> here</p>", 7),
        ("<a href=x><p>block</p></a>", 5),
        ("<p><a href=x>a&shy;&shy;&shy;&shy;</a></p>", 1),
        ("<p>none <a href=x>\ue000&shy;a</a></p>", 1),
    ],
)
def test_linked_characters_are_counted(html: str, linked: int) -> None:
    assert segment(html.encode()).linked == (linked,)


def test_preformatted_text_keeps_its_lines() -> None:
    html = "<pre>\n\ndef f(x):\n    <b>return</b> <span>x</span><span>y</span>  \n\tpass<br>end\n</pre>"
    assert texts(html) == ["def f(x):\n    return xy\n\tpass\nend"]


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
    assert texts("<table><tr><td class=gutter>12 a<td class=number>3</table>") == ["12 a", "3"]


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("<br>", Boundary.LINE),
        ("<br><br>", Boundary.LINE | Boundary.PARAGRAPH),
        ("<div>", Boundary.LINE),
        ("<p>", Boundary.PARAGRAPH),
        ("<h2>", Boundary.PARAGRAPH),
        ("<ul><li>", Boundary.PARAGRAPH | Boundary.LINE),
    ],
)
def test_boundaries_say_what_parts_two_blocks(between: str, expected: Boundary) -> None:
    assert segment(f"one{between}two".encode()).boundaries[1] == expected


def test_a_list_in_an_item_stands_on_lines_of_its_own() -> None:
    assert segment(b"<ul><li>one<ul><li>two</ul>three</ul>").boundaries[1:] == (Boundary.LINE, Boundary.LINE)


def items(html: str) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int | None, ...]]:
    """The item of each block; the item around each, and its number."""
    page = segment(html.encode())
    assert page.places is not None
    assert page.items is not None
    of_blocks, (parents, numbers) = page.places[0].tolist(), page.items.tolist()
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


def test_cells_of_a_row_and_rows_are_told_apart() -> None:
    page = segment(b"<table><tr><td>a<td>b<tr><td>c</table>")
    assert page.boundaries[1:] == (Boundary.CELL, Boundary.CELL | Boundary.ROW)


def test_what_parted_a_block_without_text_parts_its_neighbours() -> None:
    page = segment(b"one<p>&shy;</p><div>two</div>")
    assert page.texts == ("one", "two")
    assert page.boundaries[1] == Boundary.PARAGRAPH | Boundary.LINE


@pytest.mark.parametrize(
    ("html", "title", "language"),
    [
        ("<html lang=en-GB><title> A\n title </title>", "A title", "en"),
        ("<title>\ue000 A&shy;\u200e\xa0title &#x202c;</title>", "A title", None),
        ("<html lang=DE_at><title>first</title><title>second</title>", "first", "de"),
        ("<svg><title>icon</title></svg><p>x", "", None),
        ("<html lang=''><head><title></title>", "", None),
        ("<html lang='not a language'>", "", None),
        ("", "", None),
    ],
)
def test_title_and_language_are_those_of_the_document(html: str, title: str, language: str | None) -> None:
    page = segment(html.encode())
    assert (page.title, page.language) == (title, language)


TAGS = """
a b body br button dialog div form frameset html li math noscript option p pre script select span svg table td
template textarea title tr ul x-y
"""
SNIPPETS = st.sampled_from(
    [
        *(f"<{tag}>" for tag in TAGS.split()),
        *(f"</{tag}>" for tag in TAGS.split()),
        *("<p hidden>", "<!--", "-->", "<![CDATA[", "]]>", "<?x?>", "&amp;", "&#0;", "&shy;", "&lt;", "\0"),
    ]
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


def assert_sound(page: SegmentedPage) -> None:
    assert len(page.texts) == len(page.paths) == len(page.linked) == len(page.boundaries) == len(page.hidden)
    assert all(text == text.strip() and text for text in page.texts)
    assert all(0 <= linked <= len(text) for linked, text in zip(page.linked, page.texts, strict=True))
    assert all(1 <= len(path.split("/")) <= MAX_PATH for path in page.paths)
    assert all("\0" not in text for text in page.texts)
    assert_sound_structure(page)


def assert_sound_structure(page: SegmentedPage) -> None:
    structure = page.structure
    assert structure is not None
    rows = np.arange(len(structure.parents))
    assert (structure.parents < rows).all()
    assert (structure.parents[1:] >= 0).all()
    assert len(structure.elements) == len(structure.leaves) == len(page)
    assert set(structure.elements.tolist()) | set(structure.parents.tolist()) >= set(rows.tolist())
    assert (structure.depths[1:] > structure.depths[structure.parents[1:]]).all()
    assert set(structure.token_counts.tolist()) <= set(range(1, 9))
    assert structure.token_counts.sum() == len(structure.tokens)


@given(st.lists(SNIPPETS | TEXT, max_size=40).map("".join))
def test_any_markup_gives_sound_columns(html: str) -> None:
    assert_sound(segment(html.encode()))


@given(st.binary(max_size=200))
def test_any_bytes_give_sound_columns(html: bytes) -> None:
    assert_sound(segment(html.decode(errors="replace").encode()))


INLINE = st.sampled_from(["b", "i", "span", "a", "em", "code"])
BLOCK = st.sampled_from(["p", "div", "section", "li", "h2", "x-block"])
WORD = st.text("abcdefgh", min_size=1, max_size=8)


@given(st.lists(st.tuples(BLOCK, st.lists(st.tuples(INLINE, WORD), min_size=1, max_size=5)), max_size=8))
@settings(max_examples=50)
@example([])
def test_every_visible_word_is_kept_in_order(page: list[tuple[str, list[tuple[str, str]]]]) -> None:
    lines = [
        f"<{tag}>" + " ".join(f"<{inline}>{word}</{inline}>" for inline, word in leaves) + f"</{tag}>"
        for tag, leaves in page
    ]
    assert texts("".join(lines)) == [" ".join(word for _, word in leaves) for _, leaves in page]


HOSTILE = {
    "nested": b"<div>" * 100_000 + b"deep",
    "nested and closed": b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000,
    "nested inline": b"<span>" * 100_000 + b"deep",
    "nested lists": b"<ul><li>" * 50_000 + b"deep",
    "nested tables": b"<table><td>" * 30_000 + b"deep",
    "closed in the wrong order": b"<div><table></div></table>" * 30_000 + b"deep",
    "adopted": b"<b><div></b>" * 50_000 + b"deep",
    "reconstructed": b"<p><b>deep</p>" * 30_000,
    "links": b"<a href=x><div>" * 50_000 + b"deep",
    "attributes": b"<p " + b" ".join(b"a%d" % number for number in range(100_000)) + b">deep",
    "quoted attributes": b"<p " + b" ".join(b'a%d="x>y"' % number for number in range(50_000)) + b">deep",
    "attributes of html": b"".join(b"<html a%d>" % number for number in range(50_000)) + b"deep",
    "breaks": b"deep" + b"<br>" * 30_000,
    "siblings": b"<p>deep</p>" * 100_000,
    "one line": b"<p>deep " + b"x" * 2_000_000,
    "null bytes": b"<p>deep" + b"\0" * 1_000_000,
    "open brackets": b"deep" + b"<" * 1_000_000,
    "noscript of brackets": b"deep<noscript>" + b"<" * 1_000_000,
    "open comment": b"deep" + b"<!--" * 300_000,
    "open quote": b"deep" + b'<a b="' * 300_000,
    "unclosed everything": b"<html><body><table><tr><td><ul><li><p><b><i><a href=x>deep<select><option>"
    * 2_000,
    "end tags": b"<span>" * 2_000 + b"</x>" * 100_000 + b"deep",
    "one long tag": b"<" + b"x" * 1_000_000 + b">deep",
    "hidden in hidden": b"deep" + b"<div hidden>" * 15_000,
    "numbers of lines": b"<pre>" + b"<i class=ln>" * 9_000 + b"1" * 2_000_000 + b"deep",
    "custom elements": b"<p>deep" + b"<x-a>" * 19_000,
    "custom elements side by side": b"<div>" + b"<x-a>x</x-a>" * 100_000 + b"<p>deep",
    "custom elements in lines": (b"deep" + b"<x-a><i>" * 200) * 200,
    "drawings": b"deep" + b"<svg><path/>" * 30_000,
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_is_a_page(html: bytes) -> None:
    page = segment(html)
    assert_sound(page)
    assert any("deep" in text for text in page.texts)
    assert max(map(len, page.paths)) < 4_000


def test_a_page_beyond_memory_is_refused() -> None:
    """Each of 5,000 paragraphs holds 1,000 elements anew, as the standard wants it: 30 KB make gigabytes."""
    resource = pytest.importorskip("resource")
    bomb = b"<p>" + b"".join(b"<font a%d>" % number for number in range(1_000)) + b"<p>x" * 5_000
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, limits[1]))
    try:
        with pytest.raises(PageError) as refused:
            segment(bomb)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
    assert refused.value.reason is BrokenReason.PAGE_TOO_DEEP
