"""Decluttering, on examples that are worked out by hand, and what is written of what it leaves."""

import numpy as np
import pytest
from selectolax.lexbor import LexborHTMLParser

from dehusk import Extractor
from dehusk.inference.document.html import ATTRIBUTES
from dehusk.inference.encoding.declutter import declutter_shares, prune, remaining, scores
from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.scores import score_words
from tests.unit.inference.documents import texts_of, tree_of

WORDS = "word " * 30


def left_of(html: str) -> list[str]:
    tree = tree_of(html)
    return texts_of(tree, remaining(tree))


def score_of(html: str, tag: str) -> int:
    tree = tree_of(html)
    return int(scores(tree, prune(tree))[tree.tags.index(tag)])


@pytest.mark.parametrize(
    ("html", "score"),
    [
        ("<div>one two three</div>", 3 - 1),
        ("<div>one <b>two</b><br></div>", 2 - 3),
        ("<div>one <a>two <b>three</b></a></div>", 1 - 2 * 2 - 3),
        ("<div>one<ul><li>two<li>three</ul></div>", 3 - 4),
        ("<a>one<div>two</div></a>", -2 * 1 - 1),
        ("<div>one<script>var a, b, c</script></div>", 1 - 1),
        ("<div>one<p class=promo>two three</p></div>", 1 - 1),
        ("<div></div>", -1),
    ],
)
def test_a_score_is_of_words_links_and_tags(html: str, score: int) -> None:
    assert score_of(html, "div") == score


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<div>one two</div>", ["one two"]),
        ("<div>one</div>", ["one"]),
        ("<div><b>one</b></div>", []),
        ("<div><a>one two</a></div>", []),
        ("<p><a>one two</a></p>", ["one two"]),
    ],
)
def test_a_block_tag_is_kept_by_a_score_of_zero_or_more(html: str, expected: list[str]) -> None:
    assert left_of(html) == expected


def test_what_is_deleted_still_counts() -> None:
    links = "<section><a>one two three</a></section>"
    assert left_of(f"<div>{links}{'word ' * 9}</div>") == ["word " * 8 + "word"]
    assert left_of(f"<div>{links}{'word ' * 8}</div>") == []


def test_what_is_kept_keeps_what_it_stands_in() -> None:
    links = "<a>one two three</a>" * 20
    assert left_of(f"<div>{links}</div>") == []
    assert left_of(f"<div>{links}<section>four five</section><ul><li><a>six</a></ul></div>") == (
        ["one two three"] * 20 + ["four five"]
    )


@pytest.mark.parametrize("name", ["author", "post-byline", "entry__headline"])
def test_a_blessed_element_keeps_what_it_holds_and_what_holds_it(name: str) -> None:
    blessed = f"<span class='{name}'><div><a>By Jane Doe</a></div></span>"
    assert left_of(f"<div>{blessed}<div><a>one</a></div></div>") == ["By Jane Doe"]


@pytest.mark.parametrize("name", ["comment", "Comments-list", "promo", "popup", "related-posts", "cookieBar"])
def test_poison_ends_a_subtree_whatever_it_holds(name: str) -> None:
    assert left_of(f"<p>one<div class='{name}'><p class=author>{WORDS}</div>") == ["one"]


@pytest.mark.parametrize("tag", ["script", "nav", "footer", "aside", "dialog", "form><select><option"])
def test_what_never_holds_content_ends_with_its_subtree(tag: str) -> None:
    assert left_of(f"<p>one</p><{tag}>{WORDS}") == ["one"]


def test_the_whole_page_is_not_poisoned() -> None:
    assert left_of("<html class=has-cookies><body class=comments-open><p>one") == ["one"]


def test_noscript_is_left_where_it_is_the_page() -> None:
    assert left_of("<p>one<noscript>two</noscript>") == ["one"]
    assert left_of(f"<p>one<noscript>{'two ' * 101}</noscript>") == ["one", "two " * 100 + "two"]


def test_a_block_of_ours_has_the_share_that_is_left() -> None:
    page = segment(b"<p>one <span class=promo>two</span></p><div><a>three</a></div>", with_tree=True)
    assert page.tree is not None
    assert declutter_shares(page.tree, len(page)).tolist() == [0.5, 0]


@pytest.mark.parametrize(
    "html",
    ["", " ", "<div>" * 10_000 + WORDS, "<div class=author>" * 10_000 + "x", "<a>" * 10_000 + "x"],
)
def test_any_document_is_decluttered(html: str) -> None:
    page = segment(html.encode(), with_tree=True)
    assert page.tree is not None
    shares = declutter_shares(page.tree, len(page))
    assert shares.shape == (len(page),)
    assert np.isin(shares, (0, 1)).all()


def test_only_approved_tags_and_attributes_and_all_text_is_written() -> None:
    page = (
        "<html><head><title>t</title></head><body><div class=menu><a href=/>Home</a></div>"
        f"<div id=a onclick=x><h1 class=c>Title of it</h1><center><font color=red>{WORDS}</font></center>"
        "<custom-tag data-a=b>more <u>under</u> <a href=/x target=_blank rel=y>link</a></custom-tag>"
        "<table border=1><tr><th>h<th>i<tr><td style=x>c1<td>c2</table><details><summary>s</summary>d"
        "</details><img src=/i.png alt=picture width=3></div><div class=promo>Buy now</div></body></html>"
    )
    document = Extractor(labeler="declutter", with_html=True).extract(page, "https://a.test/")
    assert document.html is not None
    body = LexborHTMLParser(document.html).body
    assert body is not None
    for node in body.css("*"):
        assert node.tag in {*ATTRIBUTES, "body"}
        assert set(node.attributes) <= set(ATTRIBUTES.get(node.tag or "", ()))
    assert score_words(body.text(separator=" ")) == score_words(document.text)
    assert {"title", "under", "link", "c2", "d"} <= set(score_words(document.text))
    assert not {"home", "buy"} & set(score_words(document.text))
