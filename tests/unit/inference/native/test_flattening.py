"""Tags as they are read by the guard before the parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.native.flattening import MAX_ATTRIBUTES, MAX_DEPTH, flattened
from dehusk.inference.native.harmless import is_harmless

MANY = b" ".join(b"a%d" % number for number in range(MAX_ATTRIBUTES + 1))
PIECES = st.sampled_from(
    b"< > / <!-- --> --!> <! <? </ =\" =' = a <div> </div> <svg> </svg> <script> </SCRIPT".split()
    + b"<p> <b x=y> <br/>".split()
)


@pytest.mark.parametrize(
    "before", [b"", b"<p>", b"<!-- a -->", b"<!-->", b"< <3 </3>", b"<svg><style></style></svg>"]
)
@pytest.mark.parametrize(
    "tag", [b"<a %b>", b"<A %b/>", b"<a %b", b"<a\n%b >", b"<a b='>' %b>", b'<a c = ">" %b>']
)
def test_attributes_are_counted_wherever_a_tag_stands(before: bytes, tag: bytes) -> None:
    page = before + tag % MANY
    assert not is_harmless(page)
    assert len(flattened(page)) < len(page)


@pytest.mark.parametrize(
    "page",
    [
        b"<script>if (a<b %b)</script>" % MANY,
        b"<style><a %b></style>" % MANY,
        b"<!-- <a %b> -->" % MANY,
        b"<!a %b>" % MANY,
        b"</a %b>" % MANY.rpartition(b" ")[0],
        b"< a %b>" % MANY,
        b'<a b="<a %b>">' % MANY,
        b"<a %b>" % MANY.rpartition(b" ")[0],
    ],
)
def test_what_is_no_attribute_of_a_start_tag_is_kept(page: bytes) -> None:
    assert is_harmless(page)
    assert flattened(page) == page


@pytest.mark.parametrize(
    "tag", [b"script\0", b"script\0\0", b"script\v", b"scriptx", b"scrip", b"noembedded"]
)
def test_other_names_than_those_of_raw_text_hold_tags(tag: bytes) -> None:
    assert not is_harmless(b"<%b><a %b></%b>" % (tag, MANY, tag))


def test_attributes_in_noscript_are_text_with_scripting() -> None:
    page = b"<noscript><a %b></noscript>" % MANY
    assert is_harmless(page)
    assert not is_harmless(page, scripting=False)


@given(st.lists(PIECES).map(b"".join))
def test_pages_that_are_not_deep_are_kept(page: bytes) -> None:
    assert flattened(page) == page


@given(st.lists(PIECES).map(b"".join))
def test_what_is_too_deep_is_left_out_but_not_its_text(page: bytes) -> None:
    deep = b"<div>" * MAX_DEPTH
    assert flattened(deep + b"<b>text</b>" + page).startswith(deep + b"text")
    assert len(flattened(deep + page)) <= len(deep + page)
