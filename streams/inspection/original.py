"""A page's own HTML, sanitized: its tree, written anew with the elements and attributes known here.

Its looks are kept, style sheets included; nothing that runs, loads, links or sends is. Blocks are found in
other texts of the page by letters and digits alone, as white space and marks differ.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, islice, pairwise
from urllib.parse import urljoin

from dehusk.inference.segmentation.parser import Node, flatten, parse

Piece = tuple[str, int]
"""A part of a text, and the block that it is of, or -1."""

_WORD = re.compile(r"[^\W_]+")
_OTHERS = re.compile(r"[\W_]+")
_OPENING = re.compile(r"[\W_]*(?:\d+[.)]\s+)?[\W_]*")
"""Marks of Markdown, or the number of an item, before the first letter of a line."""
_SHORT = 12
"""Letters of a block below which it may well be repeated elsewhere."""
_NEAR = 2_000
"""Letters within which a short block is searched for; _FAR for others."""
_FAR = 200_000
_FIRST_WORDS = (8, 4, 2, 1)
"""Numbers of leading words to search a block by."""


class Letters:
    """Letters and digits of a text, and the positions of its words, as a huge page has millions of them."""

    def __init__(self, text: str) -> None:
        self.letters = letters_of(text)
        self._starts, self._origins = array("q"), array("q")
        position = 0
        for word in _WORD.finditer(text):
            self._starts.append(position)
            self._origins.append(word.start())
            position += word.end() - word.start()

    def origin(self, position: int) -> int | None:
        """Return the position in the text of the word at a position among the letters; None within a word."""
        number = bisect_left(self._starts, position)
        found = number < len(self._starts) and self._starts[number] == position
        return self._origins[number] if found else None

    def find(self, text: str, position: int) -> tuple[int, int] | None:
        """Find the letters of a block, or of its first words, after a position; return start and end."""
        first = [word[0] for word in islice(_WORD.finditer(text), _FIRST_WORDS[0])]
        beginnings = ("".join(first[:count]) for count in _FIRST_WORDS)
        for part in dict.fromkeys((letters_of(text), *beginnings)):
            start = find_letters(self.letters, part, position)
            while start >= 0 and self.origin(start) is None:
                start = find_letters(self.letters, part, position, start + 1)
            if start >= 0:
                return start, start + len(part)
        return None


def letters_of(text: str) -> str:
    """Return the letters and digits of a text."""
    return _OTHERS.sub("", text)


def find_letters(letters: str, searched: str, position: int, start: int = 0) -> int:
    """Find letters among others, near behind a position if they are few, from `start` on; -1 for none."""
    reach = position + len(searched) + (_NEAR if len(searched) < _SHORT else _FAR)
    return letters.find(searched, max(start, position), reach) if searched else -1


def pieces(text: str, blocks: Sequence[Piece]) -> list[Piece]:
    """Cut a text that was made of blocks, in the order given, where each begins."""
    letters, position, starts = Letters(text), 0, [(0, -1)]
    for block_text, block in blocks:
        span = letters.find(block_text, position)
        start = None if span is None else letters.origin(span[0])
        if span is not None and start is not None:
            before, last = starts[-1]
            opening = _opening(text, start)
            starts.append((opening if last < 0 or opening > before else start, block))
            position = span[1]
    cut = [(text[start:end], block) for (start, block), (end, _) in pairwise([*starts, (len(text), -1)])]
    return [piece for piece in cut if piece[0]]


def _opening(text: str, start: int) -> int:
    """Return the start of a block whose first letter is known, with the marks before it."""
    line = text.rfind("\n", 0, start) + 1
    if _OPENING.fullmatch(text, line, start):
        return line
    while start > line and not text[start - 1].isspace() and not text[start - 1].isalnum():
        start -= 1
    return start


POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"
"""Policy of the page besides its sandbox: it loads nothing but what it holds."""
ELEMENTS = frozenset(
    """
    a abbr address article aside b bdi bdo big blockquote body br caption center cite code col colgroup dd del
    details dfn dialog div dl dt em fieldset figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup hr
    i img ins kbd label legend li main mark menu nav ol p picture pre q rp rt ruby s samp search section small
    span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr
    """.split()  # noqa: SIM905
)
"""Elements that are written; of others, only their content is."""
ATTRIBUTES = frozenset(
    """
    align alt bgcolor border cellpadding cellspacing class color colspan dir face height hidden id lang open
    rowspan size start style title type valign value width
    """.split()  # noqa: SIM905
)
"""Attributes that are written, besides `src` of an image that is its own data."""
BLOCK_CLASS = "dehusk-block-"
"""Prefix of the class of an element with a block's text; the page's own classes do not begin so."""
SHEET_CLASS = "dehusk-sheet-"
"""Prefix of the class of an empty `<style>` in the head, for a style sheet that the page links to."""
_MAX_SHEETS = 30
_DROPPED = frozenset(
    """
    applet audio base canvas embed frame frameset iframe input link meta noembed noframes
    noscript object optgroup option param script select source style svg template textarea title
    track video
    """.split()  # noqa: SIM905
)
"""Elements that are left out with all that they hold."""
_VOID = frozenset(("br", "col", "hr", "img", "wbr"))
_WITHOUT_TEXT = frozenset("colgroup dl menu ol picture ruby table tbody tfoot thead tr ul".split())  # noqa: SIM905
"""Elements in which a `<span>` would be moved elsewhere, or be out of place."""
_PICTURES = ("data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp", "data:image/svg+xml")
_TEXT = "-text"


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page as it may be shown."""

    html: str
    sheets: tuple[str, ...] = ()
    """Addresses of the style sheets that the page links to, none of which is loaded."""


