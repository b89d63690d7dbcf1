# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The markup that text blocks stand in, recorded while a walk reads them: columns of `dehusk.schemas.markup.Markup`."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uintptr_t
from libc.string cimport memset

from dehusk.inference.native cimport lexbor, utf8
from dehusk.inference.native.buffer cimport Buffer, content, free, more
from dehusk.inference.native.lexbor cimport Attribute, Element, Node, String, decoded
from dehusk.inference.native.lists cimport Item, Lists
from dehusk.inference.native.markup cimport spells, tag_name
from dehusk.inference.native.rows cimport NONE, Block, Row, Rows
from dehusk.inference.native.tables cimport Tables

import numpy as np

from dehusk.inference import pictures
from dehusk.inference.native.markup import NUMBERED_ATTRIBUTES, NUMBERED_TAGS
from dehusk.schemas.markup import Container, Mark

cdef extern from "Python.h":
    bint Py_UNICODE_ISSPACE(uint32_t character) noexcept nogil

ATTRIBUTES = (*pictures.ATTRIBUTES, "href", "display", "data-lang", "data-language", "lang")
"""The attributes that are read."""

cdef enum:  # kinds of events
    START
    END
    IMAGE

cdef enum:
    MAX_ADDRESS = 2000  # bytes; no link of more is kept
    MAX_TEXT = 1000  # bytes of an image's alternative text
    MAX_CLASSES = 200  # bytes
    MAX_AROUND_CODE = 3  # elements whose classes may name its language
    MAX_AROUND_IMAGE = 5  # elements of which one may be its figure

cdef int LINK = Mark.LINK, FORMULA = Mark.FORMULA, DISPLAYED = Mark.DISPLAYED_FORMULA
cdef int CODE = Container.CODE, ITEM = Container.ITEM, HEADING = Container.HEADING
cdef int CELL = Container.CELL, HEADER_CELL = Container.HEADER_CELL
cdef int FIGURE = Container.FIGURE
cdef frozenset FIGURES = frozenset({"wp-caption", "caption", "image-caption", "captioned-image", "figure"})
cdef dict MARKS = {
    "a": Mark.LINK,
    **dict.fromkeys(("b", "strong"), Mark.STRONG),
    **dict.fromkeys(("i", "em"), Mark.EMPHASIS),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), Mark.CODE),
    "sup": Mark.RAISED,
    "sub": Mark.LOWERED,
}
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

cdef uint8_t[lexbor.NUMBERED_TAGS] _marks_of_tags
cdef uint8_t[lexbor.NUMBERED_TAGS] _containers_of_tags
cdef dict _attribute_names = {}  # by the number that Lexbor has for each, or by its own bytes


cdef int _fill_tables() except -1:
    cdef int number
    for number in range(lexbor.NUMBERED_TAGS):
        _marks_of_tags[number] = MARKS.get(NUMBERED_TAGS[number], 0)
        _containers_of_tags[number] = CONTAINERS.get(NUMBERED_TAGS[number], 0)
    numbers = {name: number for number, name in enumerate(NUMBERED_ATTRIBUTES)}
    for name in ATTRIBUTES:
        _attribute_names[numbers.get(name, name.encode())] = name
    return 0


_fill_tables()


