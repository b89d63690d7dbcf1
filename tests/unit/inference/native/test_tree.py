"""A whole document as columns, beside what the parser's public interface says of it."""

from itertools import pairwise

import pytest
from selectolax.lexbor import LexborHTMLParser

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.markup import DocumentTree
from dehusk.schemas.pages import SegmentedPage

PAGE = """<!DOCTYPE html><html><head><title>T</title><style>p {}</style></head>
<body class="home"><nav id="top"><a href="/">Home</a></nav>
<div class="post main"><p>One <b>word</b><br>and <svg><text>no</text></svg><i>more</i>.</p>
<p>\u200b \u200b</p>
<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math>
<p hidden>Grüße &amp; Küsse</p><pre>a
 b</pre></div></body></html>"""


def tree_of(page: SegmentedPage) -> DocumentTree:
    assert page.tree is not None
    return page.tree


def test_has_the_elements_and_texts_of_the_document_in_order() -> None:
    tree = tree_of(segment(PAGE.encode(), with_tree=True))
    root = LexborHTMLParser(PAGE).root
    assert root is not None
    nodes = list(root.traverse(include_text=True))
    elements = [node for node in nodes if node.tag and not node.tag.startswith("-")]
    assert list(tree.tags) == [node.tag for node in elements]
    assert list(tree.classes) == [node.attributes.get("class") or "" for node in elements]
    assert list(tree.ids) == [node.attributes.get("id") or "" for node in elements]
    numbers = {node.mem_id: number for number, node in enumerate(elements)}
    above = [-1 if node.parent is None else numbers.get(node.parent.mem_id, -1) for node in elements]
    assert tree.parents.tolist() == above
    assert list(tree.texts) == [node.text_content for node in nodes if node.tag == "-text"]


def test_tells_which_texts_make_up_a_block() -> None:
    page = segment(PAGE.encode(), with_tree=True)
    tree = tree_of(page)
    shown = [
        "".join(tree.texts[place] for place in range(len(tree.texts)) if tree.blocks[place] == block)
        for block in range(len(page))
    ]
    assert shown == ["Home", "One word", "and more.", "", "Grüße & Küsse", "a\n b"]
    assert page.texts[3] == "x^2"
    unread = [text for text, block in zip(tree.texts, tree.blocks, strict=True) if block < 0 and text.strip()]
    assert unread == ["T", "p {}", "no", "\u200b \u200b", "x", "x^2"]


def test_places_elements_and_texts_in_the_source() -> None:
    html = '<html><head></head><body><p class="ä">Öl<br></p>x</body></html>'
    tree = tree_of(segment(html.encode(), with_tree=True))
    sources = [html[begin:end] for begin, end in zip(tree.begins, tree.ends, strict=True)]
    assert sources == [html, "<head></head>", html[19:-7], '<p class="ä">Öl<br></p>', "<br>"]
    assert [html[begin:][: len(text)] for begin, text in zip(tree.text_begins, tree.texts, strict=True)] == [
        "Öl",
        "x",
    ]


@pytest.mark.parametrize("html", [b"", b" ", b"\xff", b"<p>", b"<!-- -->", b"<div>" * 3000 + b"x"])
def test_reads_any_document(html: bytes) -> None:
    page = segment(html, with_tree=True)
    tree = tree_of(page)
    assert len(tree.tags) == len(tree.parents) == len(tree.begins) == len(tree.ends)
    assert all(parent < place for place, parent in enumerate(tree.parents))
    assert all(earlier <= later for earlier, later in pairwise(tree.begins))
    assert len([block for block in tree.blocks if block >= 0]) == len(page)


def test_is_not_made_unless_it_is_asked_for() -> None:
    assert segment(PAGE.encode()).tree is None
