"""A page's HTML as the text blocks that a reader sees."""

import re
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from inference.sites import primary_language
from inference.tokens import words
from schemas.pages import Boundary, SegmentedPage

_FALLBACK_WORDS = 100
"""A `<noscript>` with fewer words is a notice, not the page's content."""

_MAX_PATH = 64
"""Tags of a path; of a deeper element the outermost are left out."""

_MAX_PATHS = 50_000
"""Paths remembered between pages before all are forgotten."""

_TEXT: Final = LexborHTMLParser(b"x").css_first("body").first_child.tag_id
_LAST_KNOWN_TAG: Final = 1 << 16
"""Lexbor numbers the tags it knows from 1; the id of any other tag is an address, good for one page."""

# What an element is to a reader; from _BLOCK up, the Boundary flags at its edges are added.
_SKIPPED: Final = 0
_FALLBACK: Final = 1
_TIGHT: Final = 2
_INLINE: Final = 3
_LINK: Final = 4
_BREAK: Final = 5
_BLOCK: Final = 16

_KINDS: dict[str, int] = {
    **dict.fromkeys(
        "annotation annotation-xml applet area audio base canvas col colgroup datalist desc embed frame frameset head "
        "iframe link meta meter noembed noframes object param progress rp script source style svg template title "
        "track video".split(),
        _SKIPPED,
    ),
    "noscript": _FALLBACK,
    **dict.fromkeys("b big cite code em font i mark s small strong sub sup u wbr".split(), _TIGHT),
    **dict.fromkeys(
        "abbr acronym bdi bdo data del dfn img ins kbd label math mi mn mo ms mtext nobr picture q rb rt rtc ruby samp "
        "slot span strike time tt var".split(),
        _INLINE,
    ),
    "a": _LINK,
    "br": _BREAK,
    **dict.fromkeys(("td", "th"), _BLOCK + Boundary.CELL),
    **dict.fromkeys(
        "blockquote dl fieldset figure h1 h2 h3 h4 h5 h6 hr listing menu ol p plaintext pre table textarea ul "
        "xmp".split(),
        _BLOCK + Boundary.PARAGRAPH,
    ),
    **dict.fromkeys(("tr", "thead", "tbody", "tfoot"), _BLOCK + Boundary.ROW),
    "li": _BLOCK + Boundary.LINE,
}
_PREFORMATTED: Final = frozenset(("listing", "plaintext", "pre", "textarea", "xmp"))
_HIDDEN = '[hidden]:not([hidden="until-found" i]),dialog:not([open]),[style*="none" i],[style*="hidden" i]'
_HIDING_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_MARKUP = re.compile(r"<[^>]*>")
_INVISIBLE = " \u200b\u2060\ufeff"


class _Path(dict[int | str, "_Path"]):
    """An element's place in a page, by tags alone; its items are the places of its children."""

    __slots__ = ("after", "before", "kind", "parent", "preformatted", "tags")

    def __init__(self, tag: str, parent: "_Path | None") -> None:
        super().__init__()
        self.parent = parent
        self.tags: tuple[str, ...] = (*parent.tags[1 - _MAX_PATH :], tag) if parent is not None else ()
        kind = _SKIPPED if tag.startswith(("-", "!")) else _KINDS.get(tag, _BLOCK + Boundary.LINE)
        self.kind = min(kind, _BLOCK)
        self.after = max(kind - _BLOCK, 0)
        self.before = self.after | (Boundary.ITEM.value if tag == "li" else 0)
        self.preformatted = tag in _PREFORMATTED or (parent is not None and parent.preformatted)


