# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The containers around the blocks of a page, and the columns of its `Markup`."""

from libc.stdint cimport int32_t, uint8_t, uintptr_t
from libc.string cimport memset

from dehusk.inference.native cimport lexbor
from dehusk.inference.native.attributes cimport attributes, classes
from dehusk.inference.native.buffer cimport Buffer, content, free, more
from dehusk.inference.native.lexbor cimport Element, Node, String
from dehusk.inference.native.lists cimport Item, Lists
from dehusk.inference.native.markup cimport ROLE, number_of, spells, value_of
from dehusk.inference.native.notes cimport find_notes
from dehusk.inference.native.recording cimport Recording, Thing
from dehusk.inference.native.rows cimport NONE, Block, Row, Rows
from dehusk.inference.native.tables cimport Tables

import numpy as np

from dehusk.inference.markup import elements
from dehusk.inference.native.markup import NUMBERED_TAGS
from dehusk.schemas.markup import Container

cdef enum:
    MAX_AROUND_CODE = 3  # elements whose classes may name its language
    MAX_AROUND_IMAGE = 5  # elements of which one may be its figure
    MAX_LANGUAGE = 200  # characters
    MAX_HEADING = 300  # bytes, white space among them, and nodes

cdef int TASK = Container.TASK, NOTE = Container.NOTE
cdef int CODE = Container.CODE, ITEM = Container.ITEM, HEADING = Container.HEADING
cdef int CELL = Container.CELL, HEADER_CELL = Container.HEADER_CELL
cdef int FIGURE = Container.FIGURE, BLOCK = elements.BLOCK
cdef uintptr_t THEAD = number_of(b"thead"), PARAGRAPH = number_of(b"p"), CODE_TAG = number_of(b"code")
cdef frozenset FIGURES = frozenset({"wp-caption", "caption", "image-caption", "captioned-image", "figure"})
cdef dict CONTAINERS = {
    **dict.fromkeys((f"h{level}" for level in range(1, 7)), Container.HEADING),
    **dict.fromkeys(("ul", "menu", "dir"), Container.LIST),
    "ol": Container.NUMBERED_LIST,
    "li": Container.ITEM,
    "blockquote": Container.QUOTE,
    **dict.fromkeys(("listing", "plaintext", "pre", "textarea", "xmp"), Container.CODE),
    "table": Container.TABLE,
    "tr": Container.ROW,
    "td": Container.CELL,
    "th": Container.HEADER_CELL,
    "caption": Container.CAPTION,
    "figure": Container.FIGURE,
    "figcaption": Container.FIGURE_CAPTION,
    "dl": Container.TERMS,
    "dt": Container.TERM,
    "dd": Container.DESCRIPTION,
}

cdef uint8_t[lexbor.NUMBERED_TAGS] _containers_of_tags
for _number in range(lexbor.NUMBERED_TAGS):
    _containers_of_tags[_number] = CONTAINERS.get(NUMBERED_TAGS[_number], 0)


cdef dict columns(Recording recording, Rows rows, Lists lists, Tables tables, object holders, list texts):
    """Return the fields of `Markup`; call it after `Rows.columns` and `Lists.of_items`."""
    cdef Block *blocks = <Block *> rows._blocks.data
    cdef int count = rows._blocks.used // sizeof(Block), block
    cdef RowContainers around = RowContainers(recording, rows, lists, tables)
    recording._notes = find_notes(recording, rows, texts)
    of_blocks = np.empty(count, np.int32)
    cdef int32_t[::1] column = of_blocks
    for block in range(count):
        column[block] = around.container_of(blocks[block].row)
    embedded = around.embedded_in(recording)
    return {
        "containers": np.ascontiguousarray(_columns(content(&around.containers), 3)),
        "blocks": of_blocks,
        "holders": holders,
        "marks": np.ascontiguousarray(_columns(content(&recording._marks), 5)),
        "embedded": np.array(embedded, np.int32).reshape(-1, 11).T.copy(),
        "strings": tuple(recording._strings),
        "indents": recording._indents,
        "typesets": recording._typesets,
        "typesets_dollars": recording._typesets_dollars,
    }


