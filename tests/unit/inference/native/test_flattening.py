"""Tags as they are read by the guard before the parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.native.flattening import MAX_ATTRIBUTES, MAX_DEPTH, flattened
from dehusk.inference.native.harmless import is_harmless
from dehusk.inference.segmentation.parser import parse

MANY = b" ".join(b"a%d" % number for number in range(MAX_ATTRIBUTES + 1))
PIECES = st.sampled_from(
    b"< > / <!-- --> --!> <! <? </ =\" =' = a <div> </div> <svg> </svg> <script> </SCRIPT".split()
    + b"<p> <b x=y> <br/>".split()
)

SCRIPT_PIECES = st.sampled_from(
    b"<script> </script> <!-- --> < > - ! <SCRIPT </Script / </script\0> <title> </title>".split(b" ")
    + b" |<script\v>|</script\v>|</script\n".split(b"|")
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


@pytest.mark.parametrize(
    "script",
    [
        b"<script><!--<script></script><title></script>",
        b"<script><!--<script ></SCRIPT/><title></script>",
        b"<script><!--<script><script></script><title></script>",
        b"<script><!--<script>--><title></script>",
        b"<script><!--><script></script>",
        b"<script><!---><script></script>",
        b"<script><!-- --><script></script>",
        b"<script><!--<script\v></script>",
        b"<script></script\v><!--<title></script>",
        b"<style><!--<style></style>",
    ],
)
def test_scripts_end_where_a_parser_ends_them(script: bytes) -> None:
    page = script + b"<a %b>" % MANY
    assert not is_harmless(page)
    assert len(flattened(page)) < len(page)
    (link,) = parse(page).css("a")
    assert len(link.attributes) > MAX_ATTRIBUTES


@pytest.mark.parametrize(
    "script",
    [
        b"<script><!--<script></script>",
        b"<script><!--<script>--><!--<script></script>",
        b"<script><!-<script><!--<script></script x",
        b"<script></script\v>",
    ],
)
def test_scripts_do_not_end_before_a_parser_ends_them(script: bytes) -> None:
    page = script + b"<a %b>" % MANY
    assert is_harmless(page)
    assert not parse(page).css("a")


@given(st.lists(SCRIPT_PIECES).map(b"".join))
def test_tags_behind_scripts_are_seen(scripts: bytes) -> None:
    page = b"<script>%b<a %b>" % (scripts, MANY)
    if any(len(link.attributes) > MAX_ATTRIBUTES for link in parse(page).css("a")):
        assert not is_harmless(page)


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
