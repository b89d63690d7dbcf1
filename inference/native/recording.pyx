# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The markup that text blocks stand in, recorded while a walk reads them: columns of `dehusk.schemas.markup.Markup`.

Without these, what is struck is recorded alone.
"""

from libc.stdint cimport uint8_t, uint32_t, uintptr_t

from dehusk.inference.native cimport lexbor, utf8
from dehusk.inference.native.attributes cimport MAX_ADDRESS, attributes, classes, lazy_values
from dehusk.inference.native.buffer cimport free, more
from dehusk.inference.native.lexbor cimport Element, Node, String, contains, decoded
from dehusk.inference.native.markup cimport DISPLAY_VALUE, HREF, SRC, TYPE, number_of, spells, tag_name, value_of
from dehusk.inference.native.rows cimport NONE, Row
from dehusk.inference.native.unicode cimport Py_UNICODE_ISSPACE

import numpy as np

from dehusk.inference.markup import elements, pictures, players, tex
from dehusk.inference.native.markup import NUMBERED_TAGS
from dehusk.schemas.markup import Embedded, Mark

cdef enum:  # kinds of events
    START
    END
    THING

cdef enum:  # white space beside something embedded
    BEFORE = 1
    AFTER = 2

cdef enum:
    MAX_TEXT = 1000  # characters of an image's alternative text
    MAX_TEX = 10_000  # bytes
    MAX_SOURCES = 10  # of a picture
    MAX_NOSCRIPT = 10_000  # bytes
    MAX_PROGRAM = 20_000  # bytes of a script that may set a typesetter up

cdef int LINK = Mark.LINK, FORMULA = Mark.FORMULA, DISPLAYED = Mark.DISPLAYED_FORMULA
cdef int STRUCK = Mark.STRUCK
cdef int LIST_ITEM = elements.ITEM
cdef int IMAGE = Embedded.IMAGE, RULE = Embedded.RULE
cdef int EMBEDDED_FORMULA = Embedded.FORMULA, EMBEDDED_DISPLAYED = Embedded.DISPLAYED_FORMULA
cdef uintptr_t SCRIPT = number_of(b"script"), STYLE_SHEET = number_of(b"link")
cdef uintptr_t FRAME = number_of(b"iframe"), VIDEO = number_of(b"video"), AUDIO = number_of(b"audio")
cdef uintptr_t DEL = number_of(b"del"), S = number_of(b"s"), STRIKE = number_of(b"strike")
cdef uintptr_t SOURCE = number_of(b"source"), NOSCRIPT = number_of(b"noscript")
cdef uintptr_t INPUT = number_of(b"input"), HEAD = number_of(b"head")
cdef dict MARKS = {
    "a": Mark.LINK,
    **dict.fromkeys(("b", "strong"), Mark.STRONG),
    **dict.fromkeys(("i", "em"), Mark.EMPHASIS),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), Mark.CODE),
    "sup": Mark.RAISED,
    "sub": Mark.LOWERED,
    **dict.fromkeys(("del", "s", "strike"), Mark.STRUCK),
}
cdef uint8_t[lexbor.NUMBERED_TAGS] _marks_of_tags
for _number in range(lexbor.NUMBERED_TAGS):
    _marks_of_tags[_number] = MARKS.get(NUMBERED_TAGS[_number], 0)


cdef class Recording:
    """Marks, embedded things and containers in the order of a walk; what is struck alone unless it is `whole`."""

    def __cinit__(self, *, bint whole):
        self._whole = whole
        self._strings, self._known, self._depth = [], {}, 0
        self._tasks, self._notes, self._indents = {}, {}, {}

    def __dealloc__(self):
        free(&self._spans)
        free(&self._events)
        free(&self._embedded)
        free(&self._marks)
        free(&self._linked)

    cdef int note(self, Element *skipped, int row, int block, size_t offset) except -1:
        """Record what an element whose text is not read is of the page, or those in it."""
        cdef Node *node = &skipped.node
        while self._whole and node != NULL:
            if node.type == lexbor.ELEMENT:
                self._look_at(<Element *> node, row, block, offset)
            node = lexbor.following(node, &skipped.node) if skipped.node.name == HEAD else NULL
        return 0

    cdef int _look_at(self, Element *element, int row, int block, size_t offset) except -1:
        """Record formulas, players, and a typesetter."""
        cdef uintptr_t name = element.node.name
        if name == SCRIPT:
            self._add_script(element, row, block, offset)
        elif name == STYLE_SHEET:
            self._typesets = self._typesets or _names_typesetter(value_of(element, HREF))
        elif name == FRAME or name == VIDEO or name == AUDIO:
            self._add_player(element, row, block, offset)
        return 0

    cdef int _add_script(self, Element *script, int row, int block, size_t offset) except -1:
        """Record the formula that a script holds, unless it was read as it is typeset, or what typesets formulas."""
        cdef String program
        cdef int string
        declared = decoded(value_of(script, TYPE)).lower()
        if not declared.startswith(tex.SCRIPT):
            program = value_of(script, SRC)
            if not program.length:
                program = lexbor.text_of(script.node.first_child)
            if program.length <= MAX_PROGRAM and _names_typesetter(program):
                self._typesets = True
                self._typesets_dollars = self._typesets_dollars or tex.marks_by_dollars(decoded(program))
            return 0
        self._typesets = True
        string = self._tex_of(script)
        if string == NO_STRING or (
            self._typeset != NULL
            and self._typeset == lexbor.element_up_to(script.node.prev)
            and (block > self._typeset_block or offset > self._typeset_from)
        ):
            return 0
        kind = EMBEDDED_DISPLAYED if "display" in declared else EMBEDDED_FORMULA
        return self._embed(kind, row, block, offset, NO_STRING, string)

    cdef int _tex_of(self, Element *script) except -2:
        """Return the index of the TeX that a script holds; -1 for none."""
        cdef String text = lexbor.text_of(script.node.first_child)
        found = tex.of_script(decoded(text)) if text.length <= MAX_TEX else ""
        return self._string_of(found) if found else NO_STRING

    cdef int _add_player(self, Element *element, int row, int block, size_t offset) except -1:
        cdef String tag = tag_name(element.node.name)
        cdef Node *source = element.node.first_child
        found = attributes(element)
        while source != NULL and not found.get("src"):
            if source.type == lexbor.ELEMENT and spells(tag_name(source.name), b"source"):
                found["src"] = attributes(<Element *> source).get("src", "")
            source = source.next
        player = players.player_of(tag.data[: tag.length].decode(), found)
        if player is None or len(player[1]) > MAX_ADDRESS:
            return 0
        title = self._string_of(players.title_of(found)[:MAX_TEXT])
        return self._embed(player[0], row, block, offset, self._string_of(player[1]), title)

    cdef int enter(self, Row *row, int index, int block, size_t offset) except -1:
        """Begin the mark that an element is, if any, at a byte of the open block's text."""
        cdef uintptr_t name = row.element.node.name
        cdef int kind = _marks_of_tags[name] if name < lexbor.NUMBERED_TAGS else 0
        cdef int string = NO_STRING
        if row.element.classes != NULL:
            self._look_for_typeset(row.element, index, block, offset)
        if row.tag.lists == LIST_ITEM:
            self._item, self._item_block = row.item, block
        elif name == INPUT and row.item == self._item and block == self._item_block:
            self._add_task(row.element, row)
        if kind == LINK:
            string = self._string(value_of(row.element, HREF), MAX_ADDRESS)
        return self._begin(kind, index, offset, string) if kind and (kind != LINK or string != NO_STRING) else 0

    cdef int begin_struck(self, int index, size_t offset) except -1:
        """Begin the mark of what is struck, where nothing else is recorded."""
        return self._begin(STRUCK, index, offset, NO_STRING)

    cdef int begin_formula(self, Element *formula, int index, size_t offset) except -1:
        """Begin the mark of a formula that is read as TeX."""
        if not self._whole:
            return 0
        kind = DISPLAYED if spells(value_of(formula, DISPLAY_VALUE), b"block") else FORMULA
        return self._begin(kind, index, offset, NO_STRING)

    cdef int _look_for_typeset(self, Element *element, int index, int block, size_t offset) except -1:
        """Begin the mark of a formula that a program has typeset, if its TeX follows in a script."""
        cdef Node *script
        cdef int string
        if not contains(lexbor.value_of(element.classes), b"ath"):
            return 0
        script = lexbor.element_from(element.node.next)
        names = classes(element)
        self._typesets = self._typesets or tex.is_typeset(names)
        self._typesets_dollars = self._typesets_dollars or tex.is_typeset_with_dollars(names)
        if "MathJax" not in names or script == NULL or script.name != SCRIPT:
            return 0
        declared = decoded(value_of(<Element *> script, TYPE)).lower()
        string = self._tex_of(<Element *> script) if declared.startswith(tex.SCRIPT) else NO_STRING
        if string == NO_STRING:
            return 0
        self._typeset, self._typeset_block, self._typeset_from = &element.node, block, offset
        return self._begin(DISPLAYED if "display" in declared else FORMULA, index, offset, string)

    cdef int _add_task(self, Element *box, Row *row) except -1:
        """Let an item that a check box begins be a task, if readers cannot set it."""
        found = attributes(box)
        if row.item == NONE or found.get("type", "").lower() != "checkbox":
            return 0
        if "disabled" in found or "task-list" in classes(box):
            self._tasks.setdefault(row.item, "checked" in found)
        return 0

    cdef int _begin(self, int kind, int index, size_t offset, int string) except -1:
        """Begin a mark, unless one of its kind is open."""
        cdef Span *span
        cdef int level
        for level in range(self._depth):
            if (<Span *> self._spans.data)[self._stack[level]].kind == kind:
                return 0
        span = <Span *> more(&self._spans, sizeof(Span))
        span.row, span.kind, span.string, span.start, span.end = index, kind, string, 0, 0
        self._stack[self._depth] = span - <Span *> self._spans.data
        self._depth += 1
        return self._add_event(START, self._stack[self._depth - 1], offset)

    cdef int leave(self, int index, size_t offset) except -1:
        """End the marks that an element began: none, its own, that of a typeset formula, or both."""
        while self._depth and (<Span *> self._spans.data)[self._stack[self._depth - 1]].row == index:
            self._depth -= 1
            self._add_event(END, self._stack[self._depth], offset)
        return 0

    cdef int add_image(self, Element *element, int row, int block, size_t offset) except -1:
        """Record an image that is shown, at a byte of the open block's text, or before the next block."""
        found = attributes(element)
        formula = pictures.tex_of(found, classes(element))
        if formula and len(formula) <= MAX_TEX:
            return self._embed(EMBEDDED_FORMULA, row, block, offset, NO_STRING, self._string_of(formula))
        if pictures.is_icon(found):
            return 0
        address = pictures.address_of(found)
        if address is None:
            address = pictures.address_of_any(_alternatives(element))
        if address is None:
            address = pictures.address_among(lazy_values(element))
        if address is None or len(address) > MAX_ADDRESS:
            return 0
        text = self._string_of(" ".join(found.get("alt", "")[:MAX_TEXT].split()))
        return self._embed(IMAGE, row, block, offset, self._string_of(address), text)

    cdef int add_rule(self, int row, int block) except -1:
        """Record a line between sections, before the next block."""
        return self._embed(RULE, row, block, 0, NO_STRING, self._string_of(""))

    cdef int _embed(self, int kind, int row, int block, size_t offset, int address, int text) except -1:
        """Record something at a byte of the open block's text, or before the next block.

        A formula at the beginning waits for the text of its block, in case there is any.
        """
        cdef Thing *thing = <Thing *> more(&self._embedded, sizeof(Thing))
        thing.kind, thing.block, thing.character, thing.row = kind, block, NONE, row
        thing.address, thing.text, thing.space = address, text, 0
        if offset or kind == EMBEDDED_FORMULA:
            self._waits = self._waits or not offset
            self._add_event(THING, thing - <Thing *> self._embedded.data, offset)
        return 0

    cdef int part(self) except -1:
        """Leave what waits for text before the next block: its own has none."""
        cdef Event *events = <Event *> self._events.data
        cdef int event, kept = 0
        for event in range(<int> (self._events.used // sizeof(Event))):
            if events[event].kind != THING:
                events[kept] = events[event]
                kept += 1
        self._events.used, self._waits = kept * sizeof(Event), False
        return 0

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
        cdef uint32_t written = 0, character, before = 0
        cdef Thing *thing
        cdef bint parted = False
        while count:
            while event < count and events[event].offset <= position:
                if events[event].kind == END:
                    spans[events[event].span].end = written
                elif events[event].kind == THING:
                    thing = <Thing *> self._embedded.data + events[event].span
                    thing.character = written
                    thing.space = (BEFORE if parted else 0) | (AFTER if _is_space_at(text, position) else 0)
                event += 1
            if position >= text.length:
                break
            length = utf8.read(text.data + position, text.length - position, &character)
            if Py_UNICODE_ISSPACE(character):
                parted, before = written > 0, 0
            elif not utf8.is_invisible(character) and not (utf8.is_joiner(character) and utf8.is_idle(
                before, text.data + position + length, text.length - position - length
            )):
                written += parted
                parted, before = False, character
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
            if events[event].kind == THING and not length:
                (<Thing *> self._embedded.data)[events[event].span].block = NONE
        if length:
            self._mark(block, length)
        for level in range(self._depth):
            still_open[level] = (<Span *> self._spans.data)[self._stack[level]]
        self._spans.used = self._events.used = 0
        self._waits = False
        for level in range(self._depth):
            still_open[level].start = still_open[level].end = 0
            (<Span *> more(&self._spans, sizeof(Span)))[0] = still_open[level]
            self._stack[level] = level
            self._add_event(START, level, 0)
        return 0

    cdef int indent(self, int block, int length) except -1:
        """Record how many characters code, or its first line beyond the others, is indented by."""
        if self._whole:
            self._indents[block] = length
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
                (<int *> more(&self._linked, sizeof(int)))[0] = span.row if span.kind == LINK else NONE
        return 0

    cdef int _string(self, String value, size_t most) except -2:
        """Return the index of a text among the strings; -1 for an empty one and one of more than `most` bytes."""
        if not value.length or value.length > most:
            return NO_STRING
        return self._string_of(decoded(value))

    def _string_of(self, text: str) -> int:
        index = self._known.setdefault(text, len(self._strings))
        if index == len(self._strings):
            self._strings.append(text)
        return index

    cdef object struck(self):
        """Return the blocks of what is struck, and its first and last characters; None if nothing is."""
        cdef int *marks = <int *> self._marks.data
        cdef int mark, count = self._marks.used // (5 * sizeof(int))
        found = []
        for mark in range(count):
            if marks[5 * mark + 3] == STRUCK:
                found.append((marks[5 * mark], marks[5 * mark + 1], marks[5 * mark + 2]))
        return np.array(found, np.int32).T.copy() if found else None


cdef list _alternatives(Element *image):
    """Return the attributes of what stands for an image: sources before it, the image in a `<noscript>` beside it."""
    cdef Node *node = lexbor.element_up_to(image.node.prev)
    cdef String noscript
    found = []
    while node != NULL and node.name == SOURCE and len(found) < MAX_SOURCES:
        found.append(attributes(<Element *> node))
        node = lexbor.element_up_to(node.prev)
    found.reverse()
    node = _noscript_of(image)
    if node != NULL:
        noscript = lexbor.text_of(node.first_child)
        if noscript.length <= MAX_NOSCRIPT:
            found.append(pictures.in_noscript(decoded(noscript)))
    return found


cdef Node *_noscript_of(Element *image) noexcept:
    """Return the `<noscript>` after an image or an element that ends with it, else the one before it; or NULL.

    One that stands after another image is that one's.
    """
    cdef Node *after = lexbor.element_from(image.node.next)
    cdef Node *before
    if after == NULL and image.node.parent != NULL:
        after = lexbor.element_from(image.node.parent.next)
    if after != NULL and after.name == NOSCRIPT:
        return after
    before = lexbor.element_up_to(image.node.prev)
    if before == NULL or before.name != NOSCRIPT:
        return NULL
    after = lexbor.element_up_to(before.prev)
    return NULL if after != NULL and after.name == image.node.name else before


cdef bint is_struck(Row *row) noexcept:
    """Return True if the text of an element is struck."""
    return row.element.node.name == DEL or row.element.node.name == S or row.element.node.name == STRIKE


cdef bint _names_typesetter(String program) noexcept:
    """Return True if the address or the text of a script or style sheet is of MathJax or KaTeX."""
    return (
        contains(program, b"athjax")
        or contains(program, b"athJax")
        or contains(program, b"katex")
        or contains(program, b"KaTeX")
        or contains(program, b"renderMathInElement")
    )


cdef bint _is_space_at(String text, size_t position) noexcept:
    cdef uint32_t character
    if position >= text.length:
        return False
    utf8.read(text.data + position, text.length - position, &character)
    return Py_UNICODE_ISSPACE(character)
