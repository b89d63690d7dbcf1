"""XPaths of blocks, followed in the tree of the parser."""

import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

import dehusk.inference
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.options import DocumentOptions

BLOCKS = DocumentOptions(with_blocks=True)
GOLDEN = sorted((Path(dehusk.inference.__file__).parent / "golden_pages").glob("*.html"))
_STEP = re.compile(r"(?P<test>[^\[\]]+)\[(?P<number>\d+)\]")


def elements_of(node: LexborNode) -> list[LexborNode]:
    return [child for child in node.iter() if not child.tag.startswith("-")]


def found(root: LexborNode, xpath: str) -> LexborNode:
    """Return the element that an XPath names."""
    beginning, *steps = xpath[1:].split("/")
    assert beginning == root.tag
    node = root
    for step in steps:
        match = _STEP.fullmatch(step)
        assert match is not None
        children = [child for child in elements_of(node) if match["test"] in ("*", child.tag)]
        node = children[int(match["number"]) - 1]
    return node


def assert_places_hold_texts(html: bytes) -> None:
    page = segment(html, options=BLOCKS)
    assert page.xpaths is not None
    root = LexborHTMLParser(html).root
    for text, path, xpath in zip(page.texts, page.paths, page.xpaths, strict=True):
        assert xpath is not None
        element = found(root, xpath)
        assert element.tag == path.rpartition("/")[2]
        assert "".join(text.split()) in "".join(element.text(deep=True).split())


@pytest.mark.parametrize("file", GOLDEN, ids=[file.stem for file in GOLDEN])
def test_the_place_of_a_block_holds_its_text(file: Path) -> None:
    assert_places_hold_texts(file.read_bytes())


PIECES = [
    *("<div>", "</div>", "<p>", "<ul><li>", "</ul>", "<table><tr><td>", "</table>", "<o:p>", "</o:p>"),
    *("<b>", "</b>", "<br>", "<h2>", "</h2>", "<section>", "</section>", "<!-- c -->", "word ", "<x-y>"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_the_places_in_any_page_hold_the_texts(pieces: list[str]) -> None:
    assert_places_hold_texts("".join(pieces).encode())


@pytest.mark.parametrize(
    ("html", "xpaths"),
    [
        ("<p>a<p>b", ("/html/body[1]/p[1]", "/html/body[1]/p[2]")),
        ("<div>a</div><p>b<div>c", ("/html/body[1]/div[1]", "/html/body[1]/p[1]", "/html/body[1]/div[2]")),
        ("<p>a<br>b", ("/html/body[1]/p[1]", "/html/body[1]/p[1]")),
        ("<hr><o:p><p>b</o:p>", ("/html/body[1]/*[2]/p[1]",)),
        ("<table><tr><td>a", ("/html/body[1]/table[1]/tbody[1]/tr[1]/td[1]",)),
    ],
)
def test_steps_count_elements_of_the_same_name(html: str, xpaths: tuple[str, ...]) -> None:
    assert segment(html.encode(), options=BLOCKS).xpaths == xpaths


def test_elements_that_are_too_deep_have_none() -> None:
    depths = segment(b"<p>a" + b"<div>b" * 80, options=BLOCKS).xpaths
    assert depths is not None
    assert depths[61] is not None
    assert depths[61].count("/") == 63
    assert set(islice(depths, 63, None)) == {None}


@pytest.mark.parametrize(
    "html",
    [
        b"<title>a <p>b<p>c",
        b'<!doctype html><html xmlns="http://www.w3.org/1999/xhtml"><title/><p>a',
        b"<div><template shadowrootmode=open><p>a</template>",
        b"<div>" * 60_000 + b"a",
    ],
)
def test_a_page_that_is_read_otherwise_has_none(html: bytes) -> None:
    page = segment(html, options=BLOCKS)
    assert page.texts
    assert page.xpaths is None


def test_there_are_none_where_elements_are_excluded_or_blocks_not_asked_for() -> None:
    html = b"<nav>a</nav><p>b"
    assert segment(html, options=DocumentOptions(with_blocks=True, exclude="nav")).xpaths is None
    assert segment(html).xpaths is None


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "html",
    [
        b"<p>a" * 100_000,
        b"".join(b"<x%d>a</x%d><p>b</p>" % (each % 4_000, each % 4_000) for each in range(40_000)),
        b"<div>" + b"<i></i>" * 200_000 + b"<p>a" * 1_000,
    ],
)
def test_many_siblings_are_counted_once(html: bytes) -> None:
    xpaths = segment(html, options=BLOCKS).xpaths
    assert xpaths is not None
    assert len(set(xpaths)) >= 1_000
