# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""One walk over the parser's tree: the text blocks of a page and the elements that they stand in."""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from inference.native cimport lexbor, markup, utf8
from inference.native.buffer cimport Buffer, append, content, free, more
from inference.native.lexbor cimport Attribute, Element, Node, String
from inference.native.markup cimport Tag

import numpy as np

from inference import elements
from schemas.pages import Boundary, ElementFlag, TagCount

cdef extern from "Python.h":
    bint Py_UNICODE_ISALNUM(uint32_t character) noexcept nogil
    bint Py_UNICODE_ISUPPER(uint32_t character) noexcept nogil

cdef int SKIPPED = elements.SKIPPED, INLINE = elements.INLINE, LINK = elements.LINK
cdef int BREAK = elements.BREAK, BLOCK = elements.BLOCK, FALLBACK = elements.FALLBACK
cdef int LINE = Boundary.LINE.value, ITEM = Boundary.ITEM.value, PARAGRAPH = Boundary.PARAGRAPH.value
cdef uint16_t HIDDEN = ElementFlag.HIDDEN, MAIN = ElementFlag.MAIN
cdef int MAX_PATH = elements.MAX_PATH
cdef int IMAGES = TagCount.IMAGES, MAINS = TagCount.MAINS
cdef int TITLE = elements.TITLE, META = elements.META, SCRIPT = elements.SCRIPT, DRAWING = elements.DRAWING
cdef str BLANK = " \u200b\u2060\ufeff"

cdef enum:
    LONGEST_TAG = 32  # characters
    LONGEST_DECLARATION = 200_000  # characters
    LOOK_BACK = 8  # ways
    NONE = -1


cdef struct Row:  # an element that was entered
    Element *element
    Attribute *role
    Tag *tag
    int parent
    int depth
    int place  # among the rows that hold blocks
    int way  # an earlier row that shares its path with it, or itself; for these are:
    int last_child  # the last way that is in it
    int sibling  # the way before it in the same
    int path  # its place among the paths that were spelled
    int images
    uint16_t flags
    uint8_t heading
    bint preformatted


cdef struct Block:
    int row
    uint16_t leaves


