"""Hidden parts of a page, as a browser has them: whatever the styles and attributes of their elements."""

import re
from collections.abc import AsyncIterator
from itertools import count

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from playwright.async_api import Browser, Page

from dehusk.inference.segmentation.segmentation import segment

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAMES = st.sampled_from(["display", "visibility", "content-visibility", "display", "float", "position"])
ODD_NAMES = st.sampled_from(
    r"all DISPLAY d\69splay \64isplay dis/**/play x-display --display 1display #display".split()  # noqa: SIM905
)
CUSTOM_NAMES = st.sampled_from(["--u", "--v", r"--\75"])
VALUES = st.sampled_from(
    r"""
    none hidden block inline visible collapse flex grid flow flow-root list-item inherit initial unset
    contents inline-block table table-cell table-caption table-row table-column ruby math -webkit-box
    none-such NONE \6eone no\ne left absolute
    """.split()  # noqa: SIM905 -- a table of names
)
ODDITIES = st.sampled_from(
    r"""
    'none' ";display:none;" url(none) url(;display:none url('a') URL(;) url(\);none) x(none) (;display:none;)
    { } ( ) [ ] ' " é 5none #none # @none @x{} @ <!-- --> - -- \ \; \: \9 ! !important !\69mportant
    !importantx /* */ /*;*/ 5 + . % * , var(u) var(--) var(--u;) env() attr(5) if() --(none)
    """.split()  # noqa: SIM905 -- a table of names
) | st.sampled_from(["\n", "\r", "\f", "\v", "\xa0", "\\\n", "\\9\r\n", "displa\\79 :none", "! IMPORTANT"])
REFERENCES = st.recursive(
    VALUES,
    lambda inner: st.builds(
        "{}{}{})".format,
        st.sampled_from(
            r"""
            var(--u, var(--v, var(--\75, VAR(--no, env(no, env(safe-area-inset-top, attr(data-no, attr(data-x,
            --f( x( attr(data-x_type(*), attr(data-x_type(<custom-ident>), attr(data-x_type(none|flex),
            attr(data-no_type(*), attr(data-x_type(<length>), if(else: if(style(--u): if(style(--u:none):
            if(not_style(--v:flex): if(style(--u)_and_style(--v): if(style((--u)_or_(--v:none)):
            if(media(min-width:600px): if(media(max-width:600px): if(media(not_(width<40em)):
            if(media((width>2000px)_or_(orientation:landscape)): if(supports(display:grid):
            if(supports((--u:1)_and_(visibility:collapse)): if(not_media(600px<=width)_and_style(--u):
            """.replace("_", "\t").split(" ")
        ).map(lambda function: function.strip(" \n").replace("\t", " ")),
        inner,
        st.sampled_from(["", "", "", " ", " none", ";else:none"]),
    ),
    max_leaves=3,
) | st.sampled_from(["var(--u)", "var(--v)", "env(no)", "attr(data-x type(*))"])
SPACE = st.sampled_from(["", " ", "/**/", "\n"])
DECLARATIONS = st.builds(
    "{}{}:{}{};".format,
    NAMES | ODD_NAMES | CUSTOM_NAMES,
    SPACE,
    SPACE,
    st.lists(VALUES | SPACE | ODDITIES | REFERENCES, min_size=1, max_size=4).map("".join)
    | VALUES
    | REFERENCES,
)
STYLES = (
    st.lists(DECLARATIONS | ODDITIES, max_size=4)
    .map("".join)
    .filter(lambda style: "{" not in style or "(" not in style)
)
"""Styles, but for braces beside a reference, which Chromium allows against CSS Syntax in `var(--u){}`."""
ATTRIBUTES = st.sampled_from(
    [
        *("", "", "", " hidden", " hidden=until-found", " popover", " open"),
        *(
            " data-x=none",
            " data-x='var(--u)'",
            " data-x='attr(data-x type(*))'",
            " display=none",
            " visibility=hidden",
        ),
    ]
)
TAGS = st.sampled_from(
    [
        *("<div*>", "<section*>", "<dialog*>", "<span*>", "<b*>"),
        *(
            "<svg*><foreignObject>",
            "<svg><g*><foreignObject>",
            "<svg><foreignObject*>",
            "<svg><defs*><foreignObject>",
        ),
        *("<math*><mtext>", "<math><mtext*>", "<math><mi>x</mi><mrow*><mtext>"),
    ]
)
SHOWN_WORDS = """html => {
    document.body.innerHTML = html
    const text = document.body.innerText
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const shown = []
    while (walker.nextNode()) {
        const range = document.createRange()
        range.selectNodeContents(walker.currentNode)
        if (range.getClientRects().length)
            shown.push(...walker.currentNode.data.match(/w\\d+w/g) ?? [])
    }
    return shown.filter(word => text.includes(word))
}"""
"""The words that have a place on the page, and that the browser gives for its text."""


def element(tag: str, attributes: str, style: str, children: list[str]) -> str:
    encoded = "".join(f"&#{ord(character)};" for character in style)
    inner = f"§{''.join(children)}"
    for name in reversed(re.findall(r"<(\w+)", tag)):
        inner = f"{inner}</{name}>" if name != "mi" else inner
    return tag.replace("*", f"{attributes} style='{encoded}'") + inner


def elements(children: st.SearchStrategy[list[str]]) -> st.SearchStrategy[str]:
    return st.builds(element, TAGS, ATTRIBUTES, STYLES, children)


TREES = st.recursive(elements(st.just([])), lambda inner: elements(st.lists(inner, max_size=3)), max_leaves=8)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """An empty page."""
    context = await browser.new_context()
    opened = await context.new_page()
    await opened.set_content("<!doctype html>")
    yield opened
    await context.close()


async def assert_as_in_browser(page: Page, html: str) -> None:
    numbers = count()
    html = re.sub("§", lambda _: f"w{next(numbers)}w", html)
    shown = set(await page.evaluate(SHOWN_WORDS, html))
    segmented = segment(f"<!doctype html><body>{html}".encode())
    visible = zip(segmented.texts, segmented.hidden, strict=True)
    found = {word: not hidden for text, hidden in visible for word in re.findall(r"w\d+w", text)}
    assert found == {f"w{number}w": f"w{number}w" in shown for number in range(next(numbers))}


@given(st.lists(TREES, min_size=1, max_size=20).map("".join))
async def test_what_is_hidden_is_what_a_browser_hides(page: Page, html: str) -> None:
    await assert_as_in_browser(page, html)