cdef class Recording:
    """Marks, images and containers in the order of a walk."""

    def __cinit__(self):
        self._strings, self._known, self._base, self._depth = [], {}, "", 0

    def __dealloc__(self):
        free(&self._spans)
        free(&self._events)
        free(&self._images)
        free(&self._marks)

    cdef int note(self, Element *hidden) except -1:
        """Record the first `<base>`, to which addresses are relative, if an element that is not shown holds it."""
        cdef Node *node = &hidden.node
        if not spells(tag_name(node.name), b"head") and not spells(tag_name(node.name), b"base"):
            return 0
        while node != NULL and not self._base:
            if node.type == lexbor.ELEMENT and spells(tag_name(node.name), b"base"):
                self._base = _attributes(<Element *> node).get("href", "")[:MAX_ADDRESS]
            node = lexbor.following(node, &hidden.node)
        return 0

    cdef int enter(self, Row *row, int index, size_t offset) except -1:
        """Begin the mark that an element is, if any, at a byte of the open block's text."""
        cdef uintptr_t name = row.element.node.name
        if name >= lexbor.NUMBERED_TAGS or not _marks_of_tags[name]:
            return 0
        return self.begin(_marks_of_tags[name], index, offset, row.element)

    cdef int begin(self, int kind, int index, size_t offset, Element *element) except -1:
        """Begin a mark, unless one of its kind is open."""
        cdef Span *span
        cdef int level, string = 0
        if kind == FORMULA and _attributes(element).get("display") == "block":
            kind = DISPLAYED
        for level in range(self._depth):
            if (<Span *> self._spans.data)[self._stack[level]].kind == kind:
                return 0
        if kind == LINK:
            string = self._string(_attribute(element, "href"), MAX_ADDRESS)
            if string == NONE:
                return 0
        span = <Span *> more(&self._spans, sizeof(Span))
        span.row, span.kind, span.string, span.start, span.end = index, kind, string, 0, 0
        self._stack[self._depth] = span - <Span *> self._spans.data
        self._depth += 1
        return self._add_event(START, self._stack[self._depth - 1], offset)

    cdef int leave(self, int index, size_t offset) except -1:
        """End the mark that an element began, if any."""
        if not self._depth or (<Span *> self._spans.data)[self._stack[self._depth - 1]].row != index:
            return 0
        self._depth -= 1
        return self._add_event(END, self._stack[self._depth], offset)

    cdef int add_image(self, Element *element, int row, int block, size_t offset) except -1:
        """Record an image that is shown, at a byte of the open block's text, or before the next block."""
        cdef Image *image
        attributes = _attributes(element)
        found = pictures.address_of(attributes)
        if found is None or len(found) > MAX_ADDRESS:
            return 0
        address = self._string_of(found)
        text = self._string_of(" ".join(attributes.get("alt", "")[:MAX_TEXT].split()))
        image = <Image *> more(&self._images, sizeof(Image))
        image.block, image.character, image.row, image.address, image.text = block, NONE, row, address, text
        return self._add_event(IMAGE, image - <Image *> self._images.data, offset) if offset else 0

    cdef int _add_event(self, int kind, int span, size_t offset) except -1:
        cdef Event *event = <Event *> more(&self._events, sizeof(Event))
        event.kind, event.span, event.offset = kind, span, offset
        return 0

    cdef int place(self, String text) except -1:
        """Turn bytes of the open block's text into characters of it with its white space folded."""
        cdef Event *events = <Event *> self._events.data
        cdef Span *spans = <Span *> self._spans.data
        cdef int count = self._events.used // sizeof(Event), event = 0, waiting = 0, level
        cdef size_t position = 0, length
        cdef uint32_t written = 0, character
        cdef bint parted = False
        while count:
            while event < count and events[event].offset <= position:
                if events[event].kind == END:
                    spans[events[event].span].end = written
                elif events[event].kind == IMAGE:
                    (<Image *> self._images.data)[events[event].span].character = written
                event += 1
            if position >= text.length:
                break
            length = utf8.read(text.data + position, text.length - position, &character)
            if Py_UNICODE_ISSPACE(character):
                parted = written > 0
            elif not utf8.is_invisible(character):
                written += parted
                parted = False
                while waiting < event:
                    if events[waiting].kind == START:
                        spans[events[waiting].span].start = written
                    waiting += 1
                written += 1
            position += length
        for level in range(self._depth):
            spans[self._stack[level]].end = written
        while waiting < count:
            if events[waiting].kind == START:
                spans[events[waiting].span].start = written
            waiting += 1
        return 0

    cdef int end_block(self, int block, int length) except -1:
        """Keep the marks of a block that has so many characters, none for 0, and go on with those still open."""
        cdef Event *events = <Event *> self._events.data
        cdef Span[KINDS] still_open
        cdef int event, level
        for event in range(<int> (self._events.used // sizeof(Event))):
            if events[event].kind == IMAGE and not length:
                (<Image *> self._images.data)[events[event].span].block = NONE
        if length:
            self._mark(block, length)
        for level in range(self._depth):
            still_open[level] = (<Span *> self._spans.data)[self._stack[level]]
        self._spans.used = self._events.used = 0
        for level in range(self._depth):
            still_open[level].start = still_open[level].end = 0
            (<Span *> more(&self._spans, sizeof(Span)))[0] = still_open[level]
            self._stack[level] = level
            self._add_event(START, level, 0)
        return 0

    cdef int _mark(self, int block, int length) except -1:
        cdef Span *span
        cdef int *mark
        cdef int index
        for index in range(<int> (self._spans.used // sizeof(Span))):
            span = <Span *> self._spans.data + index
            if span.start < span.end <= <size_t> length:
                mark = <int *> more(&self._marks, 5 * sizeof(int))
                mark[0], mark[1], mark[2], mark[3], mark[4] = block, span.start, span.end, span.kind, span.string
        return 0

    cdef int _string(self, String value, size_t most) except -2:
        """Return the index of a text among the strings; NONE for an empty one and one of more than `most` bytes."""
        if not value.length or value.length > most:
            return NONE
        return self._string_of(decoded(value))

    def _string_of(self, text: str) -> int:
        index = self._known.setdefault(text, len(self._strings))
        if index == len(self._strings):
            self._strings.append(text)
        return index

    cdef dict columns(self, Rows rows, Lists lists, Tables tables, object holders):
        """Return the fields of `Markup`; call it after `Rows.columns` and `Lists.of_items`."""
        cdef Block *blocks = <Block *> rows._blocks.data
        cdef int count = rows._blocks.used // sizeof(Block), block
        cdef RowContainers around = RowContainers(self, rows, lists, tables)
        of_blocks = np.empty(count, np.int32)
        cdef int32_t[::1] column = of_blocks
        for block in range(count):
            column[block] = around.container_of(blocks[block].row)
        images = around.images_of(self)
        return {
            "base": self._base,
            "containers": np.ascontiguousarray(_columns(content(&around.containers), 3)),
            "blocks": of_blocks,
            "holders": holders,
            "marks": np.ascontiguousarray(_columns(content(&self._marks), 5)),
            "images": np.array(images, np.int32).reshape(-1, 9).T.copy(),
            "strings": tuple(self._strings),
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
        """Return the container that a row is, or else the one around it."""
        cdef Row *row = self._rows.at(index)
        cdef uintptr_t name = row.element.node.name
        cdef int kind = _containers_of_tags[name] if name < lexbor.NUMBERED_TAGS else 0
        cdef int value = 0
        cdef int *added
        if not kind or (kind == CODE and row.parent != NONE and self._rows.at(row.parent).preformatted):
            return outer
        if kind == HEADING:
            value = row.heading
        elif kind == ITEM:
            value = (<Item *> self._lists._items.data)[row.item].number if row.item != NONE else 0
        elif kind == CODE:
            value = self._language(index)
        elif kind == CELL or kind == HEADER_CELL:
            value = self._tables.column_of(row.cell)
        added = <int *> more(&self.containers, 3 * sizeof(int))
        added[0], added[1], added[2] = outer, kind, value
        return self.containers.used // (3 * sizeof(int))

    cdef int _language(self, int index) except -1:
        """Return 1 + the index of the string of the names that may be the language of code; 0 for none."""
        cdef Element *element = self._rows.at(index).element
        cdef Node *child = element.node.first_child
        cdef int around
        names = []
        while child != NULL and child.type != lexbor.ELEMENT:
            child = child.next
        if child != NULL:
            names += _languages(<Element *> child)
        for around in range(MAX_AROUND_CODE):
            if index != NONE:
                names += _languages(self._rows.at(index).element)
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

    cdef list images_of(self, Recording recording):
        """Return the columns of each image, in DOM order."""
        cdef list found = []
        cdef Image *image
        cdef int index
        if recording._images.used:
            self._find_ranges()
        for index in range(<int> (recording._images.used // sizeof(Image))):
            image = <Image *> recording._images.data + index
            if image.block != NONE:
                near = self._blocks_near(image.row)
                where = image.block, image.character, self.container_of(image.row)
                around = self._blocks_around(self._figure_of(image.row))
                found.append((*where, *near, *around, image.address, image.text))
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


cdef bint _is_figure(Element *element) except -1:
    """Return True if an element is a figure, or one with a caption by the classes that publishing systems give."""
    cdef uintptr_t name = element.node.name
    if name < lexbor.NUMBERED_TAGS and _containers_of_tags[name] == FIGURE:
        return True
    classes = decoded(lexbor.value_of(element.classes))[:MAX_CLASSES].split()
    return any(each in FIGURES for each in classes)


cdef list _languages(Element *element):
    """Return the names that an element may have for the language of its code."""
    attributes = _attributes(element)
    declared = attributes.get("data-lang") or attributes.get("data-language") or attributes.get("lang")
    classes = decoded(lexbor.value_of(element.classes))[:MAX_CLASSES]
    return ([f"language-{declared[:MAX_CLASSES]}"] if declared else []) + ([classes] if classes else [])


cdef str _name(Attribute *attribute):
    """Return the one of `ATTRIBUTES` that an attribute is, or None."""
    cdef String name
    if attribute.node.name < lexbor.NUMBERED_ATTRIBUTES:
        return _attribute_names.get(attribute.node.name)
    name = lexbor.name_of(attribute.node.name)
    return _attribute_names.get(name.data[: name.length])


cdef String _attribute(Element *element, str wanted):
    cdef Attribute *attribute = element.first_attribute
    while attribute != NULL and _name(attribute) != wanted:
        attribute = attribute.next
    return lexbor.value_of(attribute)


cdef dict _attributes(Element *element):
    """Return the values of those of `ATTRIBUTES` that an element has; long ones cut."""
    cdef Attribute *attribute = element.first_attribute
    cdef String value
    found = {}
    while attribute != NULL:
        name = _name(attribute)
        if name is not None:
            value = lexbor.value_of(attribute)
            value.length = min(value.length, 16 * MAX_ADDRESS)
            found[name] = decoded(value)
        attribute = attribute.next
    return found
