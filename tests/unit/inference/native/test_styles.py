"""Styles that hide text; tests/browser/test_hidden.py asks a browser the same of other markup."""

import pytest

HIDING = [
    "display:none",
    "DISPLAY : None",
    "color:red; display:none",
    "color:red;;display:none;color:blue",
    "display:/**/none",
    "display/* ; */:/* : */none/**/",
    "/*;display:block;*/display:none",
    "display:none/*",
    "d\\69splay:none",
    "displa\\79 :none",
    "\\64\\69\\73play:none",
    "display:\\6eone",
    "display:\\00006eone",
    "display:n\\6F ne",
    "display:no\\ne",
    "display:none!important",
    "display:none ! /**/ im\\70ortant",
    "display:none!important;display:block",
    "display:none!important;display:revert",
    "display:block;display:none",
    "display:block!important;display:none!important",
    "display:none;display:none-such",
    "display:none;display:block none",
    "display:none;display:block inline",
    "display:none;display:flex grid",
    "display:none;display:list-item flex",
    "display:none;display:block!ie",
    "display:none;display:block!",
    "display:none;display:block !important !important",
    "display:none;display:",
    "display:none;display:!important",
    "display:none;display;display block",
    "display:none;display:'block'",
    "display:none;display:url(block)",
    "display:none;display:block(;display:block",
    "display:none;display:block}",
    "display:none;display:var(--shown)",
    "display:none;1display:block",
    "display:none;#display:block",
    "display:none;@display:block",
    "display:none;@x{display:block}",
    "@x;display:none",
    "@x{;}display:none",
    "a:url( x;y\\);z);display:none",
    "a:\\url(;);display:none",
    "a:'\\';';display:none",
    "a:'\\\n;';display:none",
    "a:'unended\n;display:none",
    "a:[(]);}]);display:none",
    "}color:red;display:none",
    "{;}color:red;display:none",
    "x:5url(')');display:none",
    "visibility:hidden",
    "visibility:collapse",
    "visibility:visible;visibility:hidden",
    "visibility:hidden;visibility:none",
    "content-visibility:hidden",
    "all:unset;display:none",
    "display:none;all:block",
]
SHOWING = [
    "",
    "display",
    "display:",
    "display none",
    "display::none",
    "display:none-such",
    "display:none such",
    "display:no/**/ne",
    "dis/**/play:none",
    "display:'none'",
    "display:none(",
    "display:none)",
    "display:none{}",
    "display:none;display:block",
    "display:none;display:flow inline list-item",
    "display:none;display:-webkit-box",
    "display:none;display:inline/**/flex",
    "display:none;display:revert",
    "display:none;all:initial",
    "display:block!important;display:none",
    "display:none\\",
    "display:none\\9",
    "display:\x0bnone",
    "display:\xa0none",
    "*display:none",
    "-display:none",
    "--display:none",
    "x-display:none",
    "overflow:hidden",
    "border:none",
    "opacity:0",
    "a:url(;display:none",
    "a:url(;display:none)",
    "a:url(x\\);display:none)",
    "a:url( ';display:none)')",
    "a:';display:none'",
    "a:(;display:none)",
    "a:[;display:none",
    "a:{;display:none}",
    "@x{display:none}",
    "@x display:none",
    "{display:none}",
    "x display:none",
    "/*display:none*/",
    "/*/display:none",
    "<!--display:none-->",
    "a\\;display:none",
    "visibility:hidden;visibility:visible",
    "visibility:hidden;visibility:initial",
    "visibility:hidden;all:inherit",
    "content-visibility:auto",
    f"{'(' * 9999}{')' * 9998};display:none",
]


def styled(style: str) -> str:
    return "".join(f"&#{ord(character)};" for character in style)


@pytest.mark.parametrize("style", [*HIDING, f"a:{'(' * 9999}{')' * 9999};display:none"])
def test_a_style_hides_an_element_by_its_last_valid_declaration(hidden, style: str) -> None:
    assert hidden(f"<p style='{styled(style)}'>text") == [("text", True)]


@pytest.mark.parametrize("style", SHOWING)
def test_a_style_that_declares_nothing_else_shows_an_element(hidden, style: str) -> None:
    assert hidden(f"<p style='{styled(style)}'>text") == [("text", False)]


@pytest.mark.parametrize(
    ("element", "is_hidden"),
    [
        ("<p hidden=until-found>", True),
        ("<p hidden=Until-Found style='content-visibility:visible'>", False),
        ("<p hidden=until-found style='display:none'>", True),
        ("<p hidden=until-found style='display:block'>", True),
        ("<p hidden style='display:block'>", False),
        ("<p hidden style='display:revert'>", True),
        ("<p hidden style='visibility:visible'>", True),
        ("<p popover>", True),
        ("<p popover=manual style='display:block'>", False),
        ("<dialog>", True),
        ("<dialog open>", False),
        ("<dialog popover>", True),
        ("<dialog popover open>", False),
        ("<dialog style='display:block'>", False),
        ("<dialog open hidden>", True),
    ],
)
def test_a_style_outweighs_what_hides_an_element_without_it(hidden, element: str, *, is_hidden: bool) -> None:
    assert hidden(f"{element}text") == [("text", is_hidden)]


@pytest.mark.parametrize(
    ("outer", "inner", "is_hidden"),
    [
        ("visibility:hidden", "", True),
        ("visibility:hidden", "visibility:visible", False),
        ("visibility:hidden", "visibility:initial", False),
        ("visibility:hidden", "visibility:inherit", True),
        ("visibility:hidden", "visibility:revert", True),
        ("visibility:hidden", "all:unset", True),
        ("visibility:hidden", "all:initial", False),
        ("visibility:hidden", "visibility:visible;display:none", True),
        ("visibility:hidden;display:none", "visibility:visible", True),
        ("display:none", "display:block;visibility:visible", True),
        ("content-visibility:hidden", "content-visibility:visible;visibility:visible", True),
    ],
)
def test_visibility_is_inherited_and_what_is_not_displayed_has_no_exception(
    hidden, outer: str, inner: str, *, is_hidden: bool
) -> None:
    html = f"<div style='{outer}'><div><p style='{inner}'><b>text"
    assert hidden(html) == [("text", is_hidden)]
    assert hidden(f"<svg style='{outer}'><g style='{inner}'><foreignObject><p>text") == [("text", is_hidden)]


def test_what_is_visible_in_an_invisible_line_is_a_block_of_its_own(hidden) -> None:
    html = "<p style='visibility:hidden'>one <b style='visibility:visible'>two <i>three</i></b> four"
    assert hidden(html) == [("one", True), ("two three", False), ("four", True)]


def test_noscript_in_what_is_not_shown_does_not_count(hidden) -> None:
    words = " ".join(f"word{number}" for number in range(120))
    page = "<div style='visibility:hidden'><noscript{}>" + words
    assert hidden(page.format("")) == []
    assert hidden(page.format(" style='visibility:visible'")) == [(words, False)]
