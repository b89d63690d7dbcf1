# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The elements that a walk enters: their paths, and the columns of those that hold blocks."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uintptr_t
from libc.string cimport memcpy

from dehusk.inference.native cimport lexbor, markup, utf8
from dehusk.inference.native.buffer cimport content, free, more
from dehusk.inference.native.classes cimport ELEMENT_TOKENS, describe
from dehusk.inference.native.lexbor cimport Element, Node, String
from dehusk.inference.native.markup cimport Shown, Tag
from dehusk.inference.native.styles cimport HIDING, UNDECLARED

import re

import numpy as np

from dehusk.inference.markup import elements
from dehusk.schemas.pages import Boundary, ElementFlag

cdef int SKIPPED = elements.SKIPPED, INLINE = elements.INLINE, BREAK = elements.BREAK, BLOCK = elements.BLOCK
cdef int CUSTOM = elements.CUSTOM, ITEM = elements.ITEM
cdef int LINE = Boundary.LINE.value, ROW = Boundary.ROW.value, TABLE = elements.TABLE
cdef uint16_t HIDDEN = ElementFlag.HIDDEN
cdef int MAX_PATH = elements.MAX_PATH

cdef object _NAME = re.compile(r"[a-z_][a-z0-9_-]*")

cdef enum:
    MAX_TAG = 32  # characters
    LOOK_BACK = 8  # ways
    LOOK_UP = 8  # elements
    LOOK_DOWN = 100  # nodes
    MAX_LEAVES = 0xFFFF


