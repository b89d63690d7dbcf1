"""The HTML parser, Lexbor by way of selectolax, and a guard before it.

selectolax gives the address of a node (`mem_id`); `inference.native` reads its tree in memory from there, as
the headers of one version lay it out, so no other version is let in.

The parser's time grows with the square of a page's nesting and of a tag's attributes, and with the number of
elements such as `<b>` without an end tag, which it opens again in each block. The guard cuts these down, the
first two as browsers do. Only pages that could have too much of them are looked at closely.
"""

from collections.abc import Mapping

import selectolax

from dehusk.inference.native.flattening import flattened
from dehusk.inference.native.harmless import is_harmless
from dehusk.inference.native.layout import SELECTOLAX_VERSION
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
        raise PageError(
            BrokenReason.MEMORY_BUDGET_EXCEEDED, f"{len(html):,} bytes of HTML: {error}"
        ) from error


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
        within: dict[int, bool] = {}
        outermost = [node for node in matched.values() if not _is_within(node, matched, within)]
    for node in outermost:
        node.decompose()


def _is_within(node: Node, matched: Mapping[int, Node], known: dict[int, bool]) -> bool:
    """Return True if an ancestor is among the matched nodes, whose removal frees its descendants.

    `known` gathers the answer of each ancestor: whether it, or one of its own, is among them.
    """
    above: list[int] = []
    parent = node.parent
    while parent is not None and parent.mem_id not in known and parent.mem_id not in matched:
        above.append(parent.mem_id)
        parent = parent.parent
    is_within = parent is not None and known.get(parent.mem_id, True)
    known.update(dict.fromkeys(above, is_within))
    return is_within


def flatten(html: bytes, *, scripting: bool = True) -> bytes:
    """Return the page without the tags and attributes that make parsing slow; usually as it is.

    `scripting` is that of `parse`.
    """
    return html if is_harmless(html, scripting=scripting) else flattened(html, scripting=scripting)
