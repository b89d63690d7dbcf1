import itertools
import re
import string
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dehusk.inference.native.flattening import MAX_ATTRIBUTES, MAX_DEPTH, MAX_FORMATTING
from dehusk.inference.segmentation.parser import flatten, parse
from dehusk.inference.segmentation.segmentation import segment

MANY = b"<p>x</p>" * 30_000
"""Tags enough for a page to be looked at closely."""


def test_an_ordinary_page_stays_as_it_is() -> None:
    page = b"<div>" * 2_000 + b"<p a b=c>text</p>"
    assert flatten(page) is page


def test_a_large_page_stays_as_it_is() -> None:
    assert flatten(MANY) == MANY


def test_elements_nest_no_deeper_than_the_limit() -> None:
    page = b"<div>" * 30_000 + b"<p>text</p>" + b"</div>" * 30_000 + b"<i>after</i>"
    flat = flatten(page)
    assert flat == b"<div>" * MAX_DEPTH + b"<p>text</p>" + b"</div>" * MAX_DEPTH + b"<i>after</i>"


@pytest.mark.parametrize(
    "unit",
    [
        b"<div><table></div></table>",
        b"<span><div></span>",
        b"<b><div></b>",
        b"<div><!--</div>-->",
        b"<div x='</div>'>",
        b"<div><script></div></script>",
        b"<div><svg><desc></div>",
        b"<DIV></P>",
    ],
)
def test_end_tags_that_end_nothing_do_not_hide_the_nesting(unit: bytes) -> None:
    assert depth(flatten(unit * 30_000)) <= 3 * MAX_DEPTH


@pytest.mark.parametrize(
    "unit",
    [
        b"<div><br><img src=x></div>",
        b"<ul><li>a<li>b</ul>",
        b"<table><tr><td>a<td>b</table>",
        b"<dl><dt>a<dd>b</dl>",
        b"<p>a<p>b",
        b"<svg><path/><g><circle /></g></svg>",
        b"<div><svg><g></div>",
        b"<div><section></div>",
        b"<p><b>a</i></b></p>",
        b"<script>if (a<b) '<div>'</script>",
        b"<!--><div></div><!-- <div> -->",
        b"<textarea><div></textarea>",
        b"<ruby>a<rt>b</ruby>",
        b"<select><option>a<option>b</select>",
        b"<select><optgroup><option>a<option>b</optgroup></select>",
        b"<li><div><b>a</b><li>b",
        b"<option>a<li>b",
        b"<dl><dt>a<dd>b<ul><li>c<li>d</ul><dt>e</dl>",
        b"<a href='x>y'>a</a>",
        b"<a name=x><h3>q</h3><p>a <i>no</i>",
        b"<div><a href=x></div><p><nobr>a",
        b"<h2>a<h3>b",
        b"<button>a",
        b"<form><p>a",
        b"<form><p>a</p></form>",
    ],
)
def test_elements_that_end_do_not_count_as_open(unit: bytes) -> None:
    page = unit * 30_000
    assert flatten(page) == page


@pytest.mark.parametrize(
    "unit",
    [
        *(b"<a><div>", b"<h2><b>", b"<template><form>", b"</form><form><div>"),
        *(b"<li><dt>", b"<dd><li>", b"<option><h1>", b"<optgroup><optgroup>", b"<p><li><dt>"),
    ],
)
def test_elements_that_the_next_of_their_kind_ends_hide_no_nesting(unit: bytes) -> None:
    assert len(flatten(unit * 30_000)) < 2 * MAX_DEPTH * len(unit) + 9 * 30_000


def depth(html: bytes) -> int:
    depths = {0: 0}
    root = parse(html).root
    assert root is not None
    for node in root.traverse(include_text=False):
        depths[node.mem_id] = 1 + depths.get(node.parent.mem_id if node.parent else 0, 0)
    return max(depths.values())


@pytest.mark.parametrize(
    "unit",
    [
        *(b"<td>", b"<input a>", b"<a>", b"<form>", b"<html>", b"<button>", b"<svg><td>", b"<math><tr>"),
        *(b"<svg><i a=%d><tr>", b"<svg><body><col>", b"<mi><svg><td>", b"<desc><td>", b"<title><td>"),
    ],
)
@pytest.mark.parametrize("root", [b"<svg>", b"<math>", b"<svg><desc>", b"<svg><foreignObject><math>"])
def test_nothing_nests_too_deep_in_drawings_and_formulas(root: bytes, unit: bytes) -> None:
    """There, elements of HTML such as cells do not end each other, unless they end the drawing."""
    units = b"".join(unit % number if b"%d" in unit else unit for number in range(25_000))
    assert depth(flatten(root + units)) <= 4 * MAX_DEPTH


