# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""One walk over the parser's tree: the text blocks of a page and the elements that they stand in."""

from libc.stdint cimport uint16_t, uintptr_t
from libc.string cimport memset, strlen

from dehusk.inference.native cimport edges, formulas, lexbor, lines, marks, markup, symbols, utf8
from dehusk.inference.native.buffer cimport Buffer, append, free
from dehusk.inference.native.containers cimport columns
from dehusk.inference.native.drawings cimport Drawings, holds_none, is_drawn
from dehusk.inference.native.head cimport Head
from dehusk.inference.native.lexbor cimport Element, Node, String, decoded
from dehusk.inference.native.lists cimport Lists
from dehusk.inference.native.markup cimport Shown, Tag
from dehusk.inference.native.properties cimport Marked
from dehusk.inference.native.recording cimport Recording, is_struck
from dehusk.inference.native.rows cimport NONE, Row, Rows, edge_of, holds_no_text, is_list, parts_of
from dehusk.inference.native.styles cimport HIDING, UNDECLARED, Inherited, Scopes
from dehusk.inference.native.symbols cimport Symbols
from dehusk.inference.native.tables cimport Tables
from dehusk.inference.native.tree cimport BlockTexts

import numpy as np

from dehusk.inference.markup import elements
from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import Boundary, ElementFlag, TagCount

cdef enum:
    MAX_LINK = 500  # bytes of an address

cdef int SKIPPED = elements.SKIPPED, TIGHT = elements.TIGHT, INLINE = elements.INLINE, LINK = elements.LINK
cdef int BREAK = elements.BREAK, BLOCK = elements.BLOCK, FALLBACK = elements.FALLBACK, CUSTOM = elements.CUSTOM
cdef int LINE = Boundary.LINE.value, PARAGRAPH = Boundary.PARAGRAPH.value
cdef int VISIBILITY = Boundary.VISIBILITY.value, SPACE = Boundary.SPACE.value
cdef int CELL = elements.CELL
cdef uint16_t CODE = ElementFlag.CODE, HIDDEN = ElementFlag.HIDDEN, MAIN = ElementFlag.MAIN
cdef int IMAGES = TagCount.IMAGES, MAINS = TagCount.MAINS
cdef uintptr_t HR = markup.number_of(b"hr")
cdef int FORMULA = elements.FORMULA, HOLDS_HTML = elements.HOLDS_HTML, TEMPLATE = elements.TEMPLATE


