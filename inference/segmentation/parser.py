"""The HTML parser, Lexbor by way of selectolax, and a guard before it.

selectolax gives the address of a node (`mem_id`); `inference.native` reads its tree in memory from there, as
the headers of one version lay it out, so no other version is let in.

The parser's time grows with the square of a page's nesting and of a tag's attributes. The guard cuts both
down, as browsers do. Only pages that could nest or list too much are looked at closely.
"""

from collections.abc import Mapping

import selectolax

from dehusk.inference.native.flattening import flattened, has_many_attributes
from dehusk.inference.native.layout import SELECTOLAX_VERSION
from dehusk.inference.native.scanning import count_tags
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import BrokenReason


def check_version() -> None:
    """Refuse a selectolax whose memory is not known.

    Raises:
        ConfigurationError: another version is installed.
    """
    if selectolax.__version__ != SELECTOLAX_VERSION:
        raise ConfigurationError(
            f"selectolax {selectolax.__version__} is installed, whose memory dehusk cannot read; "
            f"install selectolax=={SELECTOLAX_VERSION}"
        )


check_version()  # before what another version may not have

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError  # noqa: E402

Node = LexborNode
"""A node of a document."""


def parse(html: bytes, *, scripting: bool = True) -> LexborHTMLParser:
    """Parse a page; with scripting, the content of `<noscript>` is one text, without, it is elements.

    Raises:
        PageError: the page's elements do not fit into memory.
    """
    try:
        return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS, scripting=scripting)
    except SelectolaxError as error:
        raise PageError(BrokenReason.MEMORY_BUDGET_EXCEEDED, f"{len(html)} bytes of HTML: {error}") from error


def check_selector(selector: str) -> None:
    """Check a CSS selector, which may be a list of several.

    Raises:
        ConfigurationError: it is none, or none that the parser knows.
    """
    try:
        LexborHTMLParser("").css(selector)
    except (SelectolaxError, UnicodeEncodeError) as error:
        raise ConfigurationError(f"{selector!r} is no CSS selector") from error


def exclude(document: LexborHTMLParser, selector: str) -> None:
    """Remove the elements that a CSS selector matches, with all that is in them; of the root, only that."""
    matched = {
        node.mem_id: node for node in document.css(selector)
    }  # once each, though several parts match it
    root = document.root
    if root is not None and root.mem_id in matched:
        outermost = list(root.iter(include_text=True))
    else:
        outermost = [node for node in matched.values() if not _is_within(node, matched)]
    for node in outermost:
        node.decompose()


def _is_within(node: Node, matched: Mapping[int, Node]) -> bool:
    """Return True if an ancestor is among the matched nodes, whose removal frees its descendants."""
    parent = node.parent
    while parent is not None and parent.mem_id not in matched:
        parent = parent.parent
    return parent is not None


_HARMLESS_TAGS = 20_000
"""Number of tags that take half a second at worst, unless many elements such as `<b>` are left open."""
_HARMLESS_TAG_BYTES = 4 * 1024
_MIN_TAG = 3


def flatten(html: bytes, tags: int | None = None, *, scripting: bool = True) -> bytes:
    """Return the page without the tags and attributes that make parsing slow; usually as it is.

    `tags` is `count_tags` of it, if known; `scripting` is that of `parse`.
    """
    if _may_nest(html, tags) or _may_list(html):
        return flattened(html, scripting=scripting)
    return html


def _may_nest(html: bytes, tags: int | None) -> bool:
    if len(html) <= _HARMLESS_TAGS * _MIN_TAG:
        return False
    return (count_tags(html) if tags is None else tags) > _HARMLESS_TAGS


def _may_list(html: bytes) -> bool:
    """Return True if a tag has too many attributes: looked for where no tag begins for long."""
    position, step = 0, _HARMLESS_TAG_BYTES
    while position + step < len(html):
        if html.find(b"<", position, position + step) >= 0:
            position += step
        elif has_many_attributes(html, html.rfind(b"<", 0, position)):
            return True
        else:
            next_tag = html.find(b"<", position)
            position = len(html) if next_tag < 0 else next_tag
    return False
