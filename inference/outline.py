"""The content of a page as a tree: what its Markdown and its HTML are both written from."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dehusk.inference.addresses import Addresses
from dehusk.inference.lines import Line, Picture, Span, join, tree
from dehusk.schemas.markup import Container, Mark, Markup
from dehusk.schemas.pages import Boundary, SegmentedPage
from dehusk.schemas.rendering import NO_RENDERING, Rendering

MAX_DEPTH = 60
"""Containers within containers; deeper ones are left out, but not their text."""

_WITHIN_LINE = Boundary.VISIBILITY | Boundary.SPACE
_DISSOLVED = frozenset({Container.ROW, Container.CELL, Container.HEADER_CELL, Container.CAPTION})
"""Containers that mean nothing without a table around them."""
_SECTIONS = (Container.HEADING, Container.TABLE)
_CELLS = (Container.CELL, Container.HEADER_CELL)
_LISTS = (Container.LIST, Container.NUMBERED_LIST)
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:lang(?:uage)?-|highlight-source-|highlight-(?!default|text)|brush:\s*|(?:hljs|sourceCode)\s+)"
    r"([\w+#.-]{1,30})"
)
_MOST_EMPTY_CELLS = 10
"""For each cell that is filled; a table with more is none."""
_RUNNING_TEXT = 200
"""Characters of several blocks in a cell; with more, it lays out the page."""


@dataclass(slots=True)
class Paragraph:
    """Lines that follow each other."""

    lines: list[Line]


@dataclass(slots=True)
class Heading:
    """A heading of level 1 to 6."""

    level: int
    line: Line


@dataclass(slots=True)
class Code:
    """Preformatted text."""

    text: str
    language: str
    """Empty where it is not known."""


@dataclass(slots=True)
class Cell:
    """A cell of a table, empty without lines."""

    lines: list[Line] = field(default_factory=list)
    is_header: bool = False


@dataclass(slots=True)
class Table:
    """Rows of as many cells each."""

    rows: list[list[Cell]]

    @property
    def has_header(self) -> bool:
        """Whether its first row names its columns."""
        return all(cell.is_header for cell in self.rows[0] if cell.lines)


@dataclass(slots=True)
class Group:
    """A list, an item, a quotation, a figure, terms and their descriptions, or the whole, of kind 0."""

    kind: int
    """A `Container`."""
    number: int
    """Of an item."""
    children: list["Block"] = field(default_factory=list)


Block = Paragraph | Heading | Code | Table | Picture | Group


@dataclass(slots=True)
class _Leaf:
    """A block of the page."""

    line: Line
    holder: int
    in_row: bool
    """Whether it stands in a row that is one line of the text."""
    passed: int
    """What parts it from the block before."""
    hidden: bool


@dataclass(slots=True)
class _Node:
    """A container and what of it is content."""

    kind: int
    value: int
    children: list["_Leaf | Picture | _Node"] = field(default_factory=list)
    is_sectioned: bool = False
    """Whether it holds a heading or a table on the page, content or not."""


def outline(
    page: SegmentedPage, content: npt.NDArray[np.bool_], url: str, rendering: Rendering = NO_RENDERING
) -> Group:
    """The blocks that `content`, of shape [T], has, in what they stand in on the page.

    `rendering` says what is left out; `url` is the page's, which its addresses are relative to.

    Raises:
        ValueError: the page came without its markup.
    """
    if page.markup is None:
        raise ValueError("Markdown and HTML are written from a page's markup, which this one came without")
    root = _Reader(page, page.markup, content, Addresses(url, page.markup.base), rendering).root()
    return Group(0, 0, _Finisher(page.markup.strings, tables=rendering.tables).finished(root))


class _Reader:
    """Reads the columns of a page into nodes."""

    def __init__(
        self,
        page: SegmentedPage,
        markup: Markup,
        content: npt.NDArray[np.bool_],
        addresses: Addresses,
        rendering: Rendering,
    ) -> None:
        self._page, self._markup, self._content = page, markup, content
        self._addresses, self._rendering = addresses, rendering
        self._parents, self._kinds, self._values = markup.containers.tolist()
        self._depths, self._effective = self._shortened()
        self._sectioned = self._around_sections()
        self._marks = self._marks_of_blocks()
        self._within: dict[int, list[Picture]] = {}
        self._between: dict[int, list[tuple[int, Picture]]] = {}
        if rendering.images:
            self._read_images()

    def root(self) -> _Node:
        """The content, in its containers."""
        root = _Node(0, 0)
        nodes, open_ = [root], [0]
        for container, leaf in self._leaves():
            chain = self._chain(container)
            shared = next(
                (depth for depth, (one, other) in enumerate(zip(open_, chain, strict=False)) if one != other),
                min(len(open_), len(chain)),
            )
            del nodes[shared:], open_[shared:]
            for each in chain[shared:]:
                node = _Node(self._kinds[each - 1], self._values[each - 1], [], each in self._sectioned)
                nodes[-1].children.append(node)
                nodes.append(node)
                open_.append(each)
            nodes[-1].children.append(leaf)
        return root

    def _leaves(self) -> Iterator[tuple[int, _Leaf | Picture]]:
        """Blocks and images with their containers, in DOM order."""
        containers = self._markup.blocks.tolist()
        holders = self._markup.holders.tolist()
        layout = self._page.lists_and_tables
        columns = layout[1].tolist() if layout is not None else [0] * len(containers)
        passed, hidden = 0, self._page.hidden
        content = self._content.tolist()
        for block, boundary in enumerate(self._page.boundaries):
            passed |= boundary
            if block in self._between:
                yield from self._between[block]
            if content[block]:
                line = Line(self._page.texts[block], self._spans(block), self._within.get(block, []))
                in_row = columns[block] > 0
                yield containers[block], _Leaf(line, holders[block], in_row, passed, hidden[block])
                passed = 0
        yield from self._between.get(len(containers), ())

    def _shortened(self) -> tuple[list[int], list[int]]:
        """How deep each container stands, and which one stands for it where that is too deep."""
        depths, effective = [0], [0]
        for index, (parent, kind) in enumerate(zip(self._parents, self._kinds, strict=True), start=1):
            depth = depths[parent] + 1
            kept = depth <= MAX_DEPTH or kind == Container.CODE
            depths.append(depth)
            effective.append(index if kept else effective[parent])
        return depths, effective

    def _around_sections(self) -> set[int]:
        """The containers that hold headings or tables."""
        found: set[int] = set()
        for index in range(len(self._kinds), 0, -1):
            if index in found or self._kinds[index - 1] in _SECTIONS:
                found.add(self._parents[index - 1])
        return found

    def _chain(self, container: int) -> list[int]:
        """The containers from the root, 0, to one."""
        chain = []
        container = self._effective[container]
        while container:
            chain.append(container)
            container = self._effective[self._parents[container - 1]]
        return [0, *reversed(chain)]

    def _marks_of_blocks(self) -> dict[int, list[Span]]:
        marks: dict[int, list[Span]] = {}
        if not len(self._content):
            return marks
        columns = self._markup.marks
        kept = columns[:, self._content[columns[0]]]
        strings = self._markup.strings
        for block, start, end, kind, string in kept.T.tolist():
            address = self._address(strings[string]) if kind == Mark.LINK else ""
            last = min(end, len(self._page.texts[block]))
            if address is not None and start < last:
                marks.setdefault(block, []).append(Span(start, last, kind, address))
        return marks

    def _address(self, address: str) -> str | None:
        return self._addresses.of_link(address) if self._rendering.links else None

    def _spans(self, block: int) -> list[Span]:
        marks = self._marks.get(block)
        return tree(marks) if marks else []

    def _read_images(self) -> None:
        strings = self._markup.strings
        for block, character, container, *near, address, text in self._markup.images.T.tolist():
            if not self._is_kept(block, character, near):
                continue
            found = self._addresses.of_image(strings[address])
            if found is not None:
                self._place(Picture(found, strings[text], character), block, container)

    def _place(self, picture: Picture, block: int, container: int) -> None:
        """Let an image stand in its block, or between those that are kept."""
        if picture.character >= 0 and self._content[block]:
            self._within.setdefault(block, []).append(picture)
        else:
            picture.character = -1
            self._between.setdefault(block, []).append((container, picture))

    def _is_kept(self, block: int, character: int, near: Sequence[int]) -> bool:
        """Whether an image's block is kept, or all beside it, or all beside the figure that it stands in."""
        if character >= 0 and self._content[block]:
            return True
        first, behind, before, after = near
        beside = [each for each in (block - 1, block) if character < 0 and first <= each < behind]
        return self._are_content(beside) or self._are_content([each for each in (before, after) if each >= 0])

    def _are_content(self, blocks: Sequence[int]) -> bool:
        return bool(blocks) and all(self._content[each] for each in blocks)


