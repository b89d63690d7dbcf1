"""Outline of a page: its content tree as headings, paragraphs, lists and tables, for Markdown and HTML."""

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import dedent

import numpy as np
import numpy.typing as npt

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
    Span,
    Table,
    append,
    join,
)
from dehusk.inference.document.content_tree import Leaf, Node, read_content_tree
from dehusk.inference.document.notes import settle_notes, without_outer_rules
from dehusk.inference.markup.tex import begins_formula, find_formulas
from dehusk.schemas.markup import Container, Mark, Markup
from dehusk.schemas.options import NO_RENDERING, Rendering
from dehusk.schemas.pages import Boundary, SegmentedPage

_WITHIN_LINE = Boundary.VISIBILITY | Boundary.SPACE
_DISSOLVED = frozenset({Container.ROW, Container.CELL, Container.HEADER_CELL, Container.CAPTION})
"""Containers without a meaning outside of tables."""
_CELLS = (Container.CELL, Container.HEADER_CELL)
_LISTS = (Container.LIST, Container.NUMBERED_LIST)
_ITEMS = (Container.TASK, Container.NOTE)
"""Containers of the content of items."""
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:(?:mw-highlight-)?lang(?:uage)?-|highlight-source-|highlight-(?!default|text)|brush:\s*"
    r"|(?:hljs|sourceCode)\s+(?:lang(?:uage)?-)?)"
    r"([\w+#.-]{1,30})"
)
_NO_LANGUAGE = frozenset(
    {"text", "plaintext", "plain", "txt", "none", "nohighlight", "no-highlight", "raw", "default", "auto"}
)
"""Names by which highlighters are told that text is of no language."""
_MAX_EMPTY_CELLS = 10
"""Limit of empty cells for each filled one; with more, it is no table."""
_MAX_HEADS = 4
"""Limit of the rows that name the columns of a table; with more, header cells are its data."""
_RUNNING_TEXT = 200
"""Limit of characters in a cell of several blocks; with more, its table is a layout table."""
_MAX_FORMULA_LINES = 40
"""Limit of a formula's lines, which marks of TeX on lines of their own enclose."""


def outline(
    page: SegmentedPage, content: npt.NDArray[np.bool_], url: str, rendering: Rendering = NO_RENDERING
) -> Group:
    """Return the blocks that `content`, of shape [T], keeps, in the groups they stand in on the page.

    `rendering` says what is left out; `url` is the page's, which its addresses are relative to.

    Raises:
        ValueError: the page came without its markup.
    """
    if page.markup is None:
        raise ValueError("Markdown and HTML are written from a page's markup, which this one came without")
    root = read_content_tree(page, page.markup, content, url, rendering)
    blocks = without_outer_rules(_BlockBuilder(page.markup, tables=rendering.tables).blocks_of(root))
    settle_notes(blocks)
    return Group(0, 0, blocks)


class _BlockBuilder:
    """Builder of blocks from nodes."""

    def __init__(self, markup: Markup, *, tables: bool) -> None:
        self._strings, self._tables = markup.strings, tables
        self._typesets = markup.typesets

    def blocks_of(self, node: Node) -> list[Block]:
        """Return the blocks within a node; consecutive lines of the same element are a paragraph."""
        blocks = self._read(node)
        for position, block in enumerate(blocks):
            if isinstance(block, Paragraph) and len(block.lines) > 1:
                block.lines = _join_formulas(block.lines, typesets=self._typesets)
                if all(map(_is_code, block.lines)):
                    blocks[position] = Code(dedent(_code(block.lines)), "")
        return blocks

    def _read(self, node: Node) -> list[Block]:
        blocks: list[Block] = []
        paragraph: Paragraph | None = None
        last: Leaf | None = None
        for child in node.children:
            if not isinstance(child, Leaf):
                paragraph = None
                blocks += self._node(child, node.kind) if isinstance(child, Node) else [child]
                continue
            if paragraph is not None and last is not None and _goes_on(last, child):
                _add_line(paragraph, last, child)
            else:
                paragraph = Paragraph([child.line])
                blocks.append(paragraph)
            last = child
        return blocks

    def _node(self, node: Node, above: int) -> list[Block]:
        match node.kind:
            case Container.HEADING:
                return self._heading(node)
            case Container.CODE:
                return self._code(node)
            case Container.TABLE:
                return self._table(node)
            case Container.LIST | Container.NUMBERED_LIST:
                return _list(node, self.blocks_of(node))
            case Container.ITEM:
                item = self._item(node)
                return [item] if above in _LISTS else [Group(Container.LIST, 0, [item])]
        blocks = self.blocks_of(node)
        return blocks if node.kind in _DISSOLVED else [Group(node.kind, node.value, blocks, label=node.label)]

    def _item(self, node: Node) -> Group:
        """Return an item; what is in a task or a footnote that it is becomes its own."""
        item, inner = Group(Container.ITEM, node.value), node
        while (
            len(inner.children) == 1 and isinstance(only := inner.children[0], Node) and only.kind in _ITEMS
        ):
            inner = only
            if inner.kind == Container.TASK:
                item.is_done = inner.value == 1
            else:
                item.label = inner.label
        item.children = self.blocks_of(inner)
        return item

    def _code(self, node: Node) -> list[Block]:
        text = dedent(_code(leaf.line for leaf in node.leaves()))
        return [Code(text, self._language(node.value))] if text else [*node.images()]

    def _heading(self, node: Node) -> list[Block]:
        images: list[Block] = [*node.images()]
        lines = [leaf.line for leaf in node.leaves()]
        if not lines:
            return images
        if any("\n" in line.text for line in lines):
            return self.blocks_of(node)
        return [Heading(min(max(node.value, 1), 6), join(lines)), *images]

    def _language(self, value: int) -> str:
        named = _LANGUAGE.search(self._strings[value - 1]) if value else None
        language = named[1].lower().rstrip(".") if named else ""
        return "" if language in _NO_LANGUAGE else language

    def _table(self, node: Node) -> list[Block]:
        """Return the blocks above a table, then the table, or its texts where it has no columns to keep."""
        rows: list[Node] = []
        others: list[Leaf | Image | Rule | Node] = []
        for child in node.children:
            if isinstance(child, Node) and child.kind == Container.ROW:
                rows.append(child)
            elif self._tables or not isinstance(child, Node) or child.kind != Container.CAPTION:
                others.append(child)
        grid = _grid(rows)
        if grid is None:
            return self.blocks_of(node)
        above = self.blocks_of(Node(0, 0, others))
        images: list[Block] = [image for row in rows for image in row.images()]
        if self._tables:
            above += _take_titles(grid)
            _merge_heads(grid)
        return [*above, *images, Table(grid)] if self._tables else [*above, *images]


