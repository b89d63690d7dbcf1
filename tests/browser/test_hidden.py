"""Hidden parts of a page, as a browser has them: whatever the styles and attributes of their elements."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from playwright.async_api import Browser, Page

from dehusk.inference.segmentation.segmentation import segment

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAMES = st.sampled_from(["display", "visibility", "content-visibility"])
ODD_NAMES = st.sampled_from(
    r"all DISPLAY d\69splay \64isplay dis/**/play x-display --display 1display #display".split()  # noqa: SIM905
)
VALUES = st.sampled_from(
    r"""
    none hidden block inline visible collapse flex grid flow flow-root list-item auto inherit initial unset
    contents inline-block table table-cell table-caption ruby math -webkit-box none-such NONE \6eone no\ne
    """.split()  # noqa: SIM905 -- a table of names
)
ODDITIES = st.sampled_from(
    r"""
    'none' ";display:none;" url(none) url(;display:none url('a') URL(;) url(\);none) x(none) (;display:none;)
    { } ( ) [ ] ' " é 5none #none # @none @x{} @ <!-- --> - -- \ \; \: \9 ! !important !\69mportant
    !importantx /* */ /*;*/ 5 + . % *
    """.split()  # noqa: SIM905 -- a table of names
) | st.sampled_from(["\n", "\r", "\f", "\v", "\xa0", "\\\n", "\\9\r\n", "displa\\79 :none", "! IMPORTANT"])
SPACE = st.sampled_from(["", " ", "/**/", "\n"])
DECLARATIONS = st.builds(
    "{}{}:{}{};".format,
    NAMES | ODD_NAMES,
    SPACE,
    SPACE,
    st.lists(VALUES | SPACE | ODDITIES, min_size=1, max_size=4).map("".join) | VALUES,
)
STYLES = st.lists(DECLARATIONS | ODDITIES, max_size=4).map("".join)
ATTRIBUTES = st.sampled_from(["", "", "", " hidden", " hidden=until-found", " popover", " open"])
IS_HIDDEN = """html => {
    document.body.innerHTML = html
    const hidden = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
        let element = walker.currentNode.parentElement
        let isHidden = getComputedStyle(element).visibility != "visible"
        for (; element; element = element.parentElement) {
            const style = getComputedStyle(element)
            isHidden ||= style.display == "none" || style.contentVisibility == "hidden"
        }
        hidden.push(isHidden)
    }
    return hidden
}"""


def element(tag: str, attributes: str, style: str, children: list[str]) -> str:
    encoded = "".join(f"&#{ord(character)};" for character in style)
    return f"<{tag}{attributes} style='{encoded}'>text{''.join(children)}</{tag}>"


def elements(children: st.SearchStrategy[list[str]]) -> st.SearchStrategy[str]:
    return st.builds(element, st.sampled_from(["div", "section", "dialog"]), ATTRIBUTES, STYLES, children)


TREES = st.recursive(elements(st.just([])), lambda inner: elements(st.lists(inner, max_size=3)), max_leaves=8)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """An empty page."""
    context = await browser.new_context()
    opened = await context.new_page()
    await opened.set_content("<!doctype html>")
    yield opened
    await context.close()


@given(st.lists(TREES, min_size=1, max_size=20).map("".join))
async def test_what_is_hidden_is_what_a_browser_hides(page: Page, html: str) -> None:
    segmented = segment(f"<!doctype html><body>{html}".encode())
    assert list(segmented.hidden) == await page.evaluate(IS_HIDDEN, html)