@pytest.mark.parametrize(
    "unit",
    [b"<svg a=/>", b"<svg a= />", b"<svg a=b/>", b"<math a=/><mrow a=/>", b"<svg / >", b"<svg/ a=b//>"],
)
def test_a_slash_at_the_end_of_a_value_ends_no_element(unit: bytes) -> None:
    assert depth(flatten(unit * 25_000)) <= 2 * MAX_DEPTH


@pytest.mark.parametrize(
    "unit",
    [
        b"<svg a=''/><svg a /><svg =/><svg/><math><mi a='/'/></math>",
        b"<svg><title>a</title><style>b</style><path d=e/></svg>",
        b"<math><mi>a</mi><mo>b</mo></math>",
    ],
)
def test_drawings_and_formulas_stay_as_they_are(unit: bytes) -> None:
    page = unit * 30_000
    assert flatten(page) == page


@pytest.mark.parametrize("unit", [b"<frameset>", b"<FRAMESET a=b><style>", b"<frameset><textarea><a>"])
def test_framesets_nest_no_deeper_than_the_limit(unit: bytes) -> None:
    assert depth(flatten(unit * 25_000)) <= 2 * MAX_DEPTH


@pytest.mark.parametrize(
    "before",
    [
        b"<svg><desc></desc><style>",
        b"<svg><p><style>",
        b"<svg><title><b></b></title><style>",
        b"<frameset><style>",
        b"<math><svg></math><style>",
    ],
)
def test_raw_text_hides_no_nesting_where_a_parser_reads_none(before: bytes) -> None:
    page = before + b"<svg>" + b"<g>" * 25_000
    assert depth(flatten(page)) <= 2 * MAX_DEPTH


@pytest.mark.parametrize(
    "before",
    [
        b"<svg></p><style><!--</style>",
        b"<div><svg></div><style><!--</style>",
        b"<svg><g></br><script><!--x</script>",
        b"<svg><font a color=b><style><!--</style>",
    ],
)
def test_what_ends_a_drawing_lets_raw_text_hide_nothing(before: bytes) -> None:
    assert depth(flatten(before + b"<div>" * 25_000)) <= 2 * MAX_DEPTH


@pytest.mark.parametrize(
    "before",
    [
        b"<svg></b><style>",
        b"<svg><font a=color><style>",
        b"<math></div><style>",
        b"<svg><desc></desc></svg><p><svg><style>",
    ],
)
def test_what_ends_no_drawing_lets_raw_text_hide_nothing(before: bytes) -> None:
    assert depth(flatten(before + b"<g>" * 25_000)) <= 2 * MAX_DEPTH


@pytest.mark.parametrize("before", [b"<template><col><style></template>", b"<template><COL a><script>"])
def test_a_column_in_a_template_lets_raw_text_hide_nothing(before: bytes) -> None:
    """A parser expects columns alone from then on, and passes over the start tag of the raw text."""
    assert depth(flatten(before + b"<div>" * 25_000)) <= 2 * MAX_DEPTH


@pytest.mark.parametrize("tag", [b"script", b"style", b"textarea"])
def test_raw_text_keeps_its_element_however_deep_that_is(tag: bytes) -> None:
    raw = b"<%b>a < b<div></%b>text" % (tag, tag) * 30_000
    assert flatten(b"<div>" * 600 + raw) == b"<div>" * MAX_DEPTH + raw


def test_end_tags_have_no_attributes_that_would_have_a_text_copied_at_each() -> None:
    page = b"<p>" + b"</x a=bcd>text" * 18_000
    assert flatten(page) == b"<p>" + b"</x a=bcd>text" * 100 + b"</x>text" * 17_900


@pytest.mark.parametrize("unit", [b"<math><mn><th size=1>", b"<svg><g><desc><i/>", b"<math><mi><svg/><td>"])
def test_what_is_too_deep_for_a_drawing_or_formula_nests_no_deeper(unit: bytes) -> None:
    assert depth(flatten(b"<div>" * 600 + unit * 20_000)) <= 2 * MAX_DEPTH


