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
    "display:none;display:var(shown)",
    "display:none;display:var(--)",
    "display:none;display:var(--x block)",
    "display:none;display:var(--x,block;)",
    "display:none;display:var(--x,!block)",
    "display:none;display:block var(--x) url(a b)",
    "display:none;display:block {} var(--x)",
    "display:none;display:block)var(--x)",
    "display:none;display:env(5,block)",
    "display:none;display:env(x y,block)",
    "display:none;display:attr(x type(<none>),block)",
    "display:none;display:if(block)",
    "display:none;display:if(style(--x) or else:block)",
    "display:none;display:--(block)",
    "display:none;display:inherit(--x,block)",
    "display:var(--u,none)",
    "display:VAR( --u , NONE )",
    "display:var(--u,var(--v,none))",
    "display:var(--u,none)!important;display:block",
    "display:block;display:var(--u,none",
    "--u:none;display:var(--u)",
    "--u:none;display:var(--\\75)",
    "display:var(--u);--u:none",
    "--u:none!important;--u:block;display:var(--u)",
    "--u:none;--u:var(v);display:var(--u)",
    "--u:/**/ ;display:var(--u)none",
    "--v:none;--u:var(--v);display:var(--u)",
    "--u:var(--u);display:var(--u,none)",
    "--u:var(--v);--v:var(--u);--w:var(--u,none);display:var(--w)",
    "--u:initial;display:var(--u,none)",
    "visibility:var(--q,hidden)",
    "--q:collapse;visibility:var(--q)",
    "content-visibility:var(--q,hidden)",
    "display:env(nope,none)",
    "display:attr(data-x type(*),none)",
    "display:attr(data-x,none)",
    "display:attr(title type(*))",
    "display:attr(TITLE type(<custom-ident>))",
    "display:attr(title type(block | none),block)",
    "display:attr(title type(<length>),none)",
    "display:attr(lang px,none)",
    "display:if(else:none)",
    "display:if(style(--u):block;else:none)",
    "--u:1;display:if(style(--u):none)",
    "--u: 1.5px ;display:if(style(--u:1.5px):none;else:block)",
    "--u:1;display:if(not style(--u:2):none)",
    "--u:1;display:if(style((--u:1) and (not (--v))):none;else:block)",
    "--u:1;display:if(style(--v) or style(--u:1):none;else:block)",
    "display:if(x(y):block;else:none)",
    "display:if(media(hover):none;else:none)",
    "display:if(media(width>1px):none)",
    "display:if(media(min-width:600px):none;else:block)",
    "display:if(media(600px <= width):none;else:block)",
    "display:if(media(20rem < width <= 3000px):none;else:block)",
    "display:if(media((max-width:600px) or (orientation:landscape)):none;else:block)",
    "display:if(media(not (max-width:600px)):none;else:block)",
    "display:if(media(max-width:600px):block;else:none)",
    "display:if(supports(display:grid):none;else:block)",
    "display:if(supports((display:grid) and (--u:1)):none;else:block)",
    "display:if(media(width>1px) and style(--u):block;else:none)",
    "all:var(--u,none)",
    "display:table-column",
    "display:inline;float:left;content-visibility:hidden",
    "display:inline;position:fixed;content-visibility:hidden",
    "display:table-row;position:var(--u,absolute);content-visibility:hidden",
    f"display:{'var(--u,' * 99}none{')' * 99}",
    f"display:{'var(--u,' * 9999}none",
    f"--a:none;{''.join(f'--{number}:var(--a) var(--a);' * 99 for number in 'bcdef')}display:var(--u,none)",
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
    "display:none;display:var(--u)",
    "display:none;display:var(--u,)",
    "display:none;display:var(--u,none none)",
    "display:none;display:var(--u) none",
    "display:none;display:x(var(--u))",
    "display:none;display:{var(--u)}",
    "display:none;display:--f(none)",
    "display:none;display:env(nope)",
    "display:none;display:env(safe-area-inset-top,none)",
    "display:none;display:attr(title,none)",
    "display:none;display:attr(nope type(*))",
    "display:none;display:if(style(--u):none)",
    "display:none;display:if(media(hover):none)",
    "display:if(media(min-width:1200px):none;else:block)",
    "display:if(media(max-width:600px):none;else:block)",
    "display:if(media(600px > width):none;else:block)",
    "display:if(media(500px < width < 900px):none;else:block)",
    "display:if(media((min-width:600px) and (width < 40em)):none;else:block)",
    "display:if(media(not (min-width:600px)):none;else:block)",
    "display:if(media(orientation:portrait):none;else:block)",
    "display:if(media(print):none;else:block)",
    "display:if(media(screen and (min-width:600px)):none;else:block)",
    "display:if(supports(display:none-such):none;else:block)",
    "display:if(supports(not (display:grid)):none;else:block)",
    "display:none;display:if(supports(display:grid) and style(--u):none;else:block)",
    "--u:block;display:var(--u,none)",
    "--U:none;display:var(--u)",
    "--u:none!important x;display:var(--u)",
    "-- u:none;display:var(--u,block)",
    "display:var(--u,none);display:block",
    "display:none;all:var(--u)",
    "visibility:hidden;visibility:var(--u)",
    "content-visibility:hidden;content-visibility:var(--u)",
    "display:inline;content-visibility:hidden",
    "display:contents;content-visibility:hidden",
    "display:table;position:absolute;content-visibility:hidden",
    "display:inline list-item;content-visibility:hidden",
    "display:ruby;position:sticky;content-visibility:hidden",
    "display:table-column;float:left",
    f"{'(' * 9999}{')' * 9998};display:none",
]