class _Blocks:
    """The columns of a segmented page while it is read, and the block that is being read."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.paths: list[str] = []
        self.linked: list[int] = []
        self.boundaries: list[int] = []
        self.fallback: list[str] = []
        self._pieces: list[str] = []
        self._boundary = 0
        self._path = self._common = _Path("", None)
        self._linked = 0
        self._links = 0
        self._apart = False

    def add(self, text: str, path: _Path) -> None:
        """Append a text leaf to the open block, or open one."""
        if text.isspace():
            if self._pieces:
                self._pieces.append(text if path.preformatted else " ")
            return
        if not self._pieces:
            self._path = self._common = path
        else:
            self._path = self._common
            if self._apart and _run_together(self._pieces[-1][-1], text[0]):
                self._pieces.append(" ")
        self._apart = False
        self._pieces.append(text)
        if self._links:
            self._linked += len(_folded(text))

    def enter(self, path: _Path) -> None:
        """Note the start of an element."""
        kind = path.kind
        if kind == _BLOCK:
            self.close()
            self._boundary |= path.before
        elif kind == _LINK:
            self._links += 1
            self._apart = True
        elif kind == _INLINE:
            self._apart = not path.preformatted
        elif kind == _BREAK:
            self.break_line(path)

    def leave(self, path: _Path) -> None:
        """Note the end of an element."""
        kind = path.kind
        if kind == _BLOCK:
            self.close()
            self._boundary |= path.after
        elif kind == _LINK:
            self._links -= 1
            self._apart = True
        elif kind == _INLINE:
            self._apart = not path.preformatted
        if self._pieces and len(path.tags) <= len(self._common.tags):
            self._common = path.parent or path

    def break_line(self, path: _Path) -> None:
        """Note a `<br>`: the end of a line, or of a paragraph where it ends an empty line."""
        if path.preformatted:
            self._pieces.append("\n")
        elif self._pieces:
            self.close()
            self._boundary |= Boundary.LINE.value
        else:
            self._boundary |= Boundary.PARAGRAPH.value

    def close(self) -> None:
        """End the open block, if any."""
        if not self._pieces:
            return
        text = "".join(self._pieces)
        self._pieces.clear()
        text = (_lines(text) if self._path.preformatted else _folded(text)).strip(_INVISIBLE)
        if text:
            self.texts.append(text)
            self.paths.append("/".join(self._path.tags))
            self.linked.append(min(self._linked, len(text)))
            self.boundaries.append(self._boundary)
            self._boundary = 0
        self._linked = 0


def segment(html: bytes) -> SegmentedPage:
    """The text blocks of a page, given in UTF-8.

    Raises:
        PageError: the page nests deeper than can be parsed in time.
    """
    parser = _parse(html, scripting=True)
    blocks = _read(parser, scripting=True)
    if _holds_the_content(blocks.fallback, blocks.texts):
        parser = _parse(html, scripting=False)
        blocks = _read(parser, scripting=False)
    title = parser.css_first("title")
    return SegmentedPage(
        title=_folded(title.text()) if title else "",
        language=primary_language(parser.root.attributes.get("lang")) if parser.root else None,
        texts=tuple(blocks.texts),
        paths=tuple(blocks.paths),
        linked=tuple(blocks.linked),
        boundaries=tuple(blocks.boundaries),
    )


def _parse(html: bytes, *, scripting: bool) -> LexborHTMLParser:
    """The document of a page without what a reader does not see."""
    parser = LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS, scripting=scripting)
    for node in parser.css(_HIDDEN):
        if node.tag not in ("html", "body") and _is_hidden(node):
            node.decompose()
    return parser


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    return (
        "hidden" in attributes
        or node.tag == "dialog"
        or bool(_HIDING_STYLE.search(attributes["style"] or ""))
    )


def _read(parser: LexborHTMLParser, *, scripting: bool) -> _Blocks:
    """The blocks of a document, without recursion."""
    blocks = _Blocks()
    path = _Path("", None)
    open_elements: list[LexborNode] = []
    node = parser.root
    while node is not None:
        tag: int | str = node.tag_id
        if tag == _TEXT:
            blocks.add(node.text_content or "", path)
        else:
            inner = path.get(tag)
            if inner is None:
                name = node.tag or "!"
                inner = path[tag] = _Path(name, path)
            if inner.kind == _FALLBACK and scripting:
                blocks.fallback.append(node.text())
            elif inner.kind != _SKIPPED:
                blocks.enter(inner)
                child = node.first_child
                if child is not None:
                    open_elements.append(node)
                    path, node = inner, child
                    continue
                blocks.leave(inner)
        following = node.next
        while following is None and open_elements:
            node = open_elements.pop()
            blocks.leave(path)
            path = path.parent
            following = node.next
        node = following
    blocks.close()
    return blocks


def _holds_the_content(fallback: list[str], texts: list[str]) -> bool:
    """Whether `<noscript>` holds more words than everything that is shown, and enough for a page."""
    if sum(map(len, fallback)) < 2 * _FALLBACK_WORDS:
        return False
    count = sum(len(words(_MARKUP.sub(" ", text))) for text in fallback)
    return count > _FALLBACK_WORDS and count > sum(len(words(text)) for text in texts)


def _run_together(before: str, after: str) -> bool:
    """Whether two words, or a sentence and the next, would be glued without a space between them."""
    return (before.isalnum() and after.isalnum()) or (before in ".!?:" and after.isupper())


def _folded(text: str) -> str:
    return " ".join(text.replace("\xad", "").split())


def _lines(text: str) -> str:
    """Preformatted text without trailing white space and empty lines around it."""
    return "\n".join(line.rstrip() for line in text.replace("\xad", "").splitlines()).strip("\n")