class _Finisher:
    """Turns nodes into blocks."""

    def __init__(self, strings: Sequence[str], *, tables: bool) -> None:
        self._strings, self._tables = strings, tables

    def finished(self, node: _Node) -> list[Block]:
        """What a node holds; lines of the same element that follow each other are a paragraph."""
        blocks: list[Block] = []
        last: _Leaf | None = None
        for child in node.children:
            if isinstance(child, _Leaf):
                if last is None or not isinstance(blocks[-1], Paragraph) or not _goes_on(last, child):
                    blocks.append(Paragraph([child.line]))
                else:
                    _add_line(blocks[-1], last, child)
                last = child
                continue
            last = None
            if isinstance(child, Picture):
                blocks.append(child)
            else:
                blocks += self._node(child, node.kind)
        return blocks

    def _node(self, node: _Node, above: int) -> list[Block]:
        match node.kind:
            case Container.HEADING:
                return self._heading(node)
            case Container.CODE:
                return self._code(node)
            case Container.TABLE:
                return self._table(node)
            case Container.LIST | Container.NUMBERED_LIST:
                return _list(node, self.finished(node))
            case Container.ITEM if above not in _LISTS:
                return [Group(Container.LIST, 0, [Group(node.kind, node.value, self.finished(node))])]
        found = self.finished(node)
        return found if node.kind in _DISSOLVED else [Group(node.kind, node.value, found)]

    def _code(self, node: _Node) -> list[Block]:
        text = "\n".join(leaf.line.text for leaf in _leaves_of(node))
        return [Code(text, self._language(node.value))] if text else _pictures_of(node)

    def _heading(self, node: _Node) -> list[Block]:
        pictures: list[Block] = _pictures_of(node)
        lines = [leaf.line for leaf in _leaves_of(node)]
        if not lines:
            return pictures
        return [Heading(min(max(node.value, 1), 6), join(lines)), *pictures]

    def _language(self, value: int) -> str:
        named = _LANGUAGE.search(self._strings[value - 1]) if value else None
        return named[1].lower().rstrip(".") if named else ""

    def _table(self, node: _Node) -> list[Block]:
        """A table, what stands above it first; or its texts, where it has no columns to keep."""
        rows: list[_Node] = []
        others: list[_Leaf | Picture | _Node] = []
        for child in node.children:
            if isinstance(child, _Node) and child.kind == Container.ROW:
                rows.append(child)
            elif self._tables or not isinstance(child, _Node) or child.kind != Container.CAPTION:
                others.append(child)
        found = _grid(rows)
        if found is None:
            return self.finished(node)
        above = self.finished(_Node(0, 0, others))
        pictures: list[Block] = [picture for row in rows for picture in _pictures_of(row)]
        return [*above, *pictures, Table(found)] if self._tables else [*above, *pictures]