cdef class Rows:
    """Elements in the order in which they were entered, and the blocks in them."""

    def __cinit__(self):
        self._paths, self._known_paths = [], {}

    def __dealloc__(self):
        free(&self._rows)
        free(&self._blocks)
        free(&self._spelling)
        free(&self._tokens)

    cdef int add(
        self, Element *element, Tag *tag, int parent, uint16_t flags, Shown shown
    ) except -2:
        """Add a row; return its index."""
        cdef int index = self._rows.used // sizeof(Row)
        cdef Row *row = <Row *> more(&self._rows, sizeof(Row))
        cdef Row *above
        row.element, row.tag, row.parent, row.flags = element, tag, parent, flags
        row.kind, row.has_text = tag.kind, NONE
        row.heading, row.preformatted, row.depth = tag.heading, tag.preformatted, 1
        row.has_symbols = tag.opening[0]
        row.images, row.held_index, row.way, row.path = 0, NONE, index, NONE
        row.last_child = row.sibling = NONE
        row.item = row.list = row.table = row.line = row.cell = NONE
        row.inherited = shown.inherited
        row.removed, row.invisible = self._is_removed(parent, &shown), self._is_invisible(parent, &shown)
        if parent != NONE:
            self._find_way(row, index)
            above = self.at(parent)
            row.flags |= above.flags & ~HIDDEN
            row.depth += above.depth
            row.item, row.list = above.item, above.list
            row.table, row.line, row.cell = above.table, above.line, above.cell
            if tag.kind == CUSTOM:
                row.kind = self._kind_of_custom(element, parent)
            elif shown.on_lines and tag.kind < BREAK:
                row.kind = BLOCK
            row.preformatted = row.preformatted or above.preformatted
            row.heading = row.heading or above.heading
            row.has_symbols = row.has_symbols or above.tag.joints[0]
        if row.removed or row.invisible:
            row.flags |= HIDDEN
        return index

    cdef bint hides(self, int index, Shown *shown) noexcept:
        """Return True if an element in a row is not shown."""
        return self._is_removed(index, shown) or self._is_invisible(index, shown)

    cdef bint hides_skipped(self, Element *skipped, Tag *tag, int index, Scopes scopes) except -1:
        """Return True if an element in a row, whose text is not read, is hidden by a style or something around it."""
        cdef Inherited inherited
        cdef Shown shown
        if index == NONE:
            return False
        inherited = self.at(index).inherited
        markup.own_flags(skipped, tag, &inherited, scopes, &shown)
        return self.hides(index, &shown)

    cdef bint _is_removed(self, int index, Shown *shown) noexcept:
        return shown.removed or index != NONE and self.at(index).removed

    cdef bint _is_invisible(self, int index, Shown *shown) noexcept:
        """Return True by the element's own visibility, else by that of the row."""
        if shown.visibility != UNDECLARED:
            return shown.visibility == HIDING
        return index != NONE and self.at(index).invisible

    cdef int _kind_of_custom(self, Element *custom, int parent) except -1:
        """Return INLINE where it stands in a line and holds little and no block, or in a formula; else BLOCK."""
        if self.is_foreign(parent):
            return INLINE
        return INLINE if self._holds_line(parent) and _is_short(&custom.node) else BLOCK

    cdef bint is_foreign(self, int index) noexcept:
        """Return True if an element is none of HTML: white space between those of a formula is not shown."""
        return self.at(index).element.node.namespace_ != self.at(0).element.node.namespace_

    cdef bint _holds_line(self, int index) noexcept:
        """Return True if the content of an element is beside text, or where HTML has nothing but parts of lines."""
        cdef Row *row
        cdef int looked
        for looked in range(LOOK_UP):
            row = self.at(index)
            if row.tag.phrasing or _has_text(row) or (row.tag.kind == CUSTOM and row.kind < BREAK):
                return True
            if row.kind >= BREAK or row.parent == NONE:
                return False
            index = row.parent
        return False

    cdef int add_block(self, int index, int leaves) except -1:
        """Add a block that a row is the innermost to hold."""
        cdef Block *block = <Block *> more(&self._blocks, sizeof(Block))
        block.row, block.leaves = index, min(leaves, MAX_LEAVES)
        return 0

    cdef void _find_way(self, Row *row, int index) noexcept:
        """Let a row share the path of one with the same name among the last in rows like its parent."""
        cdef Row *above = self.at(self.at(row.parent).way)
        cdef int other = above.last_child, seen = 0
        while other != NONE and seen < LOOK_BACK:
            if self.at(other).element.node.name == row.element.node.name:
                row.way = other
                return
            other = self.at(other).sibling
            seen += 1
        row.sibling = above.last_child
        above.last_child = index

    cdef str path_of(self, int index):
        """Return the tags down to an element; equal paths are one object."""
        cdef Row *way = self.at(self.at(index).way)
        if way.path == NONE:
            way.path = len(self._paths)
            path = self._spelled(index)
            self._paths.append(self._known_paths.setdefault(path, path))
        return self._paths[way.path]

    cdef str _spelled(self, int index):
        """Return the tags from the root to an element, the innermost of many."""
        cdef String name
        cdef size_t size = 0
        cdef int tags = 0, above = index
        while above != NONE and tags < MAX_PATH:
            size += _name(self.at(above)).length + 1
            above = self.at(above).parent
            tags += 1
        self._spelling.used = 0
        cdef char *end = <char *> more(&self._spelling, size) + size
        while tags:
            name = _name(self.at(index))
            end -= name.length + 1
            memcpy(end, name.data, name.length)
            end[name.length] = c"/"
            index = self.at(index).parent
            tags -= 1
        return self._spelling.data[: size - 1].decode("utf-8", "replace")

    cdef list xpaths(self):
        """Return the XPath of the innermost element that holds each block; None for one that is too deep."""
        cdef Block *blocks = <Block *> self._blocks.data
        cdef int block
        cdef list found = []
        cdef dict known = {}, counted = {}
        for block in range(self._blocks.used // sizeof(Block)):
            found.append(_xpath_of(&self.at(blocks[block].row).element.node, known, counted))
        return found

    cdef dict columns(self):
        """Return the elements that hold blocks, as the columns of a `Structure`; call it once."""
        cdef int held = self._hold()
        return {**self._row_columns(held), **self._block_columns()}

    cdef int _above_line(self, int index) noexcept:
        """Return the innermost element around one, itself included, that is not part of a line."""
        cdef Row *row = self.at(index)
        while row.parent != NONE and row.kind < BREAK:
            index = row.parent
            row = self.at(index)
        return index

    cdef int _hold(self) noexcept:
        """Number the rows that hold blocks, and give them the images of the others; return their number."""
        cdef Block *blocks = <Block *> self._blocks.data
        cdef int held = 0, index, rows = self._rows.used // sizeof(Row)
        cdef size_t block
        for block in range(self._blocks.used // sizeof(Block)):
            index = self._above_line(blocks[block].row)
            while index != NONE and self.at(index).held_index == NONE:
                self.at(index).held_index = 0
                index = self.at(index).parent
        for index in range(rows - 1, 0, -1):
            if self.at(index).held_index == NONE:
                self.at(self.at(index).parent).images += self.at(index).images
        for index in range(rows):
            if self.at(index).held_index != NONE:
                self.at(index).held_index = held
                held += 1
        return held

    cdef dict _block_columns(self):
        cdef Block *blocks = <Block *> self._blocks.data
        cdef int count = self._blocks.used // sizeof(Block), block
        elements, leaves = np.empty(count, np.int32), np.empty(count, np.uint16)
        cdef int32_t[::1] element_column = elements
        cdef uint16_t[::1] leaf_column = leaves
        for block in range(count):
            element_column[block] = self.at(self._above_line(blocks[block].row)).held_index
            leaf_column[block] = blocks[block].leaves
        return {"elements": elements, "leaves": leaves}

    cdef dict _row_columns(self, int held):
        parents, depths, images = np.empty(held, np.int32), np.empty(held, np.int32), np.empty(held, np.int32)
        class_hashes, flags = np.empty(held, np.uint32), np.empty(held, np.uint16)
        headings, token_counts = np.empty(held, np.uint8), np.empty(held, np.uint8)
        cdef int32_t[::1] parent_column = parents, depth_column = depths, image_column = images
        cdef uint32_t[::1] class_hash_column = class_hashes
        cdef uint16_t[::1] flag_column = flags
        cdef uint8_t[::1] heading_column = headings, count_column = token_counts
        cdef Row *row
        cdef int index
        for index in range(<int> (self._rows.used // sizeof(Row))):
            row = self.at(index)
            if row.held_index == NONE:
                continue
            parent_column[row.held_index] = self.at(row.parent).held_index if row.parent != NONE else NONE
            depth_column[row.held_index], image_column[row.held_index] = row.depth, row.images
            flag_column[row.held_index], heading_column[row.held_index] = row.flags, row.heading
            count_column[row.held_index] = self._describe(row, &class_hash_column[row.held_index])
        return {
            "parents": parents,
            "depths": depths,
            "images": images,
            "class_hashes": class_hashes,
            "flags": flags,
            "headings": headings,
            "tokens": np.frombuffer(content(&self._tokens), np.uint32),
            "token_counts": token_counts,
        }

    cdef int _describe(self, Row *row, uint32_t *class_hash) except -1:
        """Add the tokens of an element; return their number."""
        cdef uint32_t *tokens = <uint32_t *> more(&self._tokens, ELEMENT_TOKENS * sizeof(uint32_t))
        cdef int count = describe(row.element, self._described, tokens, class_hash)
        self._tokens.used -= (ELEMENT_TOKENS - count) * sizeof(uint32_t)
        return count


cdef object _xpath_of(Node *node, dict known, dict counted):
    """Return an element's XPath; `known` has those that were asked for and of all above, with their depths."""
    cdef list below = []
    cdef object path = None
    cdef int depth = 1
    while <uintptr_t> node not in known and node.parent != NULL and node.parent.type == lexbor.ELEMENT:
        below.append(<uintptr_t> node)
        node = node.parent
    if <uintptr_t> node in known:
        path, depth = known[<uintptr_t> node]
    else:
        path = known[<uintptr_t> node] = f"/{_test_of(node) or '*'}", depth
        path = path[0]
    while below:
        node = <Node *> <uintptr_t> below.pop()
        depth += 1
        path = f"{path}/{_step_to(node, counted)}" if depth <= MAX_PATH else None
        known[<uintptr_t> node] = path, depth
    return path


cdef str _step_to(Node *node, dict counted):
    """Return the step to an element from its parent, of which the children up to the last one were counted before."""
    cdef list state = counted.setdefault(<uintptr_t> node.parent, [0, 0, {}])
    cdef Node *other = <Node *> <uintptr_t> state[0]
    cdef dict names = state[2], tests = counted.setdefault(0, {})
    cdef int elements = state[1]
    while other != node:
        other = node.parent.first_child if other == NULL else other.next
        if other.type == lexbor.ELEMENT:
            elements += 1
            if other.namespace_ == lexbor.HTML:
                names[other.name] = names.get(other.name, 0) + 1
    state[0], state[1] = <uintptr_t> node, elements
    if node.namespace_ == lexbor.HTML and node.name not in tests:
        tests[node.name] = _test_of(node)
    test = tests[node.name] if node.namespace_ == lexbor.HTML else None
    return f"*[{elements}]" if test is None else f"{test}[{names[node.name]}]"


cdef object _test_of(Node *node):
    """Return the name of an element of HTML, if XPath can have it as it is; else None."""
    cdef String name = markup.tag_name(node.name)
    if node.namespace_ != lexbor.HTML or name.length > MAX_TAG:
        return None
    text = name.data[: name.length].decode("utf-8", "replace")
    return text if _NAME.fullmatch(text) else None


cdef bint _has_text(Row *row) noexcept:
    """Return True if an element has text of its own; looked for once."""
    cdef Node *node = row.element.node.first_child
    if row.has_text == NONE:
        while node != NULL and _is_blank(lexbor.text_of(node)):
            node = node.next
        row.has_text = node != NULL
    return row.has_text


cdef bint is_list(Row *row) noexcept:
    return row.tag.lists and row.tag.lists != ITEM


cdef char parts_of(Row *row) noexcept:
    """Return the character for an element's edge in preformatted text, or a null byte."""
    if not row.preformatted:
        return 0
    return c"\n" if row.kind == BLOCK and row.tag.kind < BREAK else row.tag.parts


cdef bint holds_no_text(Row *row) noexcept:
    """Return True for a list or a part of a table in preformatted text: white space between its lines is not shown."""
    return row.preformatted and (is_list(row) or row.tag.tables == TABLE or row.tag.edge == ROW)


cdef int edge_of(Row *row) noexcept:
    """Return the boundary that an element makes: a list in an item goes on where the item's text ends."""
    return LINE if is_list(row) and row.item != NONE else row.tag.edge


cdef bint _is_blank(String text) noexcept:
    return utf8.leading_space(text.data, text.length) == text.length


cdef bint _is_short(Node *top) except -1:
    """Return True if an element holds few nodes and no block."""
    cdef Node *node = top.first_child
    cdef int looked = 0, kind
    while node != NULL:
        kind = markup.tag_in(node).kind if node.type == lexbor.ELEMENT else SKIPPED
        looked += 1
        if kind == BLOCK or looked > LOOK_DOWN:
            return False
        node = lexbor.after(node, top) if kind == SKIPPED else lexbor.following(node, top)
    return True


cdef String _name(Row *row) noexcept:
    """Return the tag of a row, the first characters of a long one."""
    cdef String name = markup.tag_name(row.element.node.name)
    if name.length > MAX_TAG:
        name.length = utf8.first(name.data, name.length, MAX_TAG)
    return name
