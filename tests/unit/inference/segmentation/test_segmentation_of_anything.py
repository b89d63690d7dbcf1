"""Whatever markup a page has, it is segmented soundly."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dehusk.inference.markup.elements import MAX_PATH
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import PageError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import DocumentOptions, Rendering
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import SegmentedPage

WITH_MARKUP = DocumentOptions(metadata=MetadataLevel.NONE, rendering=Rendering(markdown=True))
TAGS = """
a b body br button dialog dir div form frameset html li math menu noscript option p pre script select span svg
table td template textarea title tr ul x-y
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


@given(
    st.lists(SNIPPETS | TEXT, max_size=40).map("".join),
    st.sampled_from(
        ["*", "body", "head", "p, p p", "div, [hidden]", "table", "template, svg, noscript", "td, tr"]
    ),
)
def test_any_markup_is_sound_without_what_is_excluded(html: str, selector: str) -> None:
    options = DocumentOptions(rendering=Rendering(markdown=True), exclude=selector)
    page = segment(html.encode(), options=options, with_tree=True)
    assert_sound(page)
    names = {name.strip() for name in selector.split(",")}
    assert not any(set(path.split("/")) & names for path in page.paths)


@given(st.lists(SNIPPETS | TEXT, max_size=40).map("".join))
def test_what_is_recorded_of_the_markup_changes_nothing_else(html: str) -> None:
    bare, page = segment(html.encode()), segment(html.encode(), options=WITH_MARKUP)
    assert bare == page
    assert bare.markup is None
    markup = page.markup
    assert markup is not None
    containers = np.arange(markup.containers.shape[1])
    assert (markup.containers[0] <= containers).all()
    assert len(markup.blocks) == len(markup.holders) == len(page)
    assert (markup.blocks <= len(containers)).all()
    blocks, starts, ends, _, strings = markup.marks
    lengths = np.array([len(text) for text in page.texts], np.int32)
    assert (starts < ends).all()
    assert (ends <= lengths[blocks]).all()
    assert (strings <= len(markup.strings)).all()


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
    page_texts = segment("".join(lines).encode()).texts
    assert list(page_texts) == [" ".join(word for _, word in leaves) for _, leaves in page]


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
    """Each of 150,000 paragraphs holds 32 elements anew, as the standard wants it: 600 KB make gigabytes."""
    resource = pytest.importorskip("resource")
    bomb = b"<p>" + b"".join(b"<font a%d>" % number for number in range(32)) + b"<p>x" * 150_000
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, limits[1]))
    try:
        with pytest.raises(PageError) as refused:
            segment(bomb)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
    assert refused.value.reason is BrokenReason.MEMORY_BUDGET_EXCEEDED
