from libc.stdint cimport uint8_t

from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.lexbor cimport Element, Node, String
from dehusk.inference.native.rows cimport Row

cdef enum:
    KINDS = 16  # of marks
    NO_STRING = -1


cdef struct Span:  # a mark in the open block: in bytes of its text as it came, then in characters
    int row  # whose element it is
    int kind
    int string
    size_t start
    size_t end


cdef struct Event:  # the start or the end of a span, or something embedded, in the open block
    size_t offset
    int span  # or embedded thing
    uint8_t kind


cdef struct Thing:  # that is embedded
    int kind
    int block
    int character
    int space  # around it: BEFORE and AFTER
    int row
    int address
    int text


cdef class Recording:
    cdef bint _whole  # not only what is struck
    cdef Buffer _spans, _events, _embedded, _marks
    cdef Buffer _linked  # the row of each mark that is a link, else NONE
    cdef bint _waits  # something embedded waits for the first text of a block
    cdef Node *_typeset  # the element that shows a formula whose TeX follows in a script
    cdef size_t _typeset_from
    cdef int _typeset_block
    cdef bint _typesets, _typesets_dollars
    cdef int _item, _item_block  # the last item, and the block that it would begin with
    cdef dict _indents  # of blocks: of the first line
    cdef dict _tasks  # of items: True for one that is done
    cdef dict _notes  # of rows: the index of a footnote's id
    cdef int[KINDS] _stack  # of open spans
    cdef int _depth
    cdef list _strings
    cdef dict _known

    cdef int note(self, Element *skipped, int row, int block, size_t offset) except -1
    cdef int enter(self, Row *row, int index, int block, size_t offset) except -1
    cdef int leave(self, int index, size_t offset) except -1
    cdef int begin_struck(self, int index, size_t offset) except -1
    cdef int begin_formula(self, Element *formula, int index, size_t offset) except -1
    cdef int add_image(self, Element *element, int row, int block, size_t offset) except -1
    cdef int add_rule(self, int row, int block) except -1
    cdef int part(self) except -1
    cdef int place(self, String text) except -1
    cdef int end_block(self, int block, int length) except -1
    cdef int indent(self, int block, int length) except -1
    cdef int _begin(self, int kind, int index, size_t offset, int string) except -1
    cdef int _tex_of(self, Element *script) except -2
    cdef int _look_at(self, Element *element, int row, int block, size_t offset) except -1
    cdef int _add_script(self, Element *script, int row, int block, size_t offset) except -1
    cdef int _add_player(self, Element *element, int row, int block, size_t offset) except -1
    cdef int _add_task(self, Element *box, Row *row) except -1
    cdef int _look_for_typeset(self, Element *element, int index, int block, size_t offset) except -1
    cdef int _embed(self, int kind, int row, int block, size_t offset, int address, int text) except -1
    cdef int _add_event(self, int kind, int span, size_t offset) except -1
    cdef int _mark(self, int block, int length) except -1
    cdef int _string(self, String value, size_t most) except -2
    cdef object struck(self)


cdef bint is_struck(Row *row) noexcept