def styled(style: str) -> str:
    return "".join(f"&#{ord(character)};" for character in style)


@pytest.mark.parametrize("style", [*HIDING, f"a:{'(' * 9999}{')' * 9999};display:none"])
def test_a_style_hides_an_element_by_its_last_valid_declaration(hidden, style: str) -> None:
    assert hidden(f"<p title=none lang=x style='{styled(style)}'>text") == [("text", True)]


@pytest.mark.parametrize("style", SHOWING)
def test_a_style_that_declares_nothing_else_shows_an_element(hidden, style: str) -> None:
    assert hidden(f"<p title=none lang=x style='{styled(style)}'>text") == [("text", False)]


@pytest.mark.parametrize(
    ("html", "is_hidden"),
    [
        ("<div style='--u:none'><p><b style='display:var(--u)'>", True),
        ("<div style='--u:none'><p style='--u:block'><b style='display:var(--u)'>", False),
        ("<div style='--u:none'><p style='--u:inherit'><b style='display:var(--u)'>", True),
        ("<div style='--u:none'><p style='--u:initial'><b style='display:var(--u)'>", False),
        ("<div style='--u:none'></div><p style='display:var(--u)'>", False),
        ("<div style='--v:var(--u,none)'><p style='--u:block'><b style='display:var(--v)'>", True),
        ("<div style='--u:none'><p style='--v:var(--u);--u:block'><b style='display:var(--v)'>", False),
        ("<svg style='--u:none'><g style='--v:1'><foreignObject style='display:var(--u)'>", True),
        ("<svg style='--u:none'><foreignObject><p style='display:var(--u)'>", True),
        ("<p lang='attr(lang type(*))' style='display:attr(lang type(*),none)'>", True),
        ("<p lang='var(--u,none)' style='display:attr(lang type(*))'>", True),
        ("<p lang='none;' style='display:attr(lang type(*))'>", False),
        ("<p lang='inline flex' style='display:attr(lang type(<custom-ident>+),none)'>", False),
    ],
)
def test_references_lead_to_attributes_and_to_the_elements_around(
    hidden, html: str, *, is_hidden: bool
) -> None:
    assert hidden(f"{html}text") == [("text", is_hidden)]


