import zlib

import numpy as np
import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import Declarations, ElementFlag, Structure, TagCount


def structure(html: str) -> Structure:
    found = segment(html.encode()).structure
    assert found is not None
    return found


def tokens(html: str) -> list[int]:
    """The tokens of the element of the last block."""
    found = structure(html)
    ends = np.cumsum(found.token_counts)
    last = found.elements[-1]
    tokens: list[int] = found.tokens[ends[last] - found.token_counts[last] : ends[last]].tolist()
    return tokens


def tags(found: Structure) -> list[int]:
    """The first token of each element."""
    first: list[int] = found.tokens[np.cumsum(found.token_counts) - found.token_counts].tolist()
    return first


def crcs(*names: str) -> list[int]:
    return [zlib.crc32(name.encode()) for name in names]


def test_elements_that_hold_blocks_are_rows_parents_first() -> None:
    found = structure("<div><p>a</p><p></p><p>b</div><div><img></div><ul><li><b>c</b></ul>")
    assert found.parents.tolist() == [-1, 0, 1, 2, 2, 1, 5]
    assert tags(found) == crcs("t:html", "t:body", "t:div", "t:p", "t:p", "t:ul", "t:li")
    assert found.elements.tolist() == [3, 4, 6]
    assert found.depths.tolist() == [1, 2, 3, 4, 4, 3, 4]


def test_an_inline_element_is_a_row_only_where_it_holds_blocks() -> None:
    found = structure("<a href=x>one</a><a href=x><div>two</div></a>")
    assert tags(found) == crcs("t:html", "t:body", "t:a", "t:div")
    assert found.elements.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("p", ["t:p"]),
        ("p class='fooBar foo-baz x1 éa b2cd'", ["t:p", "c:foo", "c:bar", "c:baz", "c:cd"]),
        ("p class=HTMLPage", ["t:p", "c:htmlpage"]),
        ("p id=main-nav class=nav role=navigation", ["t:p", "c:nav", "c:main", "c:navigation"]),
        ("p class='aa bb cc dd ee ff gg hh ii'", ["t:p", *(f"c:{letter * 2}" for letter in "abcdefg")]),
        (f"p class='{159 * 'x'}yz ab' id={39 * 'x'}yz", ["t:p", f"c:{159 * 'x'}y", f"c:{39 * 'x'}y"]),
        ("x-my-element class=card", ["t:x-my-element", "c:card"]),
        ("p itemprop=articleBody", ["t:p", "c:article", "c:body"]),
        ("p itemtype=https://schema.org/BlogPosting", ["t:p", "c:blog", "c:posting"]),
        ("p itemtype=Person", ["t:p", "c:person"]),
        ("p itemtype=https://schema.org/", ["t:p"]),
        ("p itemtype='' itemprop", ["t:p"]),
        (f"p itemtype='https://{200 * 'x'}/Thing'", ["t:p", "c:thing"]),
    ],
)
def test_an_element_has_tokens_of_its_tag_class_id_role_and_microdata(
    element: str, expected: list[str]
) -> None:
    assert tokens(f"<{element}>text") == crcs(*expected)


def test_elements_repeat_where_only_numbers_differ() -> None:
    html = "<p class='post-1 odd'>a<p class='post-234 odd'>b<p class='post-x'>c<div class='post-1 odd'>d"
    found = structure(html)
    one, other, third, fourth = (int(found.class_hashes[element]) for element in found.elements)
    assert one == other
    assert len({one, third, fourth}) == 3


@pytest.mark.parametrize(
    ("html", "flags"),
    [
        ("<p>x", 0),
        ("<main><article><p>x", ElementFlag.MAIN | ElementFlag.ARTICLE),
        ("<div role=main><div role=navigation>x", ElementFlag.MAIN | ElementFlag.NAV),
        ("<div role=Main>x", 0),
        ("<table><td>x", ElementFlag.CELL),
        ("<ul><li>x", ElementFlag.ITEM),
        ("<figure><pre>x", ElementFlag.FIGURE | ElementFlag.CODE),
        ("<a href=x><div>x", ElementFlag.LINK),
        ("<a href=x>x", 0),
        ("<div hidden><p>x", ElementFlag.HIDDEN),
    ],
)
def test_flags_are_those_of_all_elements_around(html: str, flags: int) -> None:
    found = structure(html)
    assert found.flags[found.elements[-1]] == flags


@pytest.mark.parametrize(("html", "level"), [("<h2><div>x", 2), ("<h2>y</h2>x", 0), ("<p>x", 0)])
def test_a_block_knows_its_heading(html: str, level: int) -> None:
    found = structure(html)
    assert found.headings[found.elements[-1]] == level


def test_images_belong_to_the_innermost_element_that_holds_blocks() -> None:
    found = structure("<div><figure><a><img></a><img></figure><img><p>x<img></div><svg><image></svg>")
    assert found.images.tolist() == [0, 0, 3, 1]
    assert found.counts[TagCount.IMAGES] == 4


def test_texts_that_make_up_a_block_are_counted() -> None:
    assert structure("<p>a <b>b</b> <i> </i>c<br>d").leaves.tolist() == [3, 1]


def test_tags_are_counted_wherever_they_are() -> None:
    counts = structure(
        "<article></article><div role=main></div><form><input><button></button></form>"
        "<pre><code></code></pre>"
        "<ul><li><li></ul><table></table>"
    ).counts
    assert counts.tolist() == [1, 1, 1, 2, 2, 1, 2, 0]


def test_what_a_page_declares_is_read_wherever_it_stands() -> None:
    html = """
    <meta property=OG:Title content="the title"><meta name=description content=first>
    <meta name=description content=last><meta name=keywords content=x><meta property=og:type>
    <meta property=og:site_name content="The Site">
    <noscript>not counted</noscript><body><noscript>three <b>whole</b> words</noscript>
    <noscript hidden>no</noscript><script type=application/LD+JSON>{"a": 1}</script>
    <div><script type="application/ld+json">[]</script></div><script>x</script>
    <meta name=og:description content="on the page">
    """
    assert structure(html).declared == Declarations(
        og_title="the title",
        og_description="on the page",
        og_type="",
        description="last",
        site_name="The Site",
        json_ld='{"a": 1} []',
        noscript_words=3,
    )


def test_structured_data_is_cut() -> None:
    data = "é" * 300_000
    assert structure(f"<script type=application/ld+json>{data}</script>").declared.json_ld == data[:200_000]
