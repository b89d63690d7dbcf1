import pytest

from dehusk.inference.markup.elements import (
    BLOCK,
    BREAK,
    CELL,
    CUSTOM,
    FALLBACK,
    INLINE,
    LINE_BOX,
    LINK,
    NUMBERED,
    SKIPPED,
    TAGS,
    TIGHT,
    UNLESS_OPEN,
    traits,
)
from dehusk.schemas.pages import Boundary, ElementFlag, TagCount


@pytest.mark.parametrize(
    ("tag", "kind"),
    [
        ("div", BLOCK),
        ("x-element", CUSTOM),
        ("", CUSTOM),
        ("span", INLINE),
        ("strong", TIGHT),
        ("a", LINK),
        ("br", BREAK),
        ("noscript", FALLBACK),
        ("script", SKIPPED),
    ],
)
def test_an_element_is_of_one_kind(tag: str, kind: int) -> None:
    assert traits(tag).kind == kind


def test_traits_say_what_is_known_of_a_tag() -> None:
    assert traits("h3").heading == 3
    assert traits("pre").preformatted
    assert traits("th").flag == ElementFlag.CELL
    assert traits("td").edge == Boundary.CELL
    assert (traits("ol").lists, traits("td").tables) == (NUMBERED, CELL)
    assert traits("button").counted == TagCount.CONTROLS
    assert traits("dialog").hides == UNLESS_OPEN


def test_nothing_is_known_of_other_tags() -> None:
    assert traits("x-element") == traits("section")._replace(kind=CUSTOM, box=LINE_BOX)
    assert (traits("x-element").heading, traits("x-element").flag, traits("x-element").counted) == (0, 0, -1)


def test_every_tag_is_named_once() -> None:
    assert len(set(TAGS)) == len(TAGS)
