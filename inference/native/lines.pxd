from dehusk.inference.native.lexbor cimport String


cdef str folded(String text)
cdef str kept(String text, int *indent)
cdef int hard_spaces(String text) noexcept
cdef int kept_spaces(String text, int width) noexcept