def _goes_on(last: _Leaf, leaf: _Leaf) -> bool:
    return last.holder == leaf.holder and not leaf.passed & Boundary.PARAGRAPH


def _add_line(block: Block, last: _Leaf, leaf: _Leaf) -> None:
    """Add a line to a paragraph, or go on in its last one behind hidden text that is left out."""
    if not isinstance(block, Paragraph):
        return
    if leaf.passed and not leaf.passed & ~_WITHIN_LINE and last.hidden == leaf.hidden:
        parting = " " if leaf.passed & Boundary.SPACE else ""
        block.lines[-1] = join([block.lines[-1], leaf.line], parting)
    else:
        block.lines.append(leaf.line)


def _list(node: _Node, children: list[Block]) -> list[Block]:
    """A list of nothing but items; what else stands in it belongs to the item before."""
    found = Group(node.kind, 0)
    for child in children:
        if isinstance(child, Group) and child.kind == Container.ITEM:
            found.children.append(child)
        elif found.children and isinstance(found.children[-1], Group):
            found.children[-1].children.append(child)
        else:
            found.children.append(Group(Container.ITEM, 1, [child]))
    return [found]


def _leaves_of(node: _Node) -> Iterator[_Leaf]:
    for child in node.children:
        if isinstance(child, _Leaf):
            yield child
        elif isinstance(child, _Node):
            yield from _leaves_of(child)


