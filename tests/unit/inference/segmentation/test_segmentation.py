import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.pages import Boundary

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
        ("<p><var>x</var>2, <kbd>Ctrl</kbd>+<samp>C</samp>, <abbr>km</abbr>²</p>", ["x2, Ctrl+C, km²"]),
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
        ("<p>say <q>yes, <q>you</q> <i>can</i></q>. <q></q><q><b> </b></q>", ["say “yes, ‘you’ can”."]),
        ("<q>a <b><q>b <q>c</q></q></b></q> <q>d</q>", ["“a ‘b ‘c’’” “d”"]),
        ("<q><p>one</p></q>two <q>three", ["“one", "two “three”"]),
        ("<p>a<span style='color:red;display:block'>b</span>c <a style=display:block>d</a>e", [*"abcde"]),
        ("<p>a <b style='display:inline-block'>b</b> <i style='x-display:block'>c</i>", ["a b c"]),
        ("<p>a<b style='display:flex'>b</b>c<a style=display:grid>d", [*"abcd"]),
        ("<p>a<b style='display:flow'>b</b>c<i style=display:list-item>d", [*"abcd"]),
        ("<p>a<b style='display:table'>b</b>c<i style='display:flow-root list-item'>d", [*"abcd"]),
        ("<p>a<b style='display:-webkit-box'>b</b>c<a style=display:-webkit-flex>d", [*"abcd"]),
        ("<p>a <b style='display:inline-flex'>b</b> <i style='display:inline list-item'>c", ["a b c"]),
        ("<p>a <b style='display:inline grid'>b</b> <i style=display:-webkit-inline-box>c", ["a b c"]),
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
        ("<p>\n人类\n  最古老，\r\n\t的\n食物 和\nx\n人 </p>", ["人类最古老，的食物 和 x 人"]),
        ("<p>かな\n<b>\nカナ\n。\n</b>\n「」\n한국\n어\n", ["かな カナ。 「」 한국 어"]),
        ("<p>ไทย\nไทย 人\xa0\n人 人\u3000\n人", ["ไทย ไทย 人 人 人 人"]),
        ("<pre>人\n类</pre>", ["人\n类"]),
        ("<p>人类<a>最古老</a>的<b>食物</b>", ["人类最古老的食物"]),
        ("<p>ใน<a>อาหาร</a>ที่<p>価格<span>100</span>円", ["ในอาหารที่", "価格100円"]),
        ("<p>soft&shy;ened</p>", ["softened"]),
        ("<p>see <a>it<i class=visuallyhidden> in a new tab</i></a>, soon", ["see it, soon"]),
        ("<p>9 <span class='x screen-reader-text y'>Price:</span>8 <span class=' show-for-sr'>new", ["9 8"]),
        (
            "<p><i class=material-icons>arrow_back</i>Menu<b class='x material-symbols-outlined'> up </b>go",
            ["Menu go"],
        ),
        (
            "<p><a class='google-symbols'>search</a>One<m-icon class=material-icons>menu</m-icon>two",
            ["One two"],
        ),
        (
            "<table><td> <i class=material-icons>check</i> <td>a <i class=material-icons>close</i><td>"
            "<i class=material-icons>sort</i> <b>b</b>",
            ["check", "a", "b"],
        ),
        (
            "<div>a <div class=material-icons> arrow_back </div>b</div>"
            "<button class=material-icons>close</button>"
            "<div class=material-icons>Close</div><ul><li class=material-icons>home</ul>",
            ["a", "b", "Close", "home"],
        ),
        (
            "<table><td><span> <i class=material-icons>check</i></span>"
            "<td><div class=material-icons>close</div>"
            "<td><b>x <i class=material-icons>sort</i></b><td><a><i class=material-icons>edit</i></a><td>y",
            ["check", "close", "x", "y"],
        ),
        (
            "<p>1 <i class=material-icons>New</i> <i class=icon>home</i> <b class=material-icons><i>a</i>",
            ["1 New home a"],
        ),
        (
            "<p><a class=c-material-icon>raw</a> <i class='a google-material-icons-filled'>menu</i>b "
            "<b class=x-material-icons>sort</b> <i class='a material-icon'>home</i>",
            ["raw b sort"],
        ),
        ("<p><i class=material-icon-label>home</i> <i class=material-iconset>sort</i>", ["home sort"]),
        ("<p>9 <span class=sr-only-ish>a</span> <span class='not-sr-only sr'>b", ["9 a b"]),
        (
            f"<p>9 <span class=sr-only>{WORDS}</span><p>8 <span class=sr-only>{WORDS[:300]}",
            [f"9 {WORDS}", "8"],
        ),
        ("<h2 class=sr-only>Menu</h2><a class=visually-hidden>skip", ["Menu", "skip"]),
        (
            "<p>Hi<img class=wp-smiley alt=':)'>"
            "<p><img class='a emoji' alt=🙂>you <img class=smilie alt=o_O>",
            ["Hi:)", "🙂you o_O"],
        ),
        (
            "<p>a <img class=smiley alt=Grin><img class=emoji alt=улыбка>"
            "<img class=emoji alt='a :)'><img class=x-emoji alt=':)'> b",
            ["a b"],
        ),
        (
            f"<p>a <img class=emoji alt=':{'x' * 60}'><img class=emoji hidden alt=':)'> b "
            "<img class=emoji alt>",
            ["a b"],
        ),
        ("<p>  much \n\n space&nbsp;here </p>", ["much space here"]),
        ("<p>a\u200bb\u2060c\ufeffd\u200ee\u200ff\u202ag\u202eh\u2066i\u2069j", ["abcdefghij"]),
        ("<p>می\u200cشود</p><p>👩\u200d👧</p>", ["می\u200cشود", "👩\u200d👧"]),
        ("<p>\ue001 Home \uf8ff</p><p><i>\ue900</i></p><p>\u200f\u00a0&zwnj;</p><p>&zwj; &zwnj;", ["Home"]),
        ("<p>\u2010\u2029\u202f\u205f\u2063\u206a\ud7ff\uf900", ["\u2010 \u2063\u206a\ud7ff\uf900"]),
        ("<pre>\ufeffa\u00ad\ue000\n\u200b  b\u200cc</pre><pre>&zwnj;\n &zwj;</pre>", ["a\n  bc"]),
        ("<p>own.<b>\u200d</b><p>\u200dThe \u200d“f-\u200d\u200der\u200d” 5\u200c", ["own.", "The “f-er” 5"]),
        ("<p>PDF\u200cها <b>🤷\u200d♂️</b> क्\u200dष</p><p>\u200d\ue001", ["PDF\u200cها 🤷\u200d♂️ क्\u200dष"]),
        ("<pre>a\u200d\n\u200d\n می\u200cشود", ["a\n\n می\u200cشود"]),
        ("<p>a\x01&#1;b\x7f&#x81;c\ufffed\uffff\ufdd0e\U0001ffff</p><p>\x02&#x8f;</p>", ["abcde"]),
        ("<p>we\x92re \x93off\x94 to \x805</p>", ["we’re “off” to €5"]),
        ("<p>a\x0bb\x1fc\x85d", ["a b c d"]),
        ("<pre>a\x01\x1fb\tc\n\x95 d\x81\ufffe</pre>", ["ab\tc\n• d"]),
        (
            "<p><a href=a>one</a>&ZeroWidthSpace;<a href=b>two</a> "
            "<b>One</b>\u200b\ufeffword <i>to go</i>\u200b<b>Zoe",
            ["one two Oneword to go Zoe"],
        ),
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
        ("one <desc>unclosed <p>two<annotation>three", ["one", "unclosed", "two three"]),
        ("<p>a &#xF0001; b &#x10FFFD; &#xE001;c", ["a b c"]),
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
        "<svg><desc>no</desc></svg>",
        "<!-- no -->",
        "<noscript>no</noscript>",
        "<span class='a sr-only'>no <b>no</b></span>",
        "<em class='visually-hidden b'><p>no</em>",
    ],
)
def test_what_is_not_shown_is_no_text(html: str) -> None:
    assert texts(f"{html}<p>yes</p>") == ["yes"]


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
def test_what_is_not_shown_at_first_is_marked(hidden, html: str) -> None:
    assert hidden(f"{html}<p>yes</p>") == [("no", True), ("yes", False)]