def sanitize(html: bytes, blocks: tuple[str, ...], url: str = "") -> ShownPage:
    """Write a page in UTF-8 as HTML that may be shown, with the texts of its blocks marked by classes.

    Args:
        html: the page.
        blocks: the texts of its blocks.
        url: its address, which those of its style sheets may be relative to.

    Raises:
        PageError: the page's elements do not fit into memory.
    """
    document = parse(flatten(html))
    root = document.root
    if root is None:
        return ShownPage("")
    base = document.css_first("base[href]")
    styles = _Styles(_joined(url, base.attributes.get("href") if base is not None else ""))
    body = "".join(_written(root, _numbers(root, blocks), styles))
    return ShownPage(
        f'<!DOCTYPE html><html{_attributes(root)}><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">{"".join(styles.written)}</head>'
        f"{body}</html>",
        tuple(styles.sheets),
    )


def _joined(base: str, url: str | None) -> str:
    """Return a URL, which may be relative to another one; the other one if it is malformed."""
    try:
        return urljoin(base, (url or "").strip())
    except ValueError:
        return base


def _numbers(root: Node, blocks: tuple[str, ...]) -> list[int]:
    """Return the block of each text of the document, or -1."""
    nodes = [node for node, entering in _walk(root) if entering and _is_text(node)]
    texts = [letters_of(node.text_content or "") for node in nodes]
    letters, starts = "".join(texts), list(accumulate(map(len, texts), initial=0))
    numbers, position = [-1] * len(texts), 0
    for number, block in enumerate(blocks):
        block_letters = letters_of(block)
        start = find_letters(letters, block_letters, position)
        if start >= 0:
            position = start + len(block_letters)
            for node in range(bisect_left(starts, start), bisect_left(starts, position)):
                numbers[node] = number if texts[node] else -1
    return numbers


class _Styles:
    """Style sheets of a page in order: its own ones, and places for those that it links to."""

    def __init__(self, base: str) -> None:
        self.written: list[str] = []
        self.sheets: list[str] = []
        self._base = base

    def add(self, node: Node) -> None:
        """Add a `<style>`, unless it holds what could end one, or a place for what a `<link>` leads to."""
        attributes = node.attributes
        media = f' media="{escape(attributes["media"] or "")}"' if "media" in attributes else ""
        text = node.text(deep=True) if node.tag == "style" else ""
        if node.tag == "style" and "</" not in text:
            self.written.append(f"<style{media}>{text}</style>")
        elif node.tag == "link" and attributes.get("href") and len(self.sheets) < _MAX_SHEETS:
            kinds = (attributes.get("rel") or "").lower().split()
            if "stylesheet" in kinds and "alternate" not in kinds:
                self.written.append(f'<style class="{SHEET_CLASS}{len(self.sheets)}"{media}></style>')
                self.sheets.append(_joined(self._base, attributes["href"]))


def _written(root: Node, numbers: list[int], styles: _Styles) -> Iterator[str]:
    """Write the `<body>` with the elements and attributes known here."""
    left = iter(numbers)
    for node, entering in _walk(root, styles):
        if _is_text(node):
            yield _text(node, next(left))
        elif (node.tag or "") in ELEMENTS:
            yield _start(node) if entering else _end(node)


def _text(node: Node, number: int) -> str:
    text, parent = escape(node.text_content or "", quote=False), node.parent
    if number < 0 or (parent is not None and parent.tag in _WITHOUT_TEXT):
        return text
    return f'<span class="{BLOCK_CLASS}{number}">{text}</span>'


def _walk(root: Node, styles: _Styles | None = None) -> Iterator[tuple[Node, bool]]:
    """Yield the texts and elements of a tree in order, elements as they are entered and as they are left.

    Dropped elements are left out; style sheets are added to `styles`.
    """
    node: Node | None = root
    while node is not None:
        yield node, True
        below = None if _is_text(node) else _kept(node.child, styles)
        while below is None and node is not None:
            if not _is_text(node):
                yield node, False
            below = None if node.mem_id == root.mem_id else _kept(node.next, styles)
            if below is None:
                node = None if node.mem_id == root.mem_id else node.parent
        node = below


def _kept(node: Node | None, styles: _Styles | None) -> Node | None:
    """Return the node, or the next one that is not dropped."""
    while node is not None and not _is_text(node) and (not node.is_element_node or node.tag in _DROPPED):
        if styles is not None and node.is_element_node:
            styles.add(node)
        node = node.next
    return node


def _is_text(node: Node) -> bool:
    return node.tag == _TEXT


def _start(node: Node) -> str:
    return f"<{node.tag}{_attributes(node)}>"


def _end(node: Node) -> str:
    return "" if node.tag in _VOID else f"</{node.tag}>"


def _attributes(node: Node) -> str:
    written = []
    for name, value in node.attributes.items():
        if name in ATTRIBUTES:
            kept = _without_block_classes(value or "") if name == "class" else value or ""
            written.append(f' {name}="{escape(kept)}"')
        elif name == "src" and node.tag == "img" and (value or "").strip().lower().startswith(_PICTURES):
            written.append(f' src="{escape((value or "").strip())}"')
    return "".join(written)


def _without_block_classes(value: str) -> str:
    """Leave out classes that begin as those of this module."""
    return " ".join(name for name in value.split() if not name.lower().startswith(BLOCK_CLASS))
