"""The content of a page as HTML of a few elements and attributes, whatever the page used."""

from collections.abc import Iterable, Sequence
from html import escape

from dehusk.inference.document.blocks import (
    LINKS,
    PLAYERS,
    Block,
    Cell,
    Code,
    Group,
    Heading,
    Image,
    Line,
    Paragraph,
    Rule,
    Span,
    Table,
    begin_at,
    hangs,
    start_of,
)
from dehusk.schemas.markup import Container, Embedded, Mark
from dehusk.schemas.pages import BULLET

ATTRIBUTES = {
    **dict.fromkeys("h1 h2 h3 h4 h5 h6 p br hr blockquote pre ul dl dt dd figure figcaption".split(), ()),  # noqa: SIM905
    **dict.fromkeys("table thead tbody tr th td strong em sup sub del".split(), ()),  # noqa: SIM905
    "ol": ("start",),
    "li": ("value",),
    "code": ("class",),
    "a": ("href",),
    "img": ("src", "alt"),
    "input": ("type", "checked", "disabled"),
}
"""Attributes of each element that is written."""
_GROUPS = {
    Container.LIST: "ul",
    Container.NUMBERED_LIST: "ol",
    Container.QUOTE: "blockquote",
    Container.FIGURE: "figure",
    Container.FIGURE_CAPTION: "figcaption",
    Container.TERMS: "dl",
    Container.TERM: "dt",
    Container.DESCRIPTION: "dd",
}
_MARKS = {
    Mark.STRONG: "strong",
    Mark.EMPHASIS: "em",
    Mark.CODE: "code",
    Mark.RAISED: "sup",
    Mark.LOWERED: "sub",
    Mark.STRUCK: "del",
}
_FORMULAS = (("\\(", "\\)"), ("\\[", "\\]"))
"""Marks of formulas in a line, and of displayed ones."""
_LINES = (Container.ITEM, Container.TERM, Container.DESCRIPTION, Container.FIGURE_CAPTION)
"""Containers in which a single paragraph has no `<p>`."""


def html(root: Group) -> str:
    """Return the HTML of an outline: the content of a `<body>`."""
    return "\n".join(_block(block) for block in root.children)


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return f"<p>{_lines(block.lines)}</p>"
        case Heading():
            return f"<h{block.level}>{_inline(block.line)}</h{block.level}>"
        case Code():
            language = f' class="language-{escape(block.language)}"' if block.language else ""
            return f"<pre><code{language}>{escape(block.text, quote=False)}</code></pre>"
        case Image() | Rule():
            return _thing(block)
        case Table():
            return _table(block)
        case Group():
            return _group(block)


def _group(group: Group) -> str:
    if group.kind == Container.NUMBERED_LIST:
        return _numbered(group)
    children = _children(group)
    if group.kind == Container.ITEM:
        return f"<li>{_box(group)}{children}</li>"
    name = _GROUPS.get(Container(group.kind))
    return f"<{name}>{children}</{name}>" if name else children


def _numbered(group: Group) -> str:
    """Return a list whose items keep the numbers of the page, also where others are left out."""
    written: list[str] = []
    first = expected = _number(group.children[0]) if group.children else 1
    for child in group.children:
        number = _number(child)
        value = "" if number == expected else f' value="{number}"'
        inner = _box(child) + _children(child) if isinstance(child, Group) else _block(child)
        written.append(f"<li{value}>{inner}</li>")
        expected = number + 1
    start = "" if first == 1 else f' start="{first}"'
    return f"<ol{start}>{''.join(written)}</ol>"


def _box(item: Group) -> str:
    """Return the check box of a task."""
    if item.is_done is None:
        return ""
    return f'<input type="checkbox"{" checked" if item.is_done else ""} disabled> '


def _number(item: Block) -> int:
    return item.number if isinstance(item, Group) and item.number != BULLET else 1


def _children(group: Group) -> str:
    """Return the content of a group; an item's first paragraph without `<p>` if lists alone follow it."""
    first, others = (group.children[0] if group.children else None), group.children[1:]
    if (
        group.kind in _LINES
        and isinstance(first, Paragraph)
        and all(isinstance(each, Group) for each in others)
    ):
        return _lines(first.lines) + "".join(map(_block, others))
    return "".join(map(_block, group.children))


def _table(table: Table) -> str:
    head, body = (table.rows[:1], table.rows[1:]) if table.has_header else ([], table.rows)
    parts = [f"<thead>{_rows(head)}</thead>"] if head else []
    return f"<table>{''.join(parts)}<tbody>{_rows(body)}</tbody></table>"


def _rows(rows: Iterable[Sequence[Cell]]) -> str:
    return "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)


def _cell(cell: Cell) -> str:
    name = "th" if cell.is_header else "td"
    return f"<{name}>{_lines(cell.lines)}</{name}>"


def _thing(thing: Image | Rule) -> str:
    if isinstance(thing, Rule):
        return "<hr>"
    return _image(thing) if thing.kind == Embedded.IMAGE else f"<p>{_image(thing)}</p>"


def _image(image: Image) -> str:
    """Return an image, a player as a link, or a formula."""
    if image.is_formula:
        opening, closing = _FORMULAS[image.kind == Embedded.DISPLAYED_FORMULA]
        return opening + escape(image.text, quote=False) + closing
    if image.kind != Embedded.IMAGE:
        title = image.text or PLAYERS[Embedded(image.kind)]
        return f'<a href="{escape(image.address)}">{escape(title, quote=False)}</a>'
    return f'<img src="{escape(image.address)}" alt="{escape(image.text)}">'


def _lines(lines: Iterable[Line]) -> str:
    return "<br>".join(map(_inline, lines))


def _inline(line: Line) -> str:
    images = list(reversed(line.images))
    written = _spans(line, line.spans, 0, len(line.text), images)
    return written + _images(len(line.text), images)


def _spans(line: Line, spans: Sequence[Span], start: int, end: int, images: list[Image]) -> str:
    """Return a part of a line; the images before its characters are taken from the end of `images`."""
    written: list[str] = []
    for span in spans:
        before = _plain(line.text, start, span.start, images) + _images(span.start, images)
        written += [before.removesuffix(" ") if hangs(span) else before, _span(line, span, images)]
        start = span.end
    return "".join(written) + _plain(line.text, start, end, images)


def _span(line: Line, span: Span, images: list[Image]) -> str:
    if span.kind in (Mark.FORMULA, Mark.DISPLAYED_FORMULA):
        opening, closing = _FORMULAS[span.kind == Mark.DISPLAYED_FORMULA]
        return opening + escape(span.meaning, quote=False) + closing
    start = start_of(line.text, span)
    begin_at(span.children, start)
    inner = _spans(line, span.children, start, span.end, images)
    if span.kind in LINKS:
        return f'<a href="{escape(span.address)}">{inner}</a>' if span.address else inner
    name = _MARKS[Mark(span.kind)]
    return f"<{name}>{inner}</{name}>"


def _plain(text: str, start: int, end: int, images: list[Image]) -> str:
    written: list[str] = []
    while images and images[-1].character < end:
        position = max(start, images[-1].character)
        written += [escape(text[start:position], quote=False), _images(position, images)]
        start = position
    return "".join(written) + escape(text[start:end], quote=False)


def _images(position: int, images: list[Image]) -> str:
    """Return the images that stand before a character."""
    written: list[str] = []
    while images and images[-1].character <= position:
        image = images.pop()
        written += [image.before, _image(image), image.after]
    return "".join(written)
