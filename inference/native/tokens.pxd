from libc.stdint cimport uint32_t


cdef struct Text:  # a str being read, which must outlive it
    int kind
    void *data
    Py_ssize_t length


cdef Text text_of(str text)
cdef bint next_word(Text *text, Py_ssize_t *start, Py_ssize_t *end) noexcept
cdef uint32_t crc32(uint32_t crc, const unsigned char *data, size_t size) noexcept nogil
cdef uint32_t crc32_of(uint32_t crc, Text *text, Py_ssize_t start, Py_ssize_t end, bint lower) noexcept