def test_noscript_that_is_read_is_ended_by_no_ordinary_element() -> None:
    flat = flatten(b"<font><nobr><noscript>" * 20_000, scripting=False)
    assert depth(flat) <= 4 * MAX_DEPTH


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "page",
    [
        b"<i-x>" * 19_000 + b"</b>" * 300_000,
        b"".join(b"<x%d></x%d>" % (number, number) for number in range(120_000)),
        b"".join(b"</x%d>" % number for number in range(240_000)),
        b"".join(b"<p a%d>" % number for number in range(240_000)),
        b"".join(b"</p a%d>" % number for number in range(240_000)),
        b"".join(b"<p %b>" % b" ".join(b"a%d" % (500 * p + a) for a in range(500)) for p in range(400)),
        b"</p %b>" % b" ".join(b"a%d" % number for number in range(240_000)),
    ],
    ids=["ends", "tags", "ends of tags", "attributes", "of ends", "of some tags", "of one end"],
)
def test_many_names_and_ends_are_read_in_time(page: bytes) -> None:
    parse(flatten(page))


def test_tags_left_out_take_little_memory() -> None:
    page = b"<q>" * 400_000
    tracemalloc.start()
    try:
        assert flatten(page) == b"<q>" * MAX_DEPTH
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 24 * len(page)


def test_names_beyond_the_limit_are_left_out_but_not_their_text() -> None:
    names = b"".join(b"<x%d a%d=1>%d</x%d>" % (4 * (number,)) for number in range(30_000))
    flat = flatten(names + b"<x7 a8=2>text</x7>")
    assert flat.startswith(b"<x0 a0=1>0</x0><x1 a1=1>1</x1>")
    assert flat.endswith(b"29998" + b"29999" + b"<x7 a8=2>text</x7>")


def test_elements_of_html_are_kept_after_however_many_names() -> None:
    names = b"".join(b"<x%d></x%d>" % (number, number) for number in range(30_000))
    last = b"<figure><script>if (a<b)</script></figure>"
    assert flatten(names + last).endswith(b"<x4095></x4095>" + last)


COLLIDING = (2, -1, -5, -12, 13, 4, 12, 2, -6, -3, 5, 8, 0, 3)
"""Differences, letter by letter, between two names with the same FNV-1a of 64 bits."""


def _colliding(one: int, other: int, differences: tuple[int, ...] = COLLIDING) -> tuple[bytes, bytes] | None:
    """Return ends of two names that collide in FNV-1a, which differ by the lowest byte of its state alone."""
    if not differences:
        return b"", b""
    for pair in itertools.product(string.ascii_lowercase.encode() + b"0123456789-._:", repeat=2):
        reached, also = one ^ pair[0], other ^ pair[1]
        if reached - one - (also - other) == differences[0]:
            ends = _colliding(reached * 0xB3 & 0xFF, also * 0xB3 & 0xFF, differences[1:])
            if ends is not None:
                return bytes((pair[0], *ends[0])), bytes((pair[1], *ends[1]))
    return None


def test_no_end_tag_ends_an_element_of_another_name() -> None:
    """Names made to collide in a weak hash would hide the nesting, whatever state that starts from."""
    pairs = [pair for state in range(256) if (pair := _colliding(state, state))]
    assert len(pairs) == 256
    page = b"<div>" * 20_001 + b"".join(b"<x%b></x%b>" % pair for pair in pairs)
    assert flatten(page) == b"<div>" * MAX_DEPTH + b"".join(b"</x%b>" % other for _, other in pairs)


def test_elements_in_noscript_nest_where_they_are_read() -> None:
    page = b"<noscript>" + b"<div>" * 30_000 + b"text</noscript>"
    assert flatten(page) == page
    assert flatten(page, scripting=False) == b"<noscript>" + b"<div>" * (MAX_DEPTH - 1) + b"text</noscript>"


def test_a_tag_keeps_its_first_attributes() -> None:
    page = b"<p " + b" ".join(b'a%d="<"' % number for number in range(30_000)) + b">text</p>"
    flat = flatten(page)
    assert flat.startswith(b'<p a0="<" a1="<"')
    assert flat.endswith(b'a%d="<">text</p>' % (MAX_ATTRIBUTES - 1))


