"""The content of a page as Markdown: CommonMark, and what GitHub and Pandoc add to it.

Tables, tasks, struck text and footnotes are as GitHub, formulas as Pandoc, terms and their descriptions as
PHP Markdown Extra has them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from dehusk.inference.document.blocks import (
    Block,
    Cell,
    Code,
    Group,
    Heading,
    Image,
    Line,
    Paragraph,
    Rule,
    Table,
    join,
)
from dehusk.inference.document.inline_markdown import (
    longest_backticks,
    may_end_formula,
    write_image,
    write_line,
)
from dehusk.inference.document.notes import take_notes
from dehusk.schemas.markup import Container, Embedded, Mark
from dehusk.schemas.pages import BULLET

_MAX_DEPTH = 8
"""Limit of nested lists and quotations; of deeper ones, only the content is written."""
_FAR = ":   "
"""Mark of a description that is more than a paragraph, which further blocks stand below."""
_MAX_NUMBER = 999_999_999


def markdown(root: Group) -> str:
    """Return the Markdown of an outline, without a line break at its end."""
    blocks, notes = take_notes(root.children)
    lines = _blocks(blocks, 0)
    for note in notes:
        first, *others = _blocks(note.children, 0) or [""]
        lines += ["", f"[^{note.label}]: {first}", *(f"    {line}" if line else "" for line in others)]
    return "\n".join(lines)


def _blocks(blocks: Iterable[Block], depth: int) -> list[str]:
    """Return the lines of blocks, parted by empty ones; adjacent lists of one kind get different marks."""
    lines: list[str] = []
    last: Block | None = None
    is_other = False
    for block in _marked(blocks, depth):
        is_other = _are_lists_of_one_kind(last, block) and not is_other
        written = _block(block, depth, is_other=is_other)
        if written:
            if lines:
                lines.append("")
            lines += written
            last = block
    return lines


def _marked(blocks: Iterable[Block], depth: int) -> Iterator[Block]:
    """Yield blocks; in place of a group that has no mark, such as a figure, the blocks in it."""
    for block in blocks:
        if isinstance(block, Group) and (depth >= _MAX_DEPTH or not _has_mark(block)):
            yield from _marked(block.children, depth)
        else:
            yield block


def _has_mark(group: Group) -> bool:
    if group.kind == Container.TERMS:
        return _are_terms(group.children)
    return group.kind == Container.QUOTE or _is_list(group)


def _block(block: Block, depth: int, *, is_other: bool) -> list[str]:
    match block:
        case Paragraph():
            return _paragraph(block.lines)
        case Heading():
            return ["#" * block.level + " " + _with_end_escaped(write_line(block.line, begins=False))]
        case Code():
            fence = "`" * max(3, 1 + longest_backticks(block.text))
            return [fence + block.language, *block.text.split("\n"), fence]
        case Image() | Rule():
            return _thing(block)
        case Table():
            return _table(block)
        case Group():
            return _group(block, depth, is_other=is_other)


def _thing(thing: Image | Rule) -> list[str]:
    if isinstance(thing, Rule):
        return ["---"]
    if thing.kind == Embedded.DISPLAYED_FORMULA and "$" not in thing.text:
        return ["$$", thing.text, "$$"]
    return [write_image(thing)]


def _paragraph(lines: Sequence[Line]) -> list[str]:
    if len(lines) == 1 and _is_displayed(lines[0]):
        return ["$$", lines[0].spans[0].meaning, "$$"]
    has_formula = len(lines) > 1 and any(map(may_end_formula, lines))
    written = [write_line(line, has_formula=has_formula) for line in lines]
    return [*(line + "\\" for line in written[:-1]), written[-1]]


def _is_displayed(line: Line) -> bool:
    if len(line.spans) != 1 or line.images:
        return False
    span = line.spans[0]
    return (
        "$" not in span.meaning
        and span.kind == Mark.DISPLAYED_FORMULA
        and (span.start, span.end) == (0, len(line.text))
    )


def _with_end_escaped(heading: str) -> str:
    """Escape the last signs of a heading, which would be taken for the end of its mark."""
    text = heading.rstrip("#")
    return text + (len(heading) - len(text)) * "\\#"


def _is_list(block: Block | None) -> TypeGuard[Group]:
    return isinstance(block, Group) and block.kind in (Container.LIST, Container.NUMBERED_LIST)


def _are_lists_of_one_kind(first: Block | None, second: Block) -> bool:
    return _is_list(first) and isinstance(second, Group) and first.kind == second.kind


def _group(group: Group, depth: int, *, is_other: bool) -> list[str]:
    if _is_list(group):
        return _list(group, depth + 1, is_other=is_other)
    if group.kind == Container.TERMS:
        return _terms(group.children, depth + 1)
    return [f"> {line}" if line else ">" for line in _blocks(group.children, depth + 1)]


def _are_terms(blocks: Sequence[Block]) -> bool:
    """Return True for terms that are a line each, and their descriptions."""
    groups = [block for block in blocks if isinstance(block, Group)]
    kinds = [group.kind for group in groups]
    if len(groups) < len(blocks) or not set(kinds) <= {Container.TERM, Container.DESCRIPTION}:
        return False
    if not kinds or kinds[0] != Container.TERM or kinds[-1] != Container.DESCRIPTION:
        return False
    lines = [_lines_of(group) for group in groups if group.kind == Container.TERM]
    return all(len(term) == 1 for term in lines)


def _lines_of(group: Group) -> Sequence[Line]:
    """Return the lines of a group that is a single paragraph; none if it is more than that."""
    only = group.children[0] if len(group.children) == 1 else None
    return () if not isinstance(only, Paragraph) or any(map(_is_displayed, only.lines)) else only.lines


def _terms(blocks: Sequence[Block], depth: int) -> list[str]:
    """Return terms and their descriptions, these after a colon."""
    lines: list[str] = []
    last = ""
    for block in blocks:
        written = _blocks(block.children, depth) if isinstance(block, Group) else []
        if not isinstance(block, Group) or not written:
            continue
        mark = "" if block.kind == Container.TERM else ": " if _lines_of(block) else _FAR
        if lines and (_FAR in (last, mark) if mark else last):
            lines.append("")
        lines.append(mark + written[0])
        lines += [" " * len(mark) + line if line else "" for line in written[1:]]
        last = mark
    return lines


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
        lines.append(mark + _task(item) + written[0])
        lines += [margin + line if line else "" for line in written[1:]]
    return lines


def _task(item: Group) -> str:
    """Return the box of a task, which only text can have."""
    first = item.children[0]
    if item.is_done is None or not isinstance(first, Paragraph) or _is_displayed(first.lines[0]):
        return ""
    return "[x] " if item.is_done else "[ ] "


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
    if not _is_list(block) or not block.children:
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