@pytest.mark.parametrize(
    "html",
    [
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
def test_what_may_be_seen_is_not_marked(hidden, html: str) -> None:
    assert hidden(html) == [("yes", False)]


def test_hidden_text_in_a_line_is_a_block_of_its_own(hidden) -> None:
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


def test_noscript_counts_where_it_outweighs_what_is_shown(hidden) -> None:
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
        ("<html lang=en-GB><title> A\n title </title>", "A title", "en-GB"),
        ("<title>\ue000 A&shy;\u200e\xa0title &#x202c;</title>", "A title", None),
        ("<html lang=DE_at><title>first</title><title>second</title>", "first", "de-AT"),
        ("<svg><title>icon</title></svg><p>x", "", None),
        ("<html lang=''><head><title></title>", "", None),
        ("<html lang='not a language'>", "", None),
        ("", "", None),
    ],
)
def test_title_and_language_are_those_of_the_document(html: str, title: str, language: str | None) -> None:
    page = segment(html.encode())
    assert (page.title, page.language) == (title, language)


def test_no_control_character_is_in_a_title() -> None:
    assert segment("<title>a\x01\x92b\ufffe&#7; c\x0bd\x7f".encode()).title == "a’b c d"


DRAWING = """<p>before<svg><title>t</title><style>s</style><text>drawn</text><g><foreignObject>
<div>one <b>line</b></div> </foreignObject><text>drawn</text></g><desc><b>described</b></desc></svg>behind
<math><mi>x</mi></math>"""


