"""A guard before the parser, whose time grows with the square of a page's nesting and of a tag's attributes.

It cuts both down, as browsers do. Only pages that could nest or list too much are looked at closely.
"""

import re

from dehusk.inference.elements import VOID
from dehusk.inference.native.scanning import count_tags

MAX_DEPTH = 512
"""Elements within elements; deeper ones are left out, but not their text. Browsers stop here too."""

MAX_ATTRIBUTES = 1000
"""Attributes of a tag; further ones are left out."""

_HARMLESS_TAGS = 20_000
"""So many tags take half a second at worst, however they nest."""

_HARMLESS_TAG_BYTES = 32 * 1024
_SHORTEST_TAG = 3
_REACH = 64
"""How far up an end tag looks for its start tag."""

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
"""Elements that the next of their kind ends: they do not nest without others that are counted."""
_ONCE = frozenset((b"html", b"body"))
"""Elements whose further tags add attributes to the first."""
_RAW = frozenset(b"script style textarea title iframe noembed noframes noscript xmp".split())
_FOREIGN = frozenset((b"svg", b"math"))
_SCOPES = frozenset(b"applet marquee object table template button".split()) | _FOREIGN
"""Elements that an end tag does not reach out of."""
_SPECIAL = _SCOPES | frozenset(
    b"""
    address article aside blockquote body center details dialog dir div dl fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hgroup html listing main menu nav ol pre search section select
    summary ul
    """.split()
)
"""Elements that the end tag of an ordinary element does not end."""


def flatten(html: bytes, tags: int | None = None) -> bytes:
    """The page as it is, or without the tags and attributes beyond what can be parsed in linear time.

    `tags` is what `count_tags` says of it, where that is known.
    """
    if _may_nest(html, tags) or _may_list(html):
        return b"".join(_Flattener(html).pieces())
    return html


def _may_nest(html: bytes, tags: int | None) -> bool:
    """Whether a page has tags enough to nest them at length."""
    if len(html) <= _HARMLESS_TAGS * _SHORTEST_TAG:
        return False
    return (count_tags(html) if tags is None else tags) > _HARMLESS_TAGS


def _may_list(html: bytes) -> bool:
    """Whether a tag has too many attributes: looked for where no tag begins for long."""
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
    """Reads the tags of a page in order and knows which elements are open, nearly as a parser does.

    It may take an element for open that is not, but hardly the reverse.
    """

    def __init__(self, html: bytes) -> None:
        self._html = html
        self._open: list[bytes] = []
        self._foreign = 0
        self._once: set[bytes] = set()

    def pieces(self) -> list[bytes]:
        """The page in pieces, without what is too deep or too many."""
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
        """Take note of a start tag; whether to keep it."""
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
        """Take note of an end tag; whether to keep it."""
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
    """A tag with the attributes that it may have."""
    first = _FIRST_ATTRIBUTES.match(token)
    return token if first is None else first[0] + b">"


def _end_of_raw_text(html: bytes, tag: bytes, position: int) -> int:
    """Where the text of a `<script>`, `<style>` … ends, in which tags are text."""
    end = re.compile(rb"</" + tag + rb"[\s/>]", re.IGNORECASE).search(html, position)
    return len(html) if end is None else end.start()
