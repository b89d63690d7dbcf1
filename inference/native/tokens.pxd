from libc.stdint cimport uint32_t

from dehusk.inference.native.buffer cimport Buffer


cdef struct Text:  # a str being read, which must outlive it
    int kind
    void *data
    Py_ssize_t length
    bint ascii  # and its header stands before its characters


cdef Text text_of(str text)
cdef int add_hashes(Buffer *hashes, Text *text, bint as_tokens) except -1
cdef bint writes_no_spaces(uint32_t character) noexcept nogil
cdef uint32_t crc32(uint32_t crc, const unsigned char *data, size_t size) noexcept nogil
cdef uint32_t crc32_of(uint32_t crc, Text *text, Py_ssize_t start, Py_ssize_t end) noexcept
