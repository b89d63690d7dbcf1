import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.segmentation.segmentation import end_like_xml, uncover

XHTML = b"<html xmlns='http://www.w3.org/1999/xhtml'>"
HEADS = [
    XHTML,
    b'<?xml version="1.0" encoding="utf-8"?><html>',
    b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">',
]
ENDED = [
    (b"<title/>", b"<title></title>"),
    (b"<script src='a.js' />", b"<script src='a.js' ></script>"),
    (b'<style media="a"/><p/>', b'<style media="a"></style><p/>'),
    (b'<textarea/><iframe src="x"/>', b'<textarea></textarea><iframe src="x"></iframe>'),
]
AS_THEY_ARE = [
    b"<title>t</title><p/><br/>",
    b"<!-- <title/> <script/> -->",
    b"<script>write('<title/>')</script>",
    b"<title>how <script/> works</title>",
    b"<titles/>",
]
SHADOW = b"<template shadowrootmode=open>"


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(("markup", "ended"), ENDED)
def test_what_xml_ends_is_ended_in_xhtml(head: bytes, markup: bytes, ended: bytes) -> None:
    assert end_like_xml(head + markup) == head + ended


@pytest.mark.parametrize("markup", AS_THEY_ARE)
def test_text_that_looks_like_it_stays(markup: bytes) -> None:
    assert end_like_xml(XHTML + markup + b"<style/>") == XHTML + markup + b"<style></style>"


@pytest.mark.parametrize(
    "head", [b"<!doctype html>", b"<title>xhtml</title>", b"<!-- " + b" " * 2000 + b"-->" + XHTML]
)
def test_html_is_as_it_is(head: bytes) -> None:
    assert end_like_xml(head + b"<title/>") == head + b"<title/>"


def test_a_title_that_no_tag_follows_stays() -> None:
    page = b"<title>&lt;p&gt; a"
    assert uncover(page, title="<p> a", has_shadow_roots=False) == page


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (b"<title>a</titel><p>x", "a</titel><p>x"),
        (b"<TITLE id=x>a<meta name=b><p>x", "a<meta name=b><p>x"),
        (b"<title>a<p>" + b"x" * 2000 + b"<svg><title>b</title>", "a<p>" + "x" * 2000 + "<svg><title>b"),
    ],
)
def test_a_title_that_swallows_the_page_is_ended_at_the_next_tag(page: bytes, title: str) -> None:
    start, rest = page.split(b"a", 1)
    assert uncover(page, title=title, has_shadow_roots=False) == start + b"a</title>" + rest


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (b"<title>the <body> tag</title><p>x", "the <body> tag"),
        (b"<title>a < b", "a < b"),
        (b"<title>" + b"long " * 900 + b"</title>", "long " * 900),
        (b"<p>no title", "<body>"),
    ],
)
def test_any_other_title_stays(page: bytes, title: str) -> None:
    assert uncover(page, title=title, has_shadow_roots=False) is page


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        (SHADOW + b"a</template>", b"<shadow-root>a</shadow-root>"),
        (b"<TEMPLATE id='>' ShadowRootMode='closed'>a</TEMPLATE >", b"<shadow-root>a</shadow-root>"),
        (b"<template>a</template>" + SHADOW + b"b", b"<template>a</template><shadow-root>b"),
        (b"</template>" + SHADOW + b"a</template>", b"</template><shadow-root>a</shadow-root>"),
        (
            SHADOW + b"<template>a</template>b</template>",
            b"<shadow-root><template>a</template>b</shadow-root>",
        ),
        (b"<!-- %b --><script>'%b'</script>" % (SHADOW, SHADOW), None),
        (b"<template-x shadowrootmode=open></template-x>", None),
        (b"<template shadowrootmode>a</template>", None),
        (b"<template shadowrootmode=bogus>a</template>", None),
        (b"<template data-shadowrootmode=open>a</template>", None),
        (b"<!-->" + SHADOW + b"a</template><!-- -->", b"<!--><shadow-root>a</shadow-root><!-- -->"),
        (b"<!-- --!>" + SHADOW + b"a</template>-->", b"<!-- --!><shadow-root>a</shadow-root>-->"),
    ],
)
def test_shadow_roots_are_elements(markup: bytes, shown: bytes | None) -> None:
    assert uncover(markup, title="", has_shadow_roots=True) == (shown or markup)


@pytest.mark.parametrize(
    "opening", [b"<!--", b"<script ", b"<script a='", b"<title>", b'<template a="', b"<a "]
)
def test_markup_that_never_ends_is_read_in_linear_time(opening: bytes) -> None:
    page = XHTML + b"<title/>" + opening * 200_000
    assert end_like_xml(page).startswith(XHTML + b"<title></title>")
    assert uncover(page, title="<p>", has_shadow_roots=True)


PIECES = [
    SHADOW,
    b"<template>",
    b"</template>",
    b"<title/>",
    b"<title>",
    b"</title>",
    b"<script/>",
    b"<p>x",
    b"<!--",
]


@given(st.lists(st.sampled_from(PIECES)))
def test_nothing_but_tags_is_changed(pieces: list[bytes]) -> None:
    page = XHTML + b"".join(pieces)
    rewritten = uncover(end_like_xml(page), title="<p>", has_shadow_roots=True)
    assert rewritten.count(b"x") >= page.count(b"x")
    assert end_like_xml(end_like_xml(page)) == end_like_xml(page)
