from dehusk.inference.native.css cimport Reader
from dehusk.inference.native.lexbor cimport String

cdef list TOO_LONG  # stands for a value of too many components; it is taken for one that hides

cdef bint next_declaration(Reader *reader) except -1
cdef int skip_declaration(Reader *reader, int token) except -1
cdef list components_of(String value)
cdef list components(Reader *reader, bint *is_important)
cdef str text_of(Reader *reader)