@pytest.mark.parametrize("value", [b"", b"=1", b'="x>y"', b"='x>y'", b" = x"])
def test_attributes_are_counted_however_they_are_written(value: bytes) -> None:
    page = b"<p " + b" ".join(b"a%d%b" % (number, value) for number in range(30_000)) + b">text</p>"
    flat = flatten(page)
    assert flat.endswith(b">text</p>")
    assert len(re.findall(rb"\ba\d+", flat)) == MAX_ATTRIBUTES


def test_attributes_are_counted_whatever_their_values_hold() -> None:
    """A `<` in a value begins no tag."""
    values = (b'="<a>"' if number % 500 == 0 else b"" for number in range(10_000))
    page = b"<p " + b" ".join(b"a%d%b" % numbered for numbered in enumerate(values)) + b">text</p>"
    assert len(flatten(page).split()) == 1 + MAX_ATTRIBUTES


def _formatted(tags: bytes, blocks: int = 2_000) -> bytes:
    return b"<div>" + tags + b"</div>" + b"<p>text</p>" * blocks


@pytest.mark.parametrize(
    "unit",
    [
        b"<b a%d>",
        b"<B\ta%d>",
        b"<font a%d>",
        b"<svg><i a%d/>",
        b"<strong a%d><br></b>",
        b"<b a%d><b></b>",
        b"<b a%d><!--</b>-->",
        b"<b a%d><table></b></table>",
    ],
)
def test_formatting_without_end_is_opened_again_a_limited_number_of_times(unit: bytes) -> None:
    page = _formatted(b"".join(unit % number for number in range(500)))
    document = parse(flatten(page))
    assert len(document.css("b, i, font, strong")) < 2_500 * MAX_FORMATTING
    assert len(segment(page).texts) == 2_000


@pytest.mark.parametrize(
    "tags",
    [
        b"".join(b"<b a%d>x</b>" % number for number in range(2_000)),
        b"".join(b"<i a%d/></i>" % number for number in range(2_000)),
        b"<em><code a=b>" * (MAX_FORMATTING // 2) + b"</code></em>" * (MAX_FORMATTING // 2),
    ],
)
def test_formatting_that_ends_stays_as_it_is(tags: bytes) -> None:
    page = _formatted(tags, 30_000)
    assert flatten(page) == page


def test_few_elements_of_formatting_may_wait_for_their_end() -> None:
    page = _formatted(b"".join(b"<b a%d>" % number for number in range(100)))
    assert flatten(page) is page


def test_a_long_tag_with_few_attributes_stays_as_it_is() -> None:
    page = (
        b"<img src='data:image/png;base64,"
        + b"A" * 200_000
        + b"'><script>"
        + b'{"a": 1},' * 20_000
        + b"</script>"
    )
    assert flatten(page) is page


def test_a_long_tag_of_a_drawing_ends_as_it_did() -> None:
    path = b"<path d='" + b"L1 1" * 1_000 + b"'/>"
    page = b"<svg>" + path * 3 + b"<foreignObject>text</foreignObject></svg>" + MANY
    assert flatten(page).count(b"/>") == 3
    assert not any(segment(page).hidden)


def test_a_slash_is_no_part_of_the_last_value_of_a_long_tag() -> None:
    unit = b"<g" + b" a" * (MAX_ATTRIBUTES - 1) + b" a=b a/>"
    assert depth(flatten(b"<svg>" + unit * 1_200)) < MAX_DEPTH


@pytest.mark.parametrize("tag", [b"html", b"body"])
def test_attributes_are_not_gathered_from_tag_to_tag(tag: bytes) -> None:
    page = b"".join(b"<%b a%d>" % (tag, number) for number in range(30_000))
    assert flatten(page) == b"<%b a0>" % tag


TAGS = st.sampled_from(
    [b"<div>", b"</div>", b"<b>", b"</b>", b"<i x=y>", b"<td>", b"<li>", b"</p>", b"<br>", b"w"]
)


@given(st.lists(TAGS, max_size=60))
@settings(max_examples=20)
def test_no_text_is_lost(tail: list[bytes]) -> None:
    page = b"<a>" * 20_001 + b"".join(tail)
    assert "".join("".join(segment(page).texts).split()) == "w" * tail.count(b"w")


@given(st.binary(max_size=300))
@settings(max_examples=20)
def test_any_bytes_are_survived(tail: bytes) -> None:
    assert flatten(b"<a>" * 20_001 + tail).startswith(b"<a>" * MAX_DEPTH)
