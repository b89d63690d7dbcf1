"""A page's own HTML, of which nothing runs, loads, links or sends."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from dehusk.inference.segmentation.segmentation import segment
from dehusk.streams.inspection.original import (
    ATTRIBUTES,
    BLOCK_CLASS,
    ELEMENTS,
    find_letters,
    letters_of,
    pieces,
    sanitize,
)

FRAME = {"html", "head", "meta", "style", "body"}
FRAGMENTS = st.sampled_from(
    """
    <p> </p> <style> </style> <svg> </svg> <math> <mtext> <table> <tr> <td> </table> <a> </a> <b> <select>
    <option> <noscript> </noscript> <template> </template> <title> </title> <!-- --> <![CDATA[ ]]> <xmp>
    </xmp> <plaintext> <script> </script> <body/onload=x> <img/src=x/onerror=x> &lt;script&gt; text <frameset>
    <mglyph> <annotation-xml/encoding=text/html> <foreignObject> <a/href=javascript:x> " '
    <p/class=dehusk-block-0>
    """.split()  # noqa: SIM905
)


def elements(html: str) -> list[LexborNode]:
    root = LexborHTMLParser(html).root
    assert root is not None
    return [root, *root.css("*")]


def check_harmless(html: str) -> None:
    for node in elements(html):
        assert node.tag in ELEMENTS | FRAME
        if node.tag == "meta":
            continue
        sources = {"img": {"src"}, "style": {"media"}}.get(node.tag or "", set())
        assert set(node.attributes) <= ATTRIBUTES | sources
        assert (node.attributes.get("src") or "data:image/").startswith("data:image/")


def test_a_hostile_page_keeps_its_texts_alone(hostile: bytes) -> None:
    page = segment(hostile)
    shown = sanitize(hostile, page.texts).html
    check_harmless(shown)
    body = LexborHTMLParser(shown).body
    assert body is not None
    assert "</script><script>alert(4)</script> <!-- bold" in body.text()
    assert "alert(15)" in body.text()
    assert [image.attributes["src"] for image in body.css("img[src]")] == ["data:image/png;base64,AA=="]


def test_the_policy_comes_before_what_the_page_says(hostile: bytes) -> None:
    shown = sanitize(hostile, ()).html
    head = shown[: shown.index("<style>")]
    assert "Content-Security-Policy\" content=\"default-src 'none'" in head


@given(st.lists(FRAGMENTS, max_size=25))
def test_whatever_is_nested_stays_harmless(fragments: list[str]) -> None:
    html = "".join(fragments).encode()
    check_harmless(sanitize(html, segment(html).texts).html)


def test_blocks_are_marked_by_classes_that_a_page_cannot_have() -> None:
    html = b"""<p class='x Dehusk-Block-1'>One <b>two</b><br>three<pre>
four</pre><ul> <li>five</ul><script>x</script>"""
    page = segment(html)
    marked = elements(sanitize(html, page.texts).html)
    found = [
        (int(name[1]), node.text())
        for node in marked
        if (name := re.fullmatch(f"{BLOCK_CLASS}(\\d+)", node.attributes.get("class") or "", re.IGNORECASE))
    ]
    assert found == [(0, "One "), (0, "two"), (1, "three"), (2, "four"), (3, "five")]
    assert [node.attributes["class"] for node in marked if node.tag == "p"] == ["x"]


def test_style_sheets_are_kept_unless_they_could_end_early() -> None:
    assert "<style>p{color:red}</style>" in sanitize(b"<style>p{color:red}</style><p>x", ()).html
    assert "</script" not in sanitize(b"<style>a</script></style><p>x", ()).html


def test_linked_style_sheets_have_a_place_among_the_others() -> None:
    html = b"""<base href=/b/><link rel=Stylesheet href=a.css media='(width>9px)"'>
    <style media=print>p{}</style><link rel="alternate stylesheet" href=x.css><link rel=icon href=x.ico>
    <link rel=stylesheet>    <p>x<link rel=stylesheet href=//cdn.test/c.css><link rel=stylesheet href="http://[::1">"""
    shown = sanitize(html, (), "https://example.org/a")
    assert shown.sheets[:2] == ("https://example.org/b/a.css", "https://cdn.test/c.css")
    assert len(shown.sheets) == 3
    head = shown.html[: shown.html.index("</head>")]
    assert head.endswith(
        '<style class="dehusk-sheet-0" media="(width&gt;9px)&quot;"></style><style media="print">p{}</style>'
        '<style class="dehusk-sheet-1"></style><style class="dehusk-sheet-2"></style>'
    )
    check_harmless(shown.html)