cdef class RowContainers:
    """The containers around the elements of a page."""

    cdef Buffer containers  # parent, kind and value of each
    cdef Buffer _of_rows  # the container of each row, or NONE where that was not asked
    cdef Buffer _firsts, _lasts  # block in each row, or NONE
    cdef Buffer _way
    cdef Recording _recording
    cdef Rows _rows
    cdef Lists _lists
    cdef Tables _tables

    def __init__(self, Recording recording, Rows rows, Lists lists, Tables tables):
        cdef size_t size = rows._rows.used // sizeof(Row) * sizeof(int)
        self._recording, self._rows, self._lists, self._tables = recording, rows, lists, tables
        memset(more(&self._of_rows, size), 0xFF, size)

    def __dealloc__(self):
        free(&self.containers)
        free(&self._of_rows)
        free(&self._firsts)
        free(&self._lasts)
        free(&self._way)

    cdef int container_of(self, int index) except -1:
        """Return 1 + the index of the innermost container that a row stands in, or is; 0 for none."""
        cdef int *known = <int *> self._of_rows.data
        cdef int container, row
        self._way.used = 0
        while index != NONE and known[index] == NONE:
            (<int *> more(&self._way, sizeof(int)))[0] = index
            index = self._rows.at(index).parent
        container = known[index] if index != NONE else 0
        while self._way.used:
            self._way.used -= sizeof(int)
            row = (<int *> (self._way.data + self._way.used))[0]
            container = self._own(row, container)
            known[row] = container
        return container

    cdef int _own(self, int index, int outer) except -1:
        """Return the container that a row is, or else the one around it; that of an item's or note's content."""
        cdef Row *row = self._rows.at(index)
        cdef uintptr_t name = row.element.node.name
        cdef int kind = _containers_of_tags[name] if name < lexbor.NUMBERED_TAGS else 0
        cdef int value = 0
        if not kind and row.kind >= BLOCK and _is_heading(row.element):
            kind = HEADING
        if not kind or (kind == CODE and row.parent != NONE and self._rows.at(row.parent).preformatted):
            return self._add(outer, NOTE, 1 + <int> self._recording._notes[index]) if self._is_note(index) else outer
        if kind == HEADING:
            value = row.heading or _aria_level(row.element)
        elif kind == ITEM:
            value = (<Item *> self._lists._items.data)[row.item].number if row.item != NONE else 0
        elif kind == CODE:
            value = self._language(index)
        elif kind == CELL or kind == HEADER_CELL:
            value = self._tables.column_of(row.cell)
            kind = HEADER_CELL if self._is_in_head(row) else kind
        outer = self._add(outer, kind, value)
        if kind == ITEM and row.item in self._recording._tasks:
            outer = self._add(outer, TASK, self._recording._tasks[row.item])
        if self._is_note(index):
            outer = self._add(outer, NOTE, 1 + <int> self._recording._notes[index])
        return outer

    cdef bint _is_in_head(self, Row *cell) noexcept:
        """Return True for a cell in a row of a table's head, whose cells name the columns, whatever their tags."""
        cdef int above = self._rows.at(cell.parent).parent if cell.parent != NONE else NONE
        return above != NONE and self._rows.at(above).element.node.name == THEAD

    cdef bint _is_note(self, int index) except -1:
        return len(self._recording._notes) and index in self._recording._notes

    cdef int _add(self, int outer, int kind, int value) except -1:
        cdef int *added = <int *> more(&self.containers, 3 * sizeof(int))
        added[0], added[1], added[2] = outer, kind, value
        return self.containers.used // (3 * sizeof(int))

    cdef int _language(self, int index) except -1:
        """Return 1 + the index of the string of the names that may be the language of code; 0 for none."""
        cdef Element *element = self._rows.at(index).element
        cdef Node *child = lexbor.element_from(element.node.first_child)
        cdef int around
        names = []
        if child != NULL:
            names += _languages(<Element *> child, child.name == CODE_TAG)
        for around in range(MAX_AROUND_CODE):
            if index != NONE:
                names += _languages(self._rows.at(index).element, around == 0)
                index = self._rows.at(index).parent
        return 1 + self._recording._string_of(" ".join(names)) if names else 0

    cdef int _find_ranges(self) except -1:
        """Find the first and the last block in each row."""
        cdef Block *blocks = <Block *> self._rows._blocks.data
        cdef int count = self._rows._blocks.used // sizeof(Block), block
        memset(more(&self._firsts, self._of_rows.used), 0xFF, self._of_rows.used)
        memset(more(&self._lasts, self._of_rows.used), 0xFF, self._of_rows.used)
        for block in range(count):
            self._reach(<int *> self._firsts.data, blocks[block].row, block)
        for block in range(count - 1, -1, -1):
            self._reach(<int *> self._lasts.data, blocks[block].row, block)
        return 0

    cdef void _reach(self, int *reached, int row, int block) noexcept:
        while row != NONE and reached[row] == NONE:
            reached[row] = block
            row = self._rows.at(row).parent

    cdef list embedded_in(self, Recording recording):
        """Return the columns of each embedded thing, in DOM order."""
        cdef list found = []
        cdef Thing *thing
        cdef int index
        if recording._embedded.used:
            self._find_ranges()
        for index in range(<int> (recording._embedded.used // sizeof(Thing))):
            thing = <Thing *> recording._embedded.data + index
            if thing.block != NONE:
                near = self._blocks_near(thing.row)
                where = thing.kind, thing.block, thing.character, thing.space, self.container_of(thing.row)
                around = self._blocks_around(self._figure_of(thing.row))
                found.append((*where, *near, *around, thing.address, thing.text))
        return found

    cdef tuple _blocks_near(self, int row):
        """Return the first block of the innermost row around one that holds any, and the one after its last."""
        cdef int *firsts = <int *> self._firsts.data
        while row != NONE and firsts[row] == NONE:
            row = self._rows.at(row).parent
        if row == NONE:
            return 0, 0
        return firsts[row], (<int *> self._lasts.data)[row] + 1

    cdef int _figure_of(self, int row) except -2:
        """Return the figure that a row stands in, by its tag or its class of a caption; NONE if it holds no blocks."""
        cdef int around
        cdef Row *found
        for around in range(MAX_AROUND_IMAGE):
            if row == NONE:
                return NONE
            found = self._rows.at(row)
            if (<int *> self._firsts.data)[row] != NONE and _is_figure(found.element):
                return row
            row = found.parent
        return NONE

    cdef tuple _blocks_around(self, int row):
        """Return the blocks before and after those of the innermost row around one that holds any; NONE for none."""
        cdef int *firsts = <int *> self._firsts.data
        cdef int *lasts = <int *> self._lasts.data
        cdef int first, last
        if row == NONE:
            return NONE, NONE
        first, last = firsts[row], lasts[row]
        while row != NONE and firsts[row] == first and lasts[row] == last:
            row = self._rows.at(row).parent
        if row == NONE:
            return NONE, NONE
        return first - 1 if firsts[row] < first else NONE, last + 1 if last < lasts[row] else NONE


cdef _columns(bytearray integers, int count):
    return np.frombuffer(integers, np.int32).reshape(-1, count).T


cdef bint _is_heading(Element *element):
    """Return True for an element with the role of a heading, such as that of a folded section.

    One that holds a paragraph, or much text, is named so for screen readers to stop at it: a comment, for example.
    One that holds a list, a table, code or a heading leaves these what they are.
    """
    cdef Node *node = &element.node
    cdef size_t seen = 0
    if not spells(value_of(element, ROLE), b"heading"):
        return False
    while node != NULL:
        seen += 1 + lexbor.text_of(node).length
        if seen > MAX_HEADING or node != &element.node and (
            node.name == PARAGRAPH or node.name < lexbor.NUMBERED_TAGS and _containers_of_tags[node.name]
        ):
            return False
        node = lexbor.following(node, &element.node)
    return True


cdef int _aria_level(Element *element) except -1:
    """Return the level of a heading by role: the second unless it is declared, at most the sixth."""
    level = attributes(element).get("aria-level", "")
    return min(int(level), 6) if len(level) == 1 and level in "123456789" else 2


cdef bint _is_figure(Element *element) except -1:
    """Return True if an element is a figure, or one with a caption by the classes that publishing systems give."""
    cdef uintptr_t name = element.node.name
    if name < lexbor.NUMBERED_TAGS and _containers_of_tags[name] == FIGURE:
        return True
    return any(each in FIGURES for each in classes(element).split())


cdef list _languages(Element *element, bint is_code):
    """Return the names that an element may have for the language of its code; around code, `lang` is of people."""
    found = attributes(element)
    declared = found.get("data-lang") or found.get("data-language") or is_code and found.get("lang")
    names = classes(element)
    return ([f"language-{declared[:MAX_LANGUAGE]}"] if declared else []) + ([names] if names else [])
