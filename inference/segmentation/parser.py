"""The HTML parser, Lexbor by way of selectolax, and a guard before it.

selectolax gives the address of a node (`mem_id`); `inference.native` reads its tree in memory from there, as
the headers of one version lay it out, so no other version is let in.

The parser's time grows with the square of a page's nesting and of a tag's attributes. The guard cuts both
down, as browsers do. Only pages that could nest or list too much are looked at closely.
"""

import re
from collections.abc import Mapping

import selectolax

from dehusk.inference.elements import VOID
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


MAX_DEPTH = 512
"""Limit of nested elements; deeper ones are left out, but not their text. Browsers stop here, too."""

MAX_ATTRIBUTES = 1000
"""Limit of attributes of a tag; further ones are left out."""

_HARMLESS_TAGS = 20_000
"""Number of tags that take half a second at worst, however they nest."""

_HARMLESS_TAG_BYTES = 32 * 1024
_MIN_TAG = 3
_REACH = 64
"""Open elements among which an end tag looks for its start tag."""

_ATTRIBUTE = rb"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>]*+))?+"""
_START = rb"<[a-zA-Z][^\s/>]*+"
_ATTRIBUTES = rb"(?:[\s/]*+" + _ATTRIBUTE + rb")"
_MANY_ATTRIBUTES = re.compile(_START + _ATTRIBUTES + rb"{%d}" % (MAX_ATTRIBUTES + 1))
_FIRST_ATTRIBUTES = re.compile(_START + _ATTRIBUTES + rb"{0,%d}" % MAX_ATTRIBUTES)
_TOKEN = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<(?P<end>/?)(?P<tag>[a-zA-Z][^\s/>]*+)"
    + _ATTRIBUTES
    + rb"*+[\s/]*+(?:>|\Z)|<[!?/][^>]*+",
    re.DOTALL,
)

_VOID = frozenset(map(str.encode, VOID))
_CLOSED_BY_NEXT = frozenset(
    b"p li dd dt option optgroup colgroup tbody thead tfoot tr td th caption head".split()
)
"""Elements ended by the next of their kind: they do not nest without others that are counted."""
_ONCE = frozenset((b"html", b"body"))
"""Elements whose further tags add attributes to the first."""
_RAW = frozenset(b"script style textarea title iframe noembed noframes noscript xmp".split())
_FOREIGN = frozenset((b"svg", b"math"))
_SCOPES = frozenset(b"applet marquee object table template button".split()) | _FOREIGN
"""Elements that bound the search of an end tag for its start tag."""
_SPECIAL = _SCOPES | frozenset(
    b"""
    address article aside blockquote body center details dialog dir div dl fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hgroup html listing main menu nav ol pre search section select
    summary ul
    """.split()
)
"""Elements not ended by the end tag of an ordinary element."""


def flatten(html: bytes, tags: int | None = None) -> bytes:
    """Return the page without the tags and attributes that make parsing slow; usually as it is.

    `tags` is `count_tags` of it, if known.
    """
    if _may_nest(html, tags) or _may_list(html):
        return b"".join(_Flattener(html).pieces())
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
        elif _MANY_ATTRIBUTES.match(html, html.rfind(b"<", 0, position)):
            return True
        else:
            next_tag = html.find(b"<", position)
            position = len(html) if next_tag < 0 else next_tag
    return False


class _Flattener:
    """Reader of a page's tags in order, which tracks the open elements nearly as a parser does.

    It may take an element for open that is not, but hardly the reverse.
    """

    def __init__(self, html: bytes) -> None:
        self._html = html
        self._open: list[bytes] = []
        self._foreign = 0
        self._once: set[bytes] = set()

    def pieces(self) -> list[bytes]:
        """Return the page in pieces, without elements too deep and attributes too many."""
        html, position, done = self._html, 0, 0
        pieces: list[bytes] = []
        while token := _TOKEN.search(html, position):
            position = token.end()
            if token["tag"] is None:
                continue
            tag = token["tag"].lower()
            if not (self._end(tag) if token["end"] else self._start(tag, token[0])):
                pieces.append(html[done : token.start()])
                done = position
            elif position - token.start() > 2 * MAX_ATTRIBUTES:
                pieces += [html[done : token.start()], _with_first_attributes(token[0])]
                done = position
            if tag in _RAW and not token["end"] and not self._foreign:
                position = _end_of_raw_text(html, tag, position)
        return [*pieces, html[done:]]

    def _start(self, tag: bytes, token: bytes) -> bool:
        """Track a start tag, and return True to keep it."""
        if tag in _ONCE:
            first = tag not in self._once
            self._once.add(tag)
            return first
        if tag in _VOID or tag in _CLOSED_BY_NEXT or (self._foreign and token.endswith(b"/>")):
            return True
        self._open.append(tag)
        self._foreign += tag in _FOREIGN
        return len(self._open) <= MAX_DEPTH

    def _end(self, tag: bytes) -> bool:
        """Track an end tag, and return True to keep it."""
        special = False
        top = len(self._open)
        for index in range(top - 1, max(top - _REACH, 0) - 1, -1):
            element = self._open[index]
            if element == tag:
                ended = slice(index, index + 1) if special and tag not in _SPECIAL else slice(index, top)
                self._foreign -= sum(name in _FOREIGN for name in self._open[ended])
                del self._open[ended]
                return index < MAX_DEPTH
            if element in _SCOPES:
                break
            special = special or element in _SPECIAL
        return True


def _with_first_attributes(token: bytes) -> bytes:
    first = _FIRST_ATTRIBUTES.match(token)
    return token if first is None else first[0] + b">"


def _end_of_raw_text(html: bytes, tag: bytes, position: int) -> int:
    """Return the end of the text of a `<script>`, `<style>` …, in which tags are text."""
    end = re.compile(rb"</" + tag + rb"[\s/>]", re.IGNORECASE).search(html, position)
    return len(html) if end is None else end.start()