@pytest.mark.parametrize("html", [b"", b"<frameset><frame src=x>", b"<!-- -->", b"\x00"])
def test_pages_without_texts_are_shown_empty(html: bytes) -> None:
    check_harmless(sanitize(html, ()).html)


def test_deep_pages_are_written() -> None:
    check_harmless(sanitize(b"<div>" * 30_000 + b"deep", ("deep",)).html)


TEXTS = st.lists(st.text(alphabet="ab1 .*-\n", max_size=12), max_size=12)


def numbered(*texts: str) -> list[tuple[str, int]]:
    return [(text, number) for number, text in enumerate(texts)]


def test_a_text_is_cut_where_its_blocks_begin() -> None:
    text = "One two.\n\n- “Three” four\n- five"
    assert pieces(text, numbered("One two.", "“Three” four", "five")) == [
        ("One two.\n\n", 0),
        ("- “Three” four\n", 1),
        ("- five", 2),
    ]


def test_marks_of_markdown_belong_to_the_block_behind_them() -> None:
    text = "## Head\n\n1. [A **link**](https://x.test/) goes on\n\n> quoted"
    assert pieces(text, numbered("Head", "A link goes on", "quoted")) == [
        ("## Head\n\n", 0),
        ("1. [A **link**](https://x.test/) goes on\n\n", 1),
        ("> quoted", 2),
    ]


def test_a_block_that_is_not_found_takes_no_other_with_it() -> None:
    assert pieces("one three", numbered("one", "two", "three")) == [("one ", 0), ("three", 2)]


def test_a_block_without_letters_is_part_of_the_one_before() -> None:
    assert pieces("one\n—\ntwo", numbered("one", "—", "two")) == [("one\n—\n", 0), ("two", 2)]


def test_what_stands_before_the_first_block_is_of_none() -> None:
    assert pieces("title one", numbered("one")) == [("title ", -1), ("one", 0)]


def test_a_block_may_look_like_the_number_of_the_next_one() -> None:
    assert pieces("1. 1", numbered("1.", "1")) == [("1. ", 0), ("1", 1)]


def test_short_blocks_are_not_found_far_away() -> None:
    letters = "x" * 10_000 + "ab"
    assert find_letters(letters, "ab", 0) == -1
    assert find_letters(letters, "ab", 9_000) == 10_000
    assert find_letters(letters, "x" * 20 + "ab", 0) == 9_980
    assert find_letters(letters, "", 0) == -1
    assert find_letters(letters, "ab", 8_500, 9_000) == 10_000
    assert find_letters(letters, "ab", 7_000, 9_000) == -1


def test_blocks_begin_where_words_do() -> None:
    assert pieces("Banana an\n\nana", numbered("an", "ana")) == [("Banana ", -1), ("an\n\n", 0), ("ana", 1)]


@given(TEXTS, st.sampled_from([" ", "\n", "\n\n", " ** "]))
def test_pieces_are_the_whole_text(texts: list[str], separator: str) -> None:
    text = separator.join(texts)
    cut = pieces(text, numbered(*texts))
    assert "".join(piece for piece, _ in cut) == text
    numbers = [number for _, number in cut if number >= 0]
    assert numbers == sorted(set(numbers))
    assert numbers == [number for number, block in enumerate(texts) if letters_of(block)]
