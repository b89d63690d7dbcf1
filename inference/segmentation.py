"""A page's HTML as the text blocks that a reader sees, much as `innerText` in the HTML standard has them."""

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from inference.elements import BLOCK, BREAK, FALLBACK, INLINE, LINK, SKIPPED, ElementPath, PathTree
from inference.flattening import flatten
from inference.sites import primary_language
from inference.tokens import words
from schemas.errors import PageError
from schemas.outcomes import BrokenReason
from schemas.pages import Boundary, SegmentedPage

_CONTENT_WORDS = 100
"""Fewer words in `<noscript>` or hidden elements are a notice or a dialog, not the page's content."""

_TEXT = 2
_LAST_KNOWN_TAG = 1 << 16
"""Lexbor numbers the tags that it knows; the id of any other is an address, good for one page only."""

_LONGEST_TAG = 32

_HIDDEN = '[hidden],dialog,[style*="none" i],[style*="hidden" i]'
_HIDING_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_TITLE = "title:not(svg *)"
_MARKUP = re.compile(r"<[^<>]*>")
_SOFT_HYPHEN = "\xad"
_BLANK = " \u200b\u2060\ufeff"
_END = "\0"
"""Ends a block among the leaves; no leaf has it, as the HTML standard drops or replaces U+0000."""

_ITEM = Boundary.ITEM.value
_LINE = Boundary.LINE.value
_PARAGRAPH = Boundary.PARAGRAPH.value

_paths = PathTree()


def segment(html: bytes) -> SegmentedPage:
    """The text blocks of a page, given in UTF-8.

    What `<noscript>` holds, or what is hidden, counts where it has over a hundred words and more than all
    that is shown: such a page is made for readers without scripts, or shows itself by script.

    Raises:
        PageError: the page's elements do not fit into memory.
    """
    flat = flatten(html)
    document = _parse(flat, scripting=True)
    hidden = _hide(document)
    reading = _read(document.root, fallback=False)
    if _outweighs([_MARKUP.sub(" ", text) for text in reading.fallback], reading):
        document = _parse(flat, scripting=False)
        _hide(document)
        reading = _read(document.root, fallback=True)
    elif _outweighs(_texts_of(hidden, reading), reading):
        document = _parse(flat, scripting=True)
        reading = _read(document.root, fallback=False)
    root, title = document.root, document.css_first(_TITLE)
    return _segmented(
        reading,
        title=_fold(title.text()) if title is not None else "",
        language=primary_language(root.attributes.get("lang")) if root is not None else None,
    )


def _parse(html: bytes, *, scripting: bool) -> LexborHTMLParser:
    """The document; with scripting, what `<noscript>` holds is one text, without, it is elements."""
    try:
        return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS, scripting=scripting)
    except SelectolaxError as error:
        raise PageError(BrokenReason.PAGE_TOO_DEEP, f"{len(html)} bytes of HTML: {error}") from error


def _hide(document: LexborHTMLParser) -> list[LexborNode]:
    """Take the hidden elements out of a document."""
    hidden = [node for node in document.css(_HIDDEN) if _is_hidden(node)]
    for node in hidden:
        node.decompose(recursive=False)
    return hidden


def _is_hidden(node: LexborNode) -> bool:
    """Whether a match of `_HIDDEN` is hidden; a page that hides itself shows itself by script."""
    if node.tag in ("html", "body"):
        return False
    attributes = node.attributes
    if "hidden" in attributes:
        return (attributes["hidden"] or "").lower() != "until-found"
    style = attributes.get("style")
    return (node.tag == "dialog" and "open" not in attributes) or bool(style and _HIDING_STYLE.search(style))


@dataclass(slots=True)
class _Reading:
    """The text leaves of a document in order, and the columns of the blocks that they make up."""

    leaves: list[str] = field(default_factory=list)
    """The leaves of each block, then `_END`."""
    paths: list[ElementPath] = field(default_factory=list)
    linked: list[int] = field(default_factory=list)
    boundaries: list[int] = field(default_factory=list)
    fallback: list[str] = field(default_factory=list)
    """What `<noscript>` holds, where it was not read."""

    def end_block(self, path: ElementPath, linked: int, boundary: int) -> None:
        """End the block of the last leaves."""
        self.leaves.append(_END)
        self.paths.append(path)
        self.linked.append(linked)
        self.boundaries.append(boundary)

    def texts(self) -> list[str]:
        """The text of each block; empty where nothing of it shows."""
        text = "".join(self.leaves).replace(_SOFT_HYPHEN, "")
        if any(path.preformatted for path in self.paths):
            blocks = zip(self.paths, text.split(_END)[:-1], strict=True)
            folded = [_lines(block) if path.preformatted else _fold(block) for path, block in blocks]
        else:
            folded = _fold(text).split(_END)[:-1]
        return [block.strip(_BLANK) for block in folded]