def test_of_a_drawing_only_what_it_holds_of_html_is_text() -> None:
    assert blocks(DRAWING) == [
        ("html/body/p", "before"),
        ("html/body/p/foreignobject/div", "one line"),
        ("html/body/p", "behind x"),
    ]


@pytest.mark.parametrize(
    "drawing",
    [
        "<svg style='display:none'><foreignObject><p>text",
        "<svg><g style='display: none'><g><foreignObject><p>text",
        "<svg><foreignObject><svg style='visibility:hidden'><foreignObject><p>text",
    ],
)
def test_what_a_hidden_drawing_holds_is_hidden(drawing: str) -> None:
    page = segment(drawing.encode())
    assert (page.texts, page.hidden) == (("text",), (True,))


def test_drawings_may_nest_at_any_depth() -> None:
    page = "<svg><foreignObject>" * 8000 + "text"
    assert texts(page) == ["text"]


def test_a_declarative_shadow_root_is_shown() -> None:
    page = """<my-card><template shadowrootmode="open"><style>p {}</style><p>shadow</p>
<template><p>inert</template><slot></slot></template><b>light</b></my-card><template><p>inert</template>
<template shadowrootmode=bogus><p>inert</template>"""
    assert texts(page) == ["shadow", "light"]


def test_xhtml_that_ends_its_title_and_scripts_at_once_keeps_its_text() -> None:
    page = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>
<script src="a.js" /></head><body><p>one</p><iframe src="b"/><p>two</p></body></html>"""
    assert texts(page) == ["one", "two"]


def test_a_title_that_never_ends_leaves_the_page_its_text() -> None:
    page = segment(b"<head><title>Title<meta name=a></head><body><p>one<p>two")
    assert (page.title, page.texts) == ("Title", ("one", "two"))


PAGE_OF_PARTS = (
    "<title>t</title><meta name=author content=Ann><div class=ads>a<p class='ads x'>b</p></div>"
    "<p class=y>c<b>d</b></p><nav>e</nav>"
)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (".ads", ["cd", "e"]),
        (".ads, .x, nav", ["cd"]),
        ("div:has(p), b", ["c", "e"]),
        ("body, p", []),
        ("html, p", []),
        ("*", []),
        ("video", ["a", "b", "cd", "e"]),
    ],
)
def test_excluded_elements_are_as_if_they_were_not_there(selector: str, expected: list[str]) -> None:
    page = segment(PAGE_OF_PARTS.encode(), options=DocumentOptions(exclude=selector), with_tree=True)
    assert list(page.texts) == expected


@pytest.mark.timeout(20)
def test_many_excluded_elements_are_found_in_time_however_deep_they_are() -> None:
    page = b"<div>" * 9_000 + b"<x class=ads>a</x>" * 9_000 + b"text"
    assert segment(page, options=DocumentOptions(exclude=".ads")).texts == ("text",)


def test_what_is_excluded_declares_nothing() -> None:
    page = segment(PAGE_OF_PARTS.encode(), options=DocumentOptions(exclude="head"))
    assert (page.title, page.metadata) == ("", Metadata())