def _code(lines: Iterable[Line]) -> str:
    return "\n".join(" " * line.indent + line.text for line in lines)


def _goes_on(last: Leaf, leaf: Leaf) -> bool:
    return last.holder == leaf.holder and not leaf.boundary & Boundary.PARAGRAPH


def _is_code(line: Line) -> bool:
    """Return True if all of a line is code."""
    return not line.images and [(each.start, each.end, each.kind) for each in line.spans] == [
        (0, len(line.text), Mark.CODE)
    ]


def _add_line(paragraph: Paragraph, last: Leaf, leaf: Leaf) -> None:
    """Add a line to a paragraph, or continue its last one after hidden text that is left out."""
    if leaf.boundary and not leaf.boundary & ~_WITHIN_LINE and last.hidden == leaf.hidden:
        parting = " " if leaf.boundary & Boundary.SPACE else ""
        line = paragraph.lines[-1]
        if line is last.line:
            line = paragraph.lines[-1] = Line(line.text, [*line.spans], [*line.images])
        append(line, leaf.line, parting)
    else:
        paragraph.lines.append(leaf.line)


def _join_formulas(lines: list[Line], *, typesets: bool) -> list[Line]:
    """Return the lines of a paragraph, those of a displayed formula as one."""
    joined: list[Line] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        closing = "" if line.spans else begins_formula(line.text)
        end = _end_of_formula(lines, position, closing) if closing else -1
        formula = _formula(lines[position:end], typesets=typesets) if end > 0 else None
        joined.append(line if formula is None else formula)
        position = position + 1 if formula is None else end
    return joined


def _end_of_formula(lines: list[Line], position: int, closing: str) -> int:
    """Return the index of the line after the one that ends a formula, or -1."""
    for end in range(position + 1, min(position + _MAX_FORMULA_LINES, len(lines))):
        if closing in lines[end].text:
            return end + 1 if lines[end].text.rstrip(".,; ").endswith(closing) else -1
    return -1


def _formula(lines: list[Line], *, typesets: bool) -> Line | None:
    text = " ".join(line.text for line in lines)
    found = find_formulas(text, typesets=typesets, dollars=False)
    if len(found) != 1 or found[0].start or not found[0].is_displayed:
        return None
    tex = found[0].tex
    return Line(text, [Span(0, found[0].end, Mark.DISPLAYED_FORMULA, meaning=tex)])


def _list(node: Node, children: list[Block]) -> list[Block]:
    """Return a list of nothing but items; other blocks in it join the item before."""
    items = Group(node.kind, 0)
    for child in without_outer_rules(children):
        if isinstance(child, Group) and child.kind == Container.ITEM:
            items.children.append(child)
        elif items.children and isinstance(items.children[-1], Group):
            items.children[-1].children.append(child)
        else:
            items.children.append(Group(Container.ITEM, 1, [child]))
    return [items]