def _pictures_of(node: _Node) -> list[Block]:
    found: list[Block] = []
    for child in node.children:
        if isinstance(child, Picture):
            found.append(child)
        elif isinstance(child, _Node):
            found += _pictures_of(child)
    return found


def _grid(rows: Sequence[_Node]) -> list[list[Cell]] | None:
    """The cells of rows in the columns that hold any; None where they are no table."""
    read = [_cells(row) for row in rows]
    known = [row for row in read if row]
    if len(known) < 2 or any(row is None for row in read):
        return None
    columns = sorted({column for row in known for column in row})
    filled = sum(map(len, known))
    if len(columns) < 2 or len(columns) * len(known) > _MOST_EMPTY_CELLS * filled:
        return None
    return [[row.get(column, Cell()) for column in columns] for row in known]


def _cells(row: _Node) -> dict[int, Cell] | None:
    """The cells of a row by their columns; None where it lays out the page."""
    cells: dict[int, Cell] = {}
    is_line = all(leaf.in_row for leaf in _leaves_of(row))
    for child in row.children:
        if isinstance(child, Picture):
            continue
        if not isinstance(child, _Node) or child.kind not in _CELLS or _holds_table(child):
            return None
        if not is_line and _lays_out(child):
            return None
        lines = list(_lines_of(child))
        if lines:
            cell = cells.setdefault(child.value, Cell([], child.kind == Container.HEADER_CELL))
            cell.lines += lines
    is_single = len(cells) == 1 and sum(len(cell.lines) for cell in cells.values()) > 1
    return None if is_single and not is_line else cells


def _holds_table(node: _Node) -> bool:
    return any(
        isinstance(child, _Node) and (child.kind == Container.TABLE or _holds_table(child))
        for child in node.children
    )


def _lays_out(cell: _Node) -> bool:
    """Whether a cell has a section, lines of code or running text, the longest item of its lists included."""
    texts = [leaf.line.text for leaf in _leaves_of(cell)]
    if cell.is_sectioned or any("\n" in text for text in texts):
        return True
    items = [len(leaf.line.text) for leaf in _leaves_in_lists(cell)]
    others = sum(map(len, texts)) - sum(items)
    return len(texts) > 1 and others + max(items, default=0) > _RUNNING_TEXT


def _leaves_in_lists(node: _Node) -> Iterator[_Leaf]:
    for child in node.children:
        if isinstance(child, _Node):
            yield from (_leaves_of if child.kind in _LISTS else _leaves_in_lists)(child)


def _lines_of(node: _Node) -> Iterator[Line]:
    """The lines of a cell, code marked as such."""
    for child in node.children:
        if isinstance(child, _Leaf):
            line = child.line
            is_code = node.kind == Container.CODE
            marks = [Span(0, len(line.text), Mark.CODE)] if is_code else line.spans
            yield Line(line.text, marks, line.pictures)
        elif isinstance(child, _Node):
            yield from _lines_of(child)