cdef class Walk:
    """The blocks of an element, as columns, and what else a page says; `<noscript>` is walked or collected."""

    cdef readonly list texts, paths, linked, boundaries, hidden, noscripts, json_ld, counts
    cdef readonly dict declared, structure
    cdef str _title
    cdef object _document  # kept alive: its tree is read where it lies
    cdef bint _fallback
    cdef Buffer _rows, _blocks, _leaves, _spelling, _tokens
    cdef markup.Described[markup.DESCRIBED] _described
    cdef list _paths
    cdef dict _known_paths
    # the open block: its leaves' text is in _leaves, as it came
    cdef bint _open, _hidden, _parted
    cdef int _common, _block, _leaf_count
    cdef size_t _linked
    # where the walk is
    cdef int _links, _boundary, _passed

    def __init__(self, document: object, size_t address, *, bint fallback):
        self._document = document
        self.texts, self.paths, self.linked, self.boundaries, self.hidden = [], [], [], [], []
        self.noscripts, self.json_ld, self.declared, self.counts = [], [], {}, [0] * len(TagCount)
        self._fallback = fallback
        self._paths, self._known_paths = [], {}
        if address:
            self._walk(<Node *> address)
        self.structure = self._structure()

    def __dealloc__(self):
        free(&self._rows)
        free(&self._blocks)
        free(&self._leaves)
        free(&self._spelling)
        free(&self._tokens)

    cdef int _walk(self, Node *top) except -1:
        """All nodes in order; calls do not nest however deep they stand."""
        cdef Node *node = top
        cdef int row = NONE, entered
        while True:
            if node.type == lexbor.TEXT:
                self._read(lexbor.text_of(node), row)
            elif node.type == lexbor.ELEMENT:
                entered = self._enter(<Element *> node, row)
                if entered != NONE and node.first_child != NULL:
                    row = entered
                    node = node.first_child
                    continue
                if entered != NONE:
                    self._leave(entered)
            while node != top and node.next == NULL:
                node = node.parent
                row = self._leave(row)
            if node == top:
                return 0
            node = node.next

    cdef int _enter(self, Element *element, int parent) except -2:
        """The row of an element, or NONE where nothing in it is read."""
        cdef Tag *tag = markup.tag_of(element.node.name)
        cdef uint16_t flags
        cdef Attribute *role = NULL
        if tag.kind == SKIPPED:
            self._look_into(&element.node)
            return NONE
        flags = markup.own_flags(element, tag, &role)
        if flags & MAIN:
            self.counts[MAINS] += 1
        if tag.counted != NONE:
            self.counts[tag.counted] += 1
        if parent != NONE:
            flags |= self._row(parent).flags
        if tag.kind == FALLBACK and not self._fallback:
            if not flags & HIDDEN:
                self.noscripts.append(_decoded(lexbor.text_of(element.node.first_child)))
            return NONE
        if tag.counted == IMAGES and parent != NONE:
            self._row(parent).images += 1
            self._parted = True
            return NONE
        return self._add_row(element, role, tag, parent, flags)

    cdef int _add_row(
        self, Element *element, Attribute *role, Tag *tag, int parent, uint16_t flags
    ) except -2:
        cdef int place = self._rows.used // sizeof(Row)
        cdef Row *row = <Row *> more(&self._rows, sizeof(Row))
        cdef Row *above
        row.element, row.role, row.tag, row.parent, row.flags = element, role, tag, parent, flags
        row.heading, row.preformatted, row.depth = tag.heading, tag.preformatted, 1
        row.images, row.place, row.way, row.path = 0, NONE, place, NONE
        row.last_child = row.sibling = NONE
        if parent != NONE:
            self._find_way(row, place)
            above = self._row(parent)
            row.depth += above.depth
            row.preformatted = row.preformatted or above.preformatted
            row.heading = row.heading or above.heading
        if tag.kind >= BLOCK:
            self._end_block()
            self._boundary |= tag.start
        elif tag.kind == BREAK:
            self._break(row.preformatted)
        elif tag.kind == INLINE or tag.kind == LINK:
            self._parted = True
            self._links += tag.kind == LINK
        return place

    cdef void _find_way(self, Row *row, int place) noexcept:
        """Let a row share the path of one with the same name among the last in rows like its parent."""
        cdef Row *above = self._row(self._row(row.parent).way)
        cdef int other = above.last_child, seen = 0
        while other != NONE and seen < LOOK_BACK:
            if self._row(other).element.node.name == row.element.node.name:
                row.way = other
                return
            other = self._row(other).sibling
            seen += 1
        row.sibling = above.last_child
        above.last_child = place

    cdef int _break(self, bint preformatted) except -1:
        if preformatted:
            if self._open:
                append(&self._leaves, b"\n", 1)
        elif self._open:
            self._end_block()
            self._boundary = LINE
        else:
            self._boundary |= PARAGRAPH
        return 0

    cdef int _leave(self, int place) except -2:
        """End an element; the row of its parent."""
        cdef Row *row = self._row(place)
        cdef Tag *tag = row.tag
        cdef int parent = row.parent
        if tag.kind >= BLOCK:
            self._end_block()
            # An item that showed nothing was none.
            self._boundary = self._boundary & ~(tag.start & ~tag.end) | tag.end
        elif tag.kind == INLINE or tag.kind == LINK:
            self._parted = True
            self._links -= tag.kind == LINK
        if place == self._common:
            self._common = parent
        return parent

    cdef int _read(self, String text, int row) except -1:
        """Add a text to the open block, or open one with it."""
        cdef size_t space = utf8.leading_space(text.data, text.length)
        cdef bint hidden
        if space == text.length:
            if self._open:
                append(&self._leaves, text.data, text.length)
            return 0
        hidden = self._row(row).flags & HIDDEN != 0
        if self._open and hidden != self._hidden:
            self._end_block()
            self._boundary = LINE
        if not self._open:
            self._open, self._hidden, self._common = True, hidden, row
        elif self._parted and not self._row(row).preformatted and self._would_merge(text):
            append(&self._leaves, b" ", 1)
        self._parted = False
        self._block = self._common
        self._leaf_count += 1
        append(&self._leaves, text.data, text.length)
        if self._links:
            self._linked += utf8.characters(text.data + space, text.length - space)
        return 0

    cdef bint _would_merge(self, String text) noexcept:
        """Whether two words, or a sentence and the next, stand together without a space."""
        cdef uint32_t last = utf8.last(<unsigned char *> self._leaves.data, self._leaves.used), first
        utf8.read(text.data, text.length, &first)
        if Py_UNICODE_ISALNUM(last):
            return Py_UNICODE_ISALNUM(first)
        return Py_UNICODE_ISUPPER(first) and (last == c"." or last == c"!" or last == c"?" or last == c":")

    cdef int _end_block(self) except -1:
        """End the open block, if any; what parts one without text from its neighbours parts those."""
        cdef Block *block
        if not self._open:
            return 0
        text = self._lines() if self._row(self._block).preformatted else self._line()
        self._passed |= self._boundary
        if text:
            self.texts.append(text)
            self.paths.append(self._path_of(self._block))
            self.linked.append(min(self._linked, <size_t> len(text)))
            self.boundaries.append(self._passed)
            self.hidden.append(self._hidden)
            block = <Block *> more(&self._blocks, sizeof(Block))
            block.row, block.leaves = self._block, min(self._leaf_count, 0xFFFF)
            self._passed = 0
        else:
            self._passed &= ~ITEM
        self._open, self._boundary, self._linked, self._leaf_count, self._leaves.used = False, 0, 0, 0, 0
        return 0

    cdef str _line(self):
        """The text of the open block, white space folded."""
        cdef String text
        text.data = <unsigned char *> self._leaves.data
        text.length = utf8.fold(<unsigned char *> self._leaves.data, self._leaves.used)
        line = _decoded(text)
        # Blanks that folding leaves at the ends are not ASCII.
        if text.length and (text.data[0] >= 0x80 or text.data[text.length - 1] >= 0x80):
            return line.strip(BLANK)
        return line

    cdef str _lines(self):
        """The preformatted text of the open block, without the white space at the ends of lines and empty lines around."""
        text = _decoded(String(<unsigned char *> self._leaves.data, self._leaves.used)).replace("\xad", "")
        return "\n".join([line.rstrip() for line in text.splitlines()]).strip("\n").strip(BLANK)

    cdef str _path_of(self, int place):
        """The tags down to an element; equal paths are one object."""
        cdef Row *way = self._row(self._row(place).way)
        if way.path == NONE:
            way.path = len(self._paths)
            path = self._spelled(place)
            self._paths.append(self._known_paths.setdefault(path, path))
        return self._paths[way.path]

    cdef str _spelled(self, int place):
        """The tags from the root to an element, the innermost of many."""
        cdef String name
        cdef size_t size = 0
        cdef int tags = 0, above = place
        while above != NONE and tags < MAX_PATH:
            name = self._name(above)
            size += name.length + 1
            above = self._row(above).parent
            tags += 1
        self._spelling.used = 0
        cdef char *end = <char *> more(&self._spelling, size) + size
        while tags:
            name = self._name(place)
            end -= name.length + 1
            memcpy(end, name.data, name.length)
            end[name.length] = c"/"
            place = self._row(place).parent
            tags -= 1
        return _decoded(String(<unsigned char *> self._spelling.data, size - 1))

    cdef String _name(self, int place) noexcept:
        """The tag of a row, the first characters of a long one."""
        cdef String name = markup.tag_name(self._row(place).element.node.name)
        if name.length > LONGEST_TAG:
            name.length = utf8.first(name.data, name.length, LONGEST_TAG)
        return name

    cdef inline Row *_row(self, int place) noexcept:
        return <Row *> self._rows.data + place

    cdef int _look_into(self, Node *top) except -1:
        """Take note of what an element that is not shown declares of the page."""
        cdef Node *node = top
        while True:
            if node.type == lexbor.ELEMENT and self._note(<Element *> node) and node.first_child != NULL:
                node = node.first_child
                continue
            while node != top and node.next == NULL:
                node = node.parent
            if node == top:
                return 0
            node = node.next

    cdef bint _note(self, Element *element) except -1:
        """Take note of what an element declares; whether those in it may, too."""
        cdef int says = markup.tag_of(element.node.name).says
        if says == TITLE and self._title is None:
            self._title = _decoded(lexbor.text_of(element.node.first_child))
        elif says == META:
            self.declared.update(markup.declaration(element))
        elif says == SCRIPT and markup.is_json_ld(element):
            self.json_ld.append(_decoded(lexbor.text_of(element.node.first_child))[:LONGEST_DECLARATION])
        return says != DRAWING

    @property
    def title(self) -> str:
        """The text of the first `<title>`, empty if there is none."""
        return self._title or ""

    cdef dict _structure(self):
        """The elements that hold blocks, as the columns of a `Structure`."""
        cdef Block *blocks = <Block *> self._blocks.data
        cdef Py_ssize_t count = len(self.texts), block
        elements, leaves = np.empty(count, np.int32), np.empty(count, np.uint16)
        cdef int32_t[::1] element_column = elements
        cdef uint16_t[::1] leaf_column = leaves
        held = self._hold()
        for block in range(count):
            element_column[block] = self._row(self._above_line(blocks[block].row)).place
            leaf_column[block] = blocks[block].leaves
        counts = np.array(self.counts, np.int32)
        return {**self._columns(held), "elements": elements, "leaves": leaves, "counts": counts}

    cdef int _above_line(self, int place) noexcept:
        """The innermost element around one, itself included, that is not part of a line."""
        cdef Row *row = self._row(place)
        while row.parent != NONE and row.tag.kind < BREAK:
            place = row.parent
            row = self._row(place)
        return place

    cdef int _hold(self) noexcept:
        """Number the rows that hold blocks, and give them the images of those that hold none; how many they are."""
        cdef Block *blocks = <Block *> self._blocks.data
        cdef int held = 0, place
        cdef Row *row
        cdef size_t block
        for block in range(self._blocks.used // sizeof(Block)):
            place = self._above_line(blocks[block].row)
            while place != NONE and self._row(place).place == NONE:
                self._row(place).place = 0
                place = self._row(place).parent
        for place in range(<int> (self._rows.used // sizeof(Row)) - 1, 0, -1):
            row = self._row(place)
            if row.place == NONE:
                self._row(row.parent).images += row.images
        for place in range(<int> (self._rows.used // sizeof(Row))):
            row = self._row(place)
            if row.place != NONE:
                row.place = held
                held += 1
        return held

    cdef dict _columns(self, int held):
        parents, depths, images = (np.empty(held, np.int32) for _ in range(3))
        signs, flags = np.empty(held, np.uint32), np.empty(held, np.uint16)
        headings, token_counts = np.empty(held, np.uint8), np.empty(held, np.uint8)
        cdef int32_t[::1] parent_column = parents, depth_column = depths, image_column = images
        cdef uint32_t[::1] sign_column = signs
        cdef uint16_t[::1] flag_column = flags
        cdef uint8_t[::1] heading_column = headings, count_column = token_counts
        cdef Buffer *tokens = &self._tokens
        cdef Row *row
        cdef int place
        for place in range(<int> (self._rows.used // sizeof(Row))):
            row = self._row(place)
            if row.place == NONE:
                continue
            parent_column[row.place] = self._row(row.parent).place if row.parent != NONE else NONE
            depth_column[row.place], image_column[row.place] = row.depth, row.images
            flag_column[row.place], heading_column[row.place] = row.flags, row.heading
            more(tokens, markup.ELEMENT_TOKENS * sizeof(uint32_t))
            tokens.used -= markup.ELEMENT_TOKENS * sizeof(uint32_t)
            count_column[row.place] = markup.describe(
                row.element,
                row.role,
                self._described,
                <uint32_t *> (tokens.data + tokens.used),
                &sign_column[row.place],
            )
            tokens.used += count_column[row.place] * sizeof(uint32_t)
        return {
            "parents": parents, "depths": depths, "images": images, "signs": signs, "flags": flags,
            "headings": headings, "tokens": np.frombuffer(content(tokens), np.uint32), "token_counts": token_counts,
        }


cdef str _decoded(String text):
    return text.data[: text.length].decode("utf-8", "replace") if text.length else ""