def _grid(rows: Sequence[Node]) -> list[list[Cell]] | None:
    """Return the cells of rows in the columns that hold any; None if they are no table."""
    is_headed = bool(rows) and _is_header(rows[0])
    cells_of_rows = [_cells(row, is_headed=is_headed) for row in rows]
    filled_rows = [row for row in cells_of_rows if row]
    if len(filled_rows) < 2 or any(row is None for row in cells_of_rows):
        return None
    columns = sorted({column for row in filled_rows for column in row})
    filled = sum(map(len, filled_rows))
    if len(columns) < 2 or len(columns) * len(filled_rows) > _MAX_EMPTY_CELLS * filled:
        return None
    return [[row.get(column, Cell()) for column in columns] for row in filled_rows]


def _take_titles(grid: list[list[Cell]]) -> list[Block]:
    """Take the rows of one header cell off a table whose columns a further row of header cells names."""
    heads = next((row for row, cells in enumerate(grid) if not _is_title(cells)), len(grid))
    if not heads or heads + 1 >= len(grid) or not all(cell.is_header for cell in grid[heads] if cell.lines):
        return []
    titles: list[Block] = [Paragraph(cell.lines) for row in grid[:heads] for cell in row if cell.lines]
    del grid[:heads]
    return titles


def _merge_heads(grid: list[list[Cell]]) -> None:
    """Merge rows of header cells on top, some of which span others, to one that names each column in full."""
    count = next((row for row, cells in enumerate(grid) if not _is_head(cells)), len(grid))
    heads = grid[:count]
    if not 1 < count <= _MAX_HEADS or count == len(grid) or all(cell.lines for row in heads for cell in row):
        return
    for row, cells in enumerate(heads[:-1]):
        above = Cell()
        for column, cell in enumerate(cells):
            if any(each[column].lines for each in heads[row + 1 :]):
                above = cell if cell.lines else above
                cells[column] = above
            elif cell.lines:
                above = Cell()
    columns = ([line for cell in column for line in cell.lines] for column in zip(*heads, strict=True))
    grid[:count] = [[Cell(lines, is_header=True) for lines in columns]]


def _is_head(row: list[Cell]) -> bool:
    """Return True for a row of several header cells with text."""
    return not _is_title(row) and all(cell.is_header for cell in row if cell.lines)


def _is_title(row: list[Cell]) -> bool:
    """Return True for a row of one header cell with text."""
    filled = [cell for cell in row if cell.lines]
    return len(filled) == 1 and filled[0].is_header


def _is_header(row: Node) -> bool:
    """Return True for a row of header cells, which tables for layout do not have."""
    kinds = [child.kind for child in row.children if isinstance(child, Node)]
    return len(kinds) > 1 and all(kind == Container.HEADER_CELL for kind in kinds)


def _cells(row: Node, *, is_headed: bool) -> dict[int, Cell] | None:
    """Return the cells of a row by their columns; None if it is of a layout table."""
    cells: dict[int, Cell] = {}
    is_line = all(leaf.in_row for leaf in row.leaves())
    for child in row.children:
        if isinstance(child, Image | Rule):
            continue
        if not isinstance(child, Node) or child.kind not in _CELLS or _holds_table(child):
            return None
        if not is_line and _lays_out(child, is_headed=is_headed):
            return None
        lines = list(_lines_of(child))
        if lines:
            cell = cells.setdefault(child.value, Cell([], child.kind == Container.HEADER_CELL))
            cell.lines += lines
    is_single = len(cells) == 1 and sum(len(cell.lines) for cell in cells.values()) > 1
    return None if is_single and not is_line else cells


def _holds_table(node: Node) -> bool:
    return any(
        isinstance(child, Node) and (child.kind == Container.TABLE or _holds_table(child))
        for child in node.children
    )


def _lays_out(cell: Node, *, is_headed: bool) -> bool:
    """Return True if a cell holds a section or code, or running text in a table without header cells on top.

    Of its lists, the longest item counts.
    """
    texts = [leaf.line.text for leaf in cell.leaves()]
    if cell.is_sectioned or any("\n" in text for text in texts):
        return True
    if is_headed:
        return False
    items = [len(leaf.line.text) for leaf in _leaves_in_lists(cell)]
    others = sum(map(len, texts)) - sum(items)
    return len(texts) > 1 and others + max(items, default=0) > _RUNNING_TEXT


def _leaves_in_lists(node: Node) -> Iterator[Leaf]:
    for child in node.children:
        if isinstance(child, Node):
            yield from (child.leaves() if child.kind in _LISTS else _leaves_in_lists(child))


def _lines_of(node: Node) -> Iterator[Line]:
    """Yield the lines of a cell, code marked as such."""
    for child in node.children:
        if isinstance(child, Leaf):
            line = child.line
            is_code = node.kind == Container.CODE
            marks = [Span(0, len(line.text), Mark.CODE)] if is_code else line.spans
            yield Line(line.text, marks, line.images)
        elif isinstance(child, Node):
            yield from _lines_of(child)