def _read(root: LexborNode | None, *, fallback: bool) -> _Reading:  # noqa: C901, PLR0912, PLR0915 -- see below
    """The blocks of an element, `<noscript>` among them or not.

    One loop over all nodes: a call per node would cost more than the parse.
    """
    reading = _Reading()
    leaves = reading.leaves
    path = block = common = _paths.root()
    open_elements: list[LexborNode] = []
    boundary = linked = links = 0
    in_block = parted = False
    node = root
    while node is not None:
        tag = node.tag_id
        if tag == _TEXT:
            text = node.text_content or ""
            if not text.isspace():
                if not in_block:
                    in_block = True
                    common = path
                elif parted and not path.preformatted and _would_merge(leaves[-1], text):
                    leaves.append(" ")
                block = common
                parted = False
                leaves.append(text)
                if links:
                    linked += len(text.strip())
            elif in_block:
                leaves.append(text)
            following = node.next
        else:
            element = path.get(tag)
            if element is None:
                element = _child(path, node)
            kind = element.kind
            if kind == SKIPPED:
                following = node.next
            elif kind == FALLBACK and not fallback:
                reading.fallback.append(node.text())
                following = node.next
            else:
                if kind >= BLOCK:
                    if in_block:
                        reading.end_block(block, linked, boundary)
                        in_block = False
                        boundary = linked = 0
                    boundary |= element.start
                elif kind == INLINE:
                    parted = True
                elif kind == LINK:
                    links += 1
                    parted = True
                elif kind == BREAK:
                    if path.preformatted:
                        leaves.append("\n")
                    elif in_block:
                        reading.end_block(block, linked, boundary)
                        in_block = False
                        boundary, linked = _LINE, 0
                    else:
                        boundary |= _PARAGRAPH
                open_elements.append(node)
                path = element
                following = node.first_child
        while following is None and open_elements:
            kind = path.kind
            if kind >= BLOCK:
                if in_block:
                    reading.end_block(block, linked, boundary)
                    in_block = False
                    boundary = linked = 0
                boundary = boundary & path.kept | path.end
            elif kind == INLINE:
                parted = True
            elif kind == LINK:
                links -= 1
                parted = True
            if path is common:
                common = path.parent
            path = path.parent
            following = open_elements.pop().next
        node = following
    return reading


def _child(path: ElementPath, node: LexborNode) -> ElementPath:
    """The path of an element under a path, where its tag id is not known there."""
    tag, key = (node.tag or "")[:_LONGEST_TAG], node.tag_id
    if key < _LAST_KNOWN_TAG:
        return _paths.add(path, key, tag)
    known = path.get(tag)
    return _paths.add(path, tag, tag) if known is None else known


def _segmented(reading: _Reading, title: str, language: str | None) -> SegmentedPage:
    """The blocks that have text; what parts the others from their neighbours parts those."""
    texts: list[str] = []
    paths: list[str] = []
    linked: list[int] = []
    boundaries: list[int] = []
    passed = 0
    columns = zip(reading.texts(), reading.paths, reading.linked, reading.boundaries, strict=True)
    for text, path, linked_characters, boundary in columns:
        passed |= boundary
        if text:
            texts.append(text)
            paths.append(path.text)
            linked.append(min(linked_characters, len(text)))
            boundaries.append(passed)
            passed = 0
        else:
            passed &= ~_ITEM
    return SegmentedPage(title, language, tuple(texts), tuple(paths), tuple(linked), tuple(boundaries))


def _texts_of(hidden: list[LexborNode], reading: _Reading) -> list[str]:
    """The texts of hidden elements, if they can be of weight."""
    if sum(len(node.text()) for node in hidden) < sum(map(len, reading.leaves)):
        return []
    return [text for node in hidden for text in _read(node, fallback=False).texts()]


def _outweighs(texts: list[str], reading: _Reading) -> bool:
    """Whether texts have more words than everything that is shown, and enough for a page's content."""
    characters = sum(map(len, texts))
    if characters < 2 * _CONTENT_WORDS or 2 * characters < sum(map(len, reading.leaves)):
        return False
    count = len(words(" ".join(texts)))
    return count > _CONTENT_WORDS and count > len(words(" ".join(reading.texts())))


def _would_merge(before: str, after: str) -> bool:
    """Whether two words, or a sentence and the next, stand together without a space."""
    last, first = before[-1], after[0]
    return (last.isalnum() and first.isalnum()) or (last in ".!?:" and first.isupper())


def _fold(text: str) -> str:
    """A text with white space folded and without soft hyphens."""
    return " ".join(text.replace(_SOFT_HYPHEN, "").split())


def _lines(text: str) -> str:
    """A preformatted text without the white space at the ends of lines and the empty lines around it."""
    return "\n".join(line.rstrip() for line in text.replace(_SOFT_HYPHEN, "").splitlines()).strip("\n")
