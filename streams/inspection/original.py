"""A page's own HTML, made harmless: its tree, written anew with the elements and attributes known here.

What a page says of its looks is kept, style sheets included; nothing that runs, loads, links or sends is.
"""

from bisect import bisect_left
from collections.abc import Iterator
from html import escape
from itertools import accumulate

from dehusk.inference.flattening import flatten
from dehusk.inference.parser import Node, parse
from dehusk.streams.inspection.alignment import find_letters, letters_of

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"
"""What the page may load, besides its sandbox: nothing but what it holds."""
ELEMENTS = frozenset(
    """
    a abbr address article aside b bdi bdo big blockquote body br caption center cite code col colgroup dd del
    details dfn dialog div dl dt em fieldset figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup hr
    i img ins kbd label legend li main mark menu nav ol p picture pre q rp rt ruby s samp search section small
    span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr
    """.split()  # noqa: SIM905
)
"""The elements that are written; of others, what they hold is."""
ATTRIBUTES = frozenset(
    """
    align alt bgcolor border cellpadding cellspacing class color colspan dir face height hidden id lang open
    rowspan size start style title type valign value width
    """.split()  # noqa: SIM905
)
"""The attributes that are written, and `src` of an image that is its own data."""
BLOCK_CLASS = "dehusk-block-"
"""How the class begins of what holds a block's text; the page's own classes do not begin so."""
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


def harmless(html: bytes, blocks: tuple[str, ...]) -> str:
    """A page, given in UTF-8, as HTML that may be shown; the texts of its blocks are marked by classes.

    Raises:
        PageError: the page's elements do not fit into memory.
    """
    document = parse(flatten(html))
    root = document.root
    if root is None:
        return ""
    writer = _Writer(_numbers(root, blocks))
    body = "".join(writer.written(root))
    styles = "".join(f"<style>{style}</style>" for style in writer.styles)
    return (
        f'<!DOCTYPE html><html{_attributes(root)}><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">{styles}</head>{body}</html>'
    )


def _numbers(root: Node, blocks: tuple[str, ...]) -> list[int]:
    """The block that each text of the document is of, or -1."""
    nodes = [node for node, entering in _walk(root) if entering and _is_text(node)]
    texts = [letters_of(node.text_content or "") for node in nodes]
    letters, starts = "".join(texts), list(accumulate(map(len, texts), initial=0))
    numbers, position = [-1] * len(texts), 0
    for number, block in enumerate(blocks):
        wanted = letters_of(block)
        start = find_letters(letters, wanted, position)
        if start >= 0:
            position = start + len(wanted)
            for node in range(bisect_left(starts, start), bisect_left(starts, position)):
                numbers[node] = number if texts[node] else -1
    return numbers


class _Writer:
    """Writes a tree anew."""

    def __init__(self, numbers: list[int]) -> None:
        self.styles: list[str] = []
        self._numbers = iter(numbers)

    def written(self, root: Node) -> Iterator[str]:
        """The `<body>`."""
        for node, entering in _walk(root, self.styles):
            if _is_text(node):
                yield self._text(node)
            elif (node.tag or "") in ELEMENTS:
                yield _start(node) if entering else _end(node)

    def _text(self, node: Node) -> str:
        text = escape(node.text_content or "", quote=False)
        number, around = next(self._numbers), node.parent
        if number < 0 or (around is not None and around.tag in _WITHOUT_TEXT):
            return text
        return f'<span class="{BLOCK_CLASS}{number}" title="block {number + 1}">{text}</span>'


def _walk(root: Node, styles: list[str] | None = None) -> Iterator[tuple[Node, bool]]:
    """The texts and elements of a tree in order, elements when they are entered and when they are left.

    What is dropped is left out; style sheets are told to `styles`.
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


def _kept(node: Node | None, styles: list[str] | None) -> Node | None:
    """The node, or the next one behind it that is not dropped."""
    while node is not None and not _is_text(node) and (not node.is_element_node or node.tag in _DROPPED):
        if node.tag == "style" and styles is not None:
            styles += _style(node.text(deep=True))
        node = node.next
    return node


def _style(text: str) -> list[str]:
    """A style sheet, unless it holds what could end one."""
    return [] if "</" in text else [text]


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
            kept = _own_classes(value or "") if name == "class" else value or ""
            written.append(f' {name}="{escape(kept)}"')
        elif name == "src" and node.tag == "img" and (value or "").strip().lower().startswith(_PICTURES):
            written.append(f' src="{escape((value or "").strip())}"')
    return "".join(written)


def _own_classes(value: str) -> str:
    """The classes of a page that are none of this module's."""
    return " ".join(name for name in value.split() if not name.lower().startswith(BLOCK_CLASS))
