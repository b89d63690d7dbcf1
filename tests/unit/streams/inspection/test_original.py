"""A page's own HTML, of which nothing runs, loads, links or sends."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from dehusk.inference.segmentation import segment
from dehusk.streams.inspection.original import ATTRIBUTES, BLOCK_CLASS, ELEMENTS, harmless

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
        sources = {"src"} if node.tag == "img" else set()
        assert set(node.attributes) <= ATTRIBUTES | sources
        assert (node.attributes.get("src") or "data:image/").startswith("data:image/")


def test_a_hostile_page_keeps_its_texts_alone(hostile: bytes) -> None:
    page = segment(hostile)
    shown = harmless(hostile, page.texts)
    check_harmless(shown)
    body = LexborHTMLParser(shown).body
    assert body is not None
    assert "</script><script>alert(4)</script> <!-- bold" in body.text()
    assert "alert(15)" in body.text()
    assert [image.attributes["src"] for image in body.css("img[src]")] == ["data:image/png;base64,AA=="]


def test_the_policy_comes_before_what_the_page_says(hostile: bytes) -> None:
    shown = harmless(hostile, ())
    head = shown[: shown.index("<style>")]
    assert "Content-Security-Policy\" content=\"default-src 'none'" in head


@given(st.lists(FRAGMENTS, max_size=25))
def test_whatever_is_nested_stays_harmless(fragments: list[str]) -> None:
    html = "".join(fragments).encode()
    check_harmless(harmless(html, segment(html).texts))


def test_blocks_are_marked_by_classes_that_a_page_cannot_have() -> None:
    html = b"""<p class='x Dehusk-Block-1'>One <b>two</b><br>three<pre>
four</pre><ul> <li>five</ul><script>x</script>"""
    page = segment(html)
    marked = elements(harmless(html, page.texts))
    found = [
        (int(name[1]), node.text())
        for node in marked
        if (name := re.fullmatch(f"{BLOCK_CLASS}(\\d+)", node.attributes.get("class") or "", re.IGNORECASE))
    ]
    assert found == [(0, "One "), (0, "two"), (1, "three"), (2, "four"), (3, "five")]
    assert [node.attributes["class"] for node in marked if node.tag == "p"] == ["x"]


def test_style_sheets_are_kept_unless_they_could_end_early() -> None:
    assert "<style>p{color:red}</style>" in harmless(b"<style>p{color:red}</style><p>x", ())
    assert "</script" not in harmless(b"<style>a</script></style><p>x", ())


@pytest.mark.parametrize("html", [b"", b"<frameset><frame src=x>", b"<!-- -->", b"\x00"])
def test_pages_without_texts_are_shown_empty(html: bytes) -> None:
    check_harmless(harmless(html, ()))


def test_deep_pages_are_written() -> None:
    check_harmless(harmless(b"<div>" * 30_000 + b"deep", ("deep",)))
