"""The content of a page as Markdown: CommonMark, with tables as GitHub and formulas as Pandoc has them."""

from collections.abc import Iterable, Sequence

from dehusk.inference.document.blocks import (
    Block,
    Cell,
    Code,
    Group,
    Heading,
    Image,
    Line,
    Paragraph,
    Table,
    join,
)
from dehusk.inference.document.inline_markdown import longest_backticks, write_image, write_line
from dehusk.schemas.markup import Container, Mark
from dehusk.schemas.pages import BULLET

_MAX_DEPTH = 8
"""Limit of nested lists and quotations; of deeper ones, only the content is written."""
_MAX_NUMBER = 999_999_999


def markdown(root: Group) -> str:
    """Return the Markdown of an outline, without a line break at its end."""
    return "\n".join(_blocks(root.children, 0))


def _blocks(blocks: Iterable[Block], depth: int) -> list[str]:
    """Return the lines of blocks, parted by empty ones; adjacent lists get different marks."""
    lines: list[str] = []
    last: Block | None = None
    is_other = False
    for block in blocks:
        is_other = _is_list(block) and last is not None and _is_list(last) and not is_other
        written = _block(block, depth, is_other=is_other)
        if written:
            if lines:
                lines.append("")
            lines += written
            last = block
    return lines


def _block(block: Block, depth: int, *, is_other: bool) -> list[str]:
    match block:
        case Paragraph():
            return _paragraph(block.lines)
        case Heading():
            return ["#" * block.level + " " + _with_end_escaped(write_line(block.line, begins=False))]
        case Code():
            fence = "`" * max(3, 1 + longest_backticks(block.text))
            return [fence + block.language, *block.text.split("\n"), fence]
        case Image():
            return [write_image(block)]
        case Table():
            return _table(block)
        case Group():
            return _group(block, depth, is_other=is_other)


def _paragraph(lines: Sequence[Line]) -> list[str]:
    if len(lines) == 1 and _is_displayed(lines[0]):
        return ["$$", lines[0].text, "$$"]
    written = [write_line(line) for line in lines]
    return [*(line + "\\" for line in written[:-1]), written[-1]]


def _is_displayed(line: Line) -> bool:
    if len(line.spans) != 1 or line.images or "$" in line.text:
        return False
    span = line.spans[0]
    return span.kind == Mark.DISPLAYED_FORMULA and (span.start, span.end) == (0, len(line.text))


def _with_end_escaped(heading: str) -> str:
    """Escape the last signs of a heading, which would be taken for the end of its mark."""
    text = heading.rstrip("#")
    return text + (len(heading) - len(text)) * "\\#"


def _is_list(block: Block) -> bool:
    return isinstance(block, Group) and block.kind in (Container.LIST, Container.NUMBERED_LIST)


def _group(group: Group, depth: int, *, is_other: bool) -> list[str]:
    if depth < _MAX_DEPTH and group.kind == Container.QUOTE:
        return [f"> {line}" if line else ">" for line in _blocks(group.children, depth + 1)]
    if depth < _MAX_DEPTH and _is_list(group):
        return _list(group, depth + 1, is_other=is_other)
    return _blocks(group.children, depth)


def _list(group: Group, depth: int, *, is_other: bool) -> list[str]:
    is_tight = all(isinstance(item, Group) and _is_tight(item) for item in group.children)
    lines: list[str] = []
    for item in group.children:
        if not isinstance(item, Group):
            continue
        written = (
            [line for block in item.children for line in _blocks([block], depth)]
            if is_tight
            else _blocks(item.children, depth)
        )
        if not written:
            continue
        if lines and not is_tight:
            lines.append("")
        mark = _mark(group, item, is_other=is_other)
        margin = " " * len(mark)
        lines.append(mark + written[0])
        lines += [margin + line if line else "" for line in written[1:]]
    return lines


def _mark(group: Group, item: Group, *, is_other: bool) -> str:
    if group.kind == Container.LIST:
        return "* " if is_other else "- "
    number = 1 if item.number == BULLET else min(max(item.number, 0), _MAX_NUMBER)
    return f"{number}{')' if is_other else '.'} "


def _is_tight(item: Group) -> bool:
    """Return True for one or several lines, followed by lists that need no empty line before them."""
    if not item.children:
        return True
    first, *others = item.children
    return isinstance(first, Paragraph | Heading) and len(others) < 2 and all(map(_follows_text, others))


def _follows_text(block: Block) -> bool:
    if not isinstance(block, Group) or not _is_list(block) or not block.children:
        return False
    first = block.children[0]
    return block.kind == Container.LIST or (isinstance(first, Group) and first.number == 1)


def _table(table: Table) -> list[str]:
    width = len(table.rows[0])
    rows = table.rows if table.has_header else [[Cell() for _ in range(width)], *table.rows]
    lines = [_row(row) for row in rows]
    return [lines[0], "|" + " --- |" * width, *lines[1:]]


def _row(cells: Sequence[Cell]) -> str:
    texts = (write_line(join(cell.lines), begins=False, in_cell=True) if cell.lines else "" for cell in cells)
    return "| " + " | ".join(texts) + " |"
