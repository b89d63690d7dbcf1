from libc.stdint cimport uint8_t, uint16_t, uint32_t

from dehusk.inference.native.buffer cimport Buffer
from dehusk.inference.native.classes cimport DESCRIBED, Described
from dehusk.inference.native.lexbor cimport Element
from dehusk.inference.native.markup cimport Shown, Tag
from dehusk.inference.native.styles cimport Inherited, Scopes

cdef enum:
    NONE = -1


cdef struct Row:  # an element that was entered
    Element *element
    Tag *tag
    int kind  # its tag's, but for a custom element and one that its style puts on lines of its own
    int parent
    int item  # of a list: the innermost around it, or itself; its list likewise
    int list
    int table  # that it stands in, or is; its line, a row of the table, and its cell likewise
    int line
    int cell
    int depth
    int held_index  # among the rows that hold blocks
    int way  # an earlier row that shares its path with it, or itself; for these are:
    int last_child  # the last way that is in it
    int sibling  # the way before it in the same
    int path  # its index among the paths that were spelled
    int images
    uint16_t flags
    bint removed  # it is not shown, nor anything in it
    bint invisible  # it is not shown, but what is in it may be
    Inherited inherited  # by what is in it
    uint8_t heading
    bint preformatted
    bint has_symbols  # it may be written with symbols
    int has_text  # of its own, or NONE while that is not known


cdef struct Block:
    int row
    uint16_t leaves


cdef class Rows:
    cdef Buffer _rows, _blocks, _spelling, _tokens
    cdef list _paths
    cdef dict _known_paths
    cdef Described[DESCRIBED] _described

    cdef inline Row *at(self, int index) noexcept:
        return <Row *> self._rows.data + index

    cdef inline int count(self) noexcept:
        return self._rows.used // sizeof(Row)

    cdef int add(self, Element *element, Tag *tag, int parent, uint16_t flags, Shown shown) except -2
    cdef bint hides(self, int index, Shown *shown) noexcept
    cdef bint hides_skipped(self, Element *skipped, Tag *tag, int index, Scopes scopes) except -1
    cdef bint _is_removed(self, int index, Shown *shown) noexcept
    cdef bint _is_invisible(self, int index, Shown *shown) noexcept
    cdef bint is_foreign(self, int index) noexcept
    cdef int _kind_of_custom(self, Element *custom, int parent) except -1
    cdef bint _holds_line(self, int index) noexcept
    cdef int add_block(self, int index, int leaves) except -1
    cdef str path_of(self, int index)
    cdef list xpaths(self)
    cdef dict columns(self)
    cdef void _find_way(self, Row *row, int index) noexcept
    cdef str _spelled(self, int index)
    cdef int _above_line(self, int index) noexcept
    cdef int _hold(self) noexcept
    cdef dict _block_columns(self)
    cdef dict _row_columns(self, int held)
    cdef int _describe(self, Row *row, uint32_t *class_hash) except -1


cdef bint is_list(Row *row) noexcept
cdef char parts_of(Row *row) noexcept
cdef bint holds_no_text(Row *row) noexcept
cdef int edge_of(Row *row) noexcept