cdef class Walk:
    """The blocks of an element, as columns, and the declarations of a page; `<noscript>` is walked or collected.

    A whole `Recording` also has the markup around the blocks, as the fields of `Markup`. `BlockTexts` record the texts
    that are read, `Marked` the elements with properties, wherever they stand.
    """

    cdef readonly list texts, paths, linked, links, boundaries, hidden, noscripts, counts
    cdef readonly dict structure, markup
    cdef readonly object xpaths  # of the blocks' elements, where asked for
    cdef readonly dict hiding  # True for each hidden element in a shown one, False for a shown one in a hidden one
    cdef readonly Head head
    cdef readonly bint has_shadow_roots
    cdef readonly object items, lists_and_tables, struck
    cdef object _document  # kept alive: its tree is read where it lies
    cdef bint _fallback
    cdef Py_ssize_t _max_blocks
    cdef Rows _rows
    cdef Scopes _scopes
    cdef Drawings _drawings
    cdef Lists _lists
    cdef Tables _tables
    cdef Recording _recording
    cdef BlockTexts _block_texts
    cdef Marked _marked
    # the open block
    cdef Buffer _leaves  # their text, as it came
    cdef Buffer _signs  # that elements put before their texts, while no text was read in them
    cdef bint _open, _hidden
    cdef int _edges  # of inline elements since its last text
    cdef Node *_ended  # the element that marks letters and ended last since then, and the one that began last
    cdef Node *_begun
    cdef char _shift  # character for the last raising or lowering since then, or its end, where digits meet
    cdef bint _in_code  # its last text is code
    cdef int _common, _block, _leaf_count
    cdef int _margin  # width of what is shown before the text of a line of code that is not open yet
    cdef size_t _linked
    cdef Element *_last_link  # of its texts, and the one that most of them are in; NULL for none
    cdef Element *_main_link
    cdef size_t _last_linked, _most_linked  # characters of it in them
    # position of the walk
    cdef int _links, _boundary, _passed
    cdef Element *_link  # the innermost open one
    cdef Node *_formula  # holds the last one that was given as TeX

    def __init__(
        self,
        document: object,
        size_t address,
        Py_ssize_t max_blocks,
        *,
        bint fallback,
        Recording recording not None,
        BlockTexts block_texts = None,
        Marked marked = None,
        bint xpaths = False,
    ):
        self._document, self._max_blocks = document, max_blocks
        self.texts, self.paths, self.linked, self.links, self.boundaries, self.hidden = [], [], [], [], [], []
        self.noscripts, self.counts, self.hiding = [], [0] * len(TagCount), {}
        self._fallback, self.head = fallback, Head()
        self._rows, self._lists, self._tables = Rows(), Lists(), Tables()
        self._scopes, self._drawings = Scopes(), Drawings()
        self._recording, self._block_texts, self._marked = recording, block_texts, marked
        if address:
            self._walk(<Node *> address)
        self.items = _two_columns(self._lists.of_items())
        self.lists_and_tables = _two_columns(self._lists.of_blocks() + self._tables.of_blocks())
        self.xpaths = self._rows.xpaths() if xpaths else None
        self.structure = {**self._rows.columns(), "counts": np.array(self.counts, np.int32)}
        self.struck = recording.struck()
        if recording._whole:
            holders = self.structure["elements"]
            self.markup = columns(recording, self._rows, self._lists, self._tables, holders, self.texts)

    def __dealloc__(self):
        free(&self._leaves)
        free(&self._signs)

    cdef int _walk(self, Node *top) except -1:
        """Walk all nodes in order; calls do not nest however deep they stand."""
        cdef Node *node = top
        cdef Node *drawing = NULL  # the outermost one around the node
        cdef int row = NONE, entered
        while True:
            if node.type == lexbor.TEXT:
                if not is_drawn(node.parent):
                    self._read(lexbor.text_of(node), row, node)
            elif is_drawn(node):
                if node.first_child != NULL and not holds_none(node):
                    drawing = node if drawing == NULL else drawing
                    node = node.first_child
                    continue
            elif node.type == lexbor.ELEMENT:
                entered = self._enter(<Element *> node, row)
                if self._marked is not None and drawing == NULL:
                    self._marked.look_at(<Element *> node, entered == NONE)
                if entered != NONE and node.first_child != NULL:
                    row = entered
                    node = node.first_child
                    continue
                if entered != NONE:
                    self._leave(entered)
            while node != top and node.next == NULL:
                node = node.parent
                if not is_drawn(node):
                    row = self._leave(row)
                elif node == drawing:
                    drawing = NULL
            if node == top:
                return 0
            node = node.next

    cdef int _enter(self, Element *element, int parent) except -2:
        """Add the row of an element and return its index, or NONE where nothing in it is read."""
        cdef Tag *tag = markup.tag_in(&element.node)
        cdef uint16_t flags
        cdef Inherited inherited
        cdef Shown shown
        cdef int index
        cdef bint is_in_code
        if tag.kind == SKIPPED:
            if tag.role == TEMPLATE and markup.is_shadow_root(element):
                self.has_shadow_roots = True
            self.head.look_into(&element.node)
            if self._recording._whole and not self._rows.hides_skipped(element, tag, parent, self._scopes):
                self._recording.note(element, parent, len(self.texts), self._leaves.used)
            return NONE
        if self._formula != NULL and element.node.prev == self._formula and formulas.is_drawing(element):
            return NONE
        memset(&inherited, 0, sizeof(Inherited))
        if parent != NONE:
            inherited = self._rows.at(parent).inherited
        if tag.role == HOLDS_HTML:
            flags = self._drawings.flags_in(element, tag, &inherited, self._scopes, &shown)
        else:
            flags = markup.own_flags(element, tag, &inherited, self._scopes, &shown)
        if element.node.namespace_ == lexbor.MATH and formulas.is_unshown(element):
            shown.removed = True
        if (shown.removed or shown.visibility == HIDING) and formulas.is_pictured(element):
            shown.removed, shown.visibility = False, UNDECLARED
        if flags & MAIN:
            self.counts[MAINS] += 1
        if tag.counted != NONE:
            self.counts[tag.counted] += 1
        if tag.kind == FALLBACK and not self._fallback:
            if not self._rows.hides(parent, &shown):
                self.noscripts.append(decoded(lexbor.text_of(element.node.first_child)))
            return NONE
        if tag.counted == IMAGES:
            self._rows.at(parent).images += 1
            if marks.is_smiley(element):
                if not self._rows.hides(parent, &shown):
                    self._read(markup.value_of(element, markup.ALT), parent, NULL)
                return NONE
            if self._recording._whole and not self._rows.hides(parent, &shown) and (
                self._formula == NULL or element.node.prev != self._formula
            ):
                self._recording.add_image(element, parent, len(self.texts), self._leaves.used)
        if (
            tag.counted == IMAGES
            or (tag.kind == LINK and marks.is_permalink(element))
            or not (tag.kind == BREAK or tag.lists or tag.tables) and self._is_named_icon(element, parent)
        ):
            self._edges = edges.START | edges.END
            if tag.kind == BLOCK and tag.counted != IMAGES and not self._rows.at(parent).preformatted:
                self._end_block()
                self._boundary |= tag.edge
            return NONE
        if tag.kind < LINK and marks.is_read_aloud(element):
            return NONE
        is_in_code = parent != NONE and self._rows.at(parent).preformatted
        if (tag.tables == CELL or is_in_code) and marks.is_gutter(element):
            return NONE
        if is_in_code and marks.is_next_line(element):
            self._part(c"\n")
        index = self._rows.add(element, tag, parent, flags, shown)
        if parent != NONE and (self._rows.at(index).flags ^ self._rows.at(parent).flags) & HIDDEN:
            self.hiding[<size_t> element] = self._rows.at(index).flags & HIDDEN != 0
        self._open_row(index)
        if tag.role == FORMULA and self._read_tex(element, index):
            return NONE
        return index

    cdef bint _is_named_icon(self, Element *element, int parent) noexcept:
        """Return True for the name of an icon; that of one alone in a cell says what the cell says: `check`."""
        cdef Row *row
        if parent == NONE or not marks.is_named_icon(element):
            return False
        while marks.stands_alone(element):
            row = self._rows.at(parent)
            if row.tag.kind >= LINK or row.parent == NONE:
                return row.tag.tables != CELL
            element, parent = row.element, row.parent
        return True

    cdef bint _read_tex(self, Element *formula, int index) except -1:
        """Read the TeX that stands for a formula, if any, and leave it."""
        cdef String tex = formulas.tex_of(formula)
        cdef bint is_there = utf8.leading_space(tex.data, tex.length) < tex.length
        if is_there:
            self._recording.begin_formula(formula, index, self._leaves.used)
            self._read(tex, index, NULL)
            self._leave(index)
            self._formula = formula.node.parent
        return is_there

    cdef int _open_row(self, int index) except -2:
        """End or begin blocks as the start of an element does."""
        cdef Row *row = self._rows.at(index)
        cdef char parts = parts_of(row)
        if row.tag.kind == LINK:
            self._links += 1
            self._link = row.element
        if row.has_symbols:
            self._sign(row)
        if parts:
            self._part(parts)
        elif row.kind >= BLOCK:
            self._end_block()
            if row.tag.lists:
                self._lists.enter(row, row.parent != NONE and is_list(self._rows.at(row.parent)))
            elif row.tag.tables:
                self._tables.enter(row)
            self._boundary |= edge_of(row)
        elif row.kind == BREAK:
            self._break(row.preformatted)
        elif row.kind == INLINE or row.kind == LINK:
            if self._edges & edges.END and marks.goes_on(row.element):
                self._edges |= edges.SAME
            self._edges |= edges.LINK_START if row.kind == LINK else edges.START
        elif row.tag.shift:
            self._shift = row.tag.shift
        elif row.kind == TIGHT:
            self._begun = &row.element.node
        if self._recording._whole:
            self._recording.enter(row, index, len(self.texts), self._leaves.used)
            if row.element.node.name == HR and not row.flags & HIDDEN:
                self._recording.add_rule(row.parent, len(self.texts))
        elif is_struck(row):
            self._recording.begin_struck(index, self._leaves.used)
        return index

    cdef int _break(self, bint preformatted) except -1:
        if not self._open:
            self._margin = 0
        if preformatted:
            if self._open:
                append(&self._leaves, b"\n", 1)
        elif self._open:
            self._end_block()
            self._boundary = LINE
        else:
            if self._recording._waits:
                self._recording.part()
            self._boundary |= PARAGRAPH
        return 0

    cdef int _part(self, char parts) except -1:
        """Go on in preformatted text at the edge of an element in it, unless a line has just begun."""
        if not self._open:
            self._margin = 0
        elif self._leaves.data[self._leaves.used - 1] != c"\n":
            append(&self._leaves, &parts, 1)
        return 0

    cdef int _leave(self, int index) except -2:
        """End an element; return the row of its parent."""
        cdef Row *row = self._rows.at(index)
        cdef Tag *tag = row.tag
        cdef int parent = row.parent
        cdef char parts = parts_of(row)
        self._links -= tag.kind == LINK
        if row.has_symbols:
            self._close(row)
        if parts:
            if parts == c"\n":
                self._part(parts)
        elif row.kind >= BLOCK:
            self._end_block()
            self._boundary |= edge_of(row)
        elif row.kind == INLINE or row.kind == LINK:
            self._edges |= edges.END
        elif tag.shift:
            self._shift = c" "
        elif row.kind == TIGHT:
            self._ended, self._begun = &row.element.node, NULL
            if marks.is_drawn_icon(row.element):
                self._edges |= edges.START | edges.END
        if self._recording._depth:
            self._recording.leave(index, self._leaves.used)
        if index == self._common:
            self._common = parent
        return parent

    cdef int _sign(self, Row *row) except -1:
        """Let the symbols before an element's text wait for it."""
        cdef Symbols found = symbols.symbols_of(row.element, row.tag, self._rows.at(row.parent).tag)
        append(&self._signs, found.opening, strlen(found.opening))
        return 0

    cdef int _close(self, Row *row) except -1:
        """Put the symbols after an element's text, if it had any."""
        cdef Symbols found = symbols.symbols_of(row.element, row.tag, self._rows.at(row.parent).tag)
        if self._signs.used:
            self._signs.used -= strlen(found.opening)
        elif self._open:
            append(&self._leaves, found.closing, strlen(found.closing))
        return 0

    cdef int _read(self, String text, int row, Node *node) except -1:
        """Add the text of a node, or of none, to the open block, or open one with it."""
        cdef size_t space = utf8.leading_space(text.data, text.length)
        cdef uint16_t flags = self._rows.at(row).flags
        cdef bint hidden = flags & HIDDEN != 0, in_code = flags & CODE != 0
        cdef bint preformatted = self._rows.at(row).preformatted
        cdef String before
        cdef int edge
        if space == text.length:
            if self._open and not self._rows.is_foreign(row) and not holds_no_text(self._rows.at(row)):
                append(&self._leaves, text.data, text.length)
            elif in_code and not self._open:
                self._margin = lines.kept_spaces(text, self._margin) if preformatted else (
                    self._margin + lines.hard_spaces(text)
                )
            return 0
        if text.data[0] >= 0x80 and self._open and not preformatted and utf8.shows_nothing(text.data, text.length):
            return self._pass_invisible(node)
        if self._open and hidden != self._hidden:
            before = self._text()
            edge = VISIBILITY | (SPACE if space or utf8.ends_in_space(before.data, before.length) else 0)
            self._end_block()
            self._boundary = edge
        if not self._open:
            self._open, self._hidden, self._common = True, hidden, row
        elif (self._edges or self._shift or self._ended or self._begun) and not preformatted:
            self._part_words(text, self._in_code and in_code)
        self._edges, self._shift, self._in_code = 0, 0, in_code
        self._ended = self._begun = NULL
        self._block = self._common
        self._leaf_count += 1
        if self._block_texts is not None:
            self._block_texts.add(node, len(self.texts))
        if self._signs.used:
            append(&self._leaves, self._signs.data, self._signs.used)
            self._signs.used = 0
        append(&self._leaves, text.data, text.length)
        if not preformatted:
            self._leaves.used -= text.length - utf8.unbroken(self._text_from(text.length), text.length)
        if self._links:
            self._count_linked(utf8.characters(text.data + space, text.length - space))
        return 0

    cdef int _pass_invisible(self, Node *node) except -1:
        """Count a text of nothing but invisible characters, across which elements part words as without it."""
        self._leaf_count += 1
        return 0 if self._block_texts is None else self._block_texts.add(node, len(self.texts))

    cdef void _count_linked(self, size_t characters) noexcept:
        """Count characters of the open link in the open block."""
        self._linked += characters
        if self._last_link != self._link:
            self._last_link, self._last_linked = self._link, 0
        self._last_linked += characters
        if self._last_linked > self._most_linked:
            self._main_link, self._most_linked = self._link, self._last_linked

    cdef int _part_words(self, String text, bint in_code) except -1:
        """Part a text from the one before it, where elements begin or end between them."""
        cdef bint is_shifted = self._shift != c" "
        if self._signs.used:
            text = String(<unsigned char *> self._signs.data, self._signs.used)
        if self._shift and not self._edges & edges.LINK_START and edges.digits_meet(
            self._text(), text, is_shifted
        ):
            if self._shift == c"^" and edges.is_price(self._text(), text):
                self._shift = c"."
            append(&self._leaves, &self._shift, 1)
        elif not in_code and (
            self._edges and edges.would_merge(self._text(), text, self._edges)
            or (self._ended or self._begun) and edges.parts_phrases(self._text(), text, self._ended, self._begun)
        ):
            append(&self._leaves, b" ", 1)
        return 0

    cdef unsigned char *_text_from(self, size_t end) noexcept:
        """Return the position of the last `end` bytes of the open block."""
        return <unsigned char *> self._leaves.data + self._leaves.used - end

    cdef String _text(self) noexcept:
        return String(<unsigned char *> self._leaves.data, self._leaves.used)

    cdef int _end_block(self) except -1:
        """End the open block, if any; the boundaries of one without text part its neighbours."""
        cdef int indent = self._margin
        self._margin = 0
        if not self._open:
            if self._recording._waits:
                self._recording.part()
            return 0
        cdef Row *row = self._rows.at(self._block)
        if self._recording._events.used and not row.preformatted:
            self._recording.place(self._text())
        if self._recording._whole and row.flags & CODE and not row.preformatted:
            indent += lines.hard_spaces(self._text())
        text = lines.kept(self._text(), &indent) if row.preformatted else lines.folded(self._text())
        self._passed |= self._boundary
        if text:
            if len(self.texts) == self._max_blocks:
                detail = f"the page has more than {self._max_blocks:,} blocks of text"
                raise PageError(BrokenReason.TOO_MANY_BLOCKS, detail)
            self.texts.append(text)
            self.paths.append(self._rows.path_of(self._block))
            self.linked.append(min(self._linked, <size_t> len(text)))
            self.links.append(_address_of(self._main_link))
            self.boundaries.append(self._passed)
            self.hidden.append(self._hidden)
            self._rows.add_block(self._block, self._leaf_count)
            self._lists.add_block(row.item)
            self._tables.add_block(row, len(text))
            self._passed = 0
        elif self._block_texts is not None:
            self._block_texts.drop(self._leaf_count)
        if self._recording._events.used or self._recording._depth:
            self._recording.end_block(len(self.texts) - 1, 0 if row.preformatted else len(text))
        if indent and text:
            self._recording.indent(len(self.texts) - 1, indent)
        self._open, self._boundary, self._linked, self._leaf_count, self._leaves.used = False, 0, 0, 0, 0
        self._last_link = self._main_link = NULL
        self._most_linked = 0
        return 0


cdef str _address_of(Element *link):
    """Return where a link leads, as it writes it; None for none, and for an address that is too long."""
    cdef String address
    if link == NULL:
        return None
    address = markup.value_of(link, markup.HREF)
    return decoded(address) if 0 < address.length <= MAX_LINK else None


cdef _two_columns(bytearray integers):
    return np.frombuffer(integers, np.int32).reshape(2, -1)