@pytest.mark.parametrize(
    ("html", "is_hidden"),
    [
        ("<span style='content-visibility:hidden'>", False),
        ("<span hidden=until-found>", False),
        ("<x-y hidden=until-found>", False),
        ("<p><span style='display:inline-block' hidden=until-found>", True),
        ("<p style='display:flex'><span hidden=until-found>", True),
        ("<p style='display:flex'><b style='display:contents'><span hidden=until-found>", True),
        ("<p style='display:grid'><b><span hidden=until-found>", False),
        ("<table style='content-visibility:hidden'><td>", False),
        ("<table><tr style='content-visibility:hidden'><td>", False),
        ("<table><td style='content-visibility:hidden'>", True),
        ("<button style='display:inline;content-visibility:hidden'>", True),
        ("<textarea style='display:contents'>", True),
        ("<slot style='content-visibility:hidden'>", False),
        ("<dialog open style='display:table-column'>", False),
        ("<math hidden><mtext>", False),
        ("<math popover><mtext>", False),
        ("<math style='display:none'><mtext>", True),
        ("<math style='display:contents'><mtext>", True),
        ("<math style='content-visibility:hidden'><mtext>", True),
        ("<math style='display:inline;content-visibility:hidden'><mtext>", False),
        ("<math style='display:block math'><mtext><b style='content-visibility:hidden'>", True),
        ("<p style='display:math;content-visibility:hidden'>", False),
        ("<math><mphantom><mtext>", True),
        ("<math><semantics><mi>x</mi><mtext>", True),
        ("<math><maction><mi>x</mi> <mtext>", True),
        ("<svg hidden><foreignObject>", False),
        ("<svg><foreignObject hidden>", False),
        ("<svg style='display:none'><foreignObject>", True),
        ("<svg style='display:contents'><foreignObject>", True),
        ("<svg><svg style='display:contents'><foreignObject>", False),
        ("<svg style='display:table-column'><foreignObject>", False),
        ("<svg><g display=none><foreignObject>", True),
        ("<svg><g display='var(--u,none)'><foreignObject>", True),
        ("<svg><g display='none;'><foreignObject>", False),
        ("<svg><g display='none!important'><foreignObject>", False),
        ("<svg><g style='display:inline' display=none><foreignObject>", False),
        ("<svg><g visibility=hidden><foreignObject>", True),
        ("<svg><g visibility=hidden><foreignObject visibility=visible>", False),
        ("<svg><defs><foreignObject>", True),
        ("<svg><rect><foreignObject>", True),
        ("<svg><a><switch><foreignObject>", False),
        ("<p display=none visibility=hidden>", False),
    ],
)
def test_an_element_is_hidden_by_what_hides_one_of_its_kind(hidden, html: str, *, is_hidden: bool) -> None:
    assert hidden(f"{html}text")[-1] == ("text", is_hidden)


def test_references_are_followed_within_limits(hidden) -> None:
    doubled = "".join(f"--{number}:var(--{number - 1}) var(--{number - 1});" for number in range(1, 40))
    assert hidden(f"<p style='--0:none;{doubled}display:var(--39)'>text") == [("text", False)]
    deep = "".join(f"<span style='--u{number}:0;display:var(--v)'>" for number in range(5_000))
    assert hidden(f"<div style='--v:none'>{deep}text") == [("text", True)]
    long = f"display:{'/**/ x(' * 20_000}{')' * 20_000}"
    assert hidden(f"<p style='{long};display:block'>text") == [("text", True)]
    assert hidden(f"<p style='--a:{'x ' * 20_000};display:var(--a)'>text") == [("text", False)]
    around = "".join(f"<span style='--{number}:var(--{number - 1})'>" for number in range(5_000))
    assert hidden(f"{around}<span style='display:var(--4999)'>text") == [("text", True)]


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
        ("visibility:hidden", "visibility:var(--u)", True),
        ("visibility:hidden", "visibility:visible;visibility:var(--u)", True),
        ("visibility:hidden", "visibility:var(--u,visible)", False),
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


@pytest.mark.parametrize(
    "html",
    [
        f"<p style='display:attr(data-x type(<length>), none)' data-x='{'1' * 100_000}'>text",
        f"""<p style='display:attr(data-x type(<length> "{" " * 100_000}"))'>text""",
    ],
)
def test_types_of_attributes_are_read_in_linear_time(hidden, html: str) -> None:
    assert [text for text, _ in hidden(html)] == ["text"]


@pytest.mark.parametrize("style", ["color:red;" * 40, f"display:var(--a, {'a ' * 9000})"])
def test_elements_of_a_drawing_are_read_once(hidden, style: str) -> None:
    around = f"<g style='{style}'>" * 20
    html = "<foreignObject>x</foreignObject>" * 5_000
    assert hidden(f"<svg>{around}{html}") == [("x", False)] * 5_000


def test_html_in_a_drawing_is_hidden_by_what_is_around_it_alone(hidden) -> None:
    shown = "<foreignObject>a</foreignObject>"
    concealed = "<g style='display:none'><foreignObject>b</foreignObject></g>"
    assert hidden(f"<svg><g>{shown}{concealed}{shown}</g></svg><svg>{shown}") == [
        ("a", False),
        ("b", True),
        ("a", False),
        ("a", False),
    ]


NESTED = "(" * 600 + "{}" + ")" * 600


@pytest.mark.parametrize("condition", [NESTED.format("style(--a)"), f"style({NESTED.format('--a')})"])
def test_conditions_nest_as_deep_as_they_like(hidden, condition: str) -> None:
    html = f"<p style='display:if({condition}: none; else: block)'>text"
    assert [text for text, _ in hidden(html)] == ["text"]
