"""Whatever page is parsed, its tree in memory is what selectolax says of it."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborNode

from dehusk.inference.native.layout import outline
from dehusk.inference.native.markup import NUMBERED_ATTRIBUTES, NUMBERED_TAGS
from dehusk.inference.segmentation import parser
from dehusk.streams.demo import handbook

Said = str | tuple[str, list[tuple[str, str]], str, str] | None
TAG = re.compile(b"(<[^>]*>)")
FOREIGN = re.compile("^(xlink|xml|xmlns):")
ROOT = Path(__file__).parents[4]
ODD = b"""<!doctype html><?x y?><html lang=en><!-- c --><title>t &amp; u</title>
<body class='a  b' ID=top data-a-name-of-more-than-16=1 a" <=2 \xc3\xa4=3 hidden a:b=4 class=twice>
<template shadowrootmode=open><p id=in>shadow</p></template><x-y>short</x-y>
<x-element-with-a-long-name class=c>long</x-element-with-a-long-name>
<svg viewBox='0 0 1 1' xlink:href=a><foreignObject><p>in a drawing</p></foreignObject>
<title>drawn</title><a:b c:d=e /><![CDATA[data]]></svg><math definitionurl=x><mi mathvariant=b>x
<annotation-xml encoding=text/html><div>html</div></annotation-xml></math><table>fostered<td>cell</table>
<p id=''>\0<noscript><b>n</b></noscript><script>if (a < b) "</p>"</script><textarea><p></textarea>
<select><option>o</select><plaintext><b>
"""
PAGES = {
    "odd": ODD,
    "nested": b"<div class=d>" * 400 + b"deep" + b"</div>" * 200 + b"<b><p>" * 50,
    "every name": b"".join(
        b"<%s %s=v>x" % (tag, attribute)
        for tag in (name.encode() for name in NUMBERED_TAGS if name.isalnum())
        for attribute in (b"id", b"x")
    )
    + b"<p "
    + " ".join(f"{name}=v" for name in NUMBERED_ATTRIBUTES).encode(),
    **{page.name: page.read_bytes() for page in sorted(ROOT.glob("inference/golden_pages/*.html"))},
    **{path: html.encode() for path, html in handbook.pages()},
}
PIECES = (
    *(b"<template>", b"</template>", b"<svg>", b"</svg>", b"<math>", b"<foreignobject>", b"<table>", b"</p>"),
    *(b"<p class=x id=y>", b"<x-y:z a:b='c' \"d\"=e>", b"<a href=x><a>", b"<b><p></b>", b"<i>" * 600),
    *(b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?x", b"\0", b"&lt;"),
    *(b"<select>", b"<frameset>", b"<plaintext>", b"<noscript>"),
)


def assert_alike(html: bytes) -> None:
    document = parser.parse(html)
    root = document.root
    if root is not None:
        told = {node.mem_id: (_around(node), _said(node)) for node in root.traverse(include_text=True)}
        seen = {
            address: (around, _by_local_names(said))
            for address, (around, said) in outline(root.mem_id).items()
        }
        assert seen == told
        assert list(seen) == list(told)


def _around(node: LexborNode) -> tuple[int, ...]:
    around = (node.next, node.prev, node.parent, node.first_child, node.last_child)
    return tuple(0 if each is None else each.mem_id for each in around)


def _said(node: LexborNode) -> Said:
    if node.is_text_node:
        return node.text_content
    if not node.is_element_node:
        return None
    values = [(name, value or "") for name, value in node.attributes.items()]
    return _by_local_names((node.tag or "", values, node.id or "", node.attributes.get("class") or ""))


def _by_local_names(said: Said) -> Said:
    """Describe a node, but for the case and prefixes of foreign names, which selectolax alone knows."""
    if not isinstance(said, tuple):
        return said
    tag, attributes, identity, classes = said
    return (
        tag.lower(),
        [(FOREIGN.sub("", name.lower()), value) for name, value in attributes],
        identity,
        classes,
    )


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES)
def test_a_page_is_read_as_selectolax_says(html: bytes) -> None:
    assert_alike(html)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A page cut off, with pieces put in or taken out, and tags exchanged."""
    html = draw(st.sampled_from(sorted(PAGES.values())))
    for change in draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=6)):
        html = change(html, draw)
    return html


def _cut_off(html: bytes, draw: st.DrawFn) -> bytes:
    return html[: draw(_positions(html))]


def _take_out(html: bytes, draw: st.DrawFn) -> bytes:
    start = draw(_positions(html))
    return html[:start] + html[start + draw(st.integers(1, 200)) :]


def _put_in(html: bytes, draw: st.DrawFn) -> bytes:
    position = draw(_positions(html))
    return html[:position] + draw(st.sampled_from(PIECES) | st.binary(max_size=8)) + html[position:]


def _exchange(html: bytes, draw: st.DrawFn) -> bytes:
    """Let two tags change places."""
    parts = TAG.split(html)
    if len(parts) > 3:
        places = st.integers(0, len(parts) // 2 - 1)
        one, other = 2 * draw(places) + 1, 2 * draw(places) + 1
        parts[one], parts[other] = parts[other], parts[one]
    return b"".join(parts)


def _positions(html: bytes) -> st.SearchStrategy[int]:
    return st.integers(0, len(html))


CHANGES = (_cut_off, _take_out, _put_in, _put_in, _exchange, _exchange)


@given(mutated())
@settings(max_examples=300, deadline=None)
def test_a_mutated_page_is_read_as_selectolax_says(html: bytes) -> None:
    assert_alike(html)
