"""Memory that grows as it is filled; whoever holds a Buffer frees it."""

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcpy

cdef extern from "string.h":
    void *memmem(const void *text, size_t length, const void *wanted, size_t wanted_length) nogil


cdef struct Buffer:
    char *data
    size_t used
    size_t room


cdef inline void *more(Buffer *buffer, size_t size) except NULL:
    """Return room for `size` further bytes, counted as used."""
    cdef void *moved
    if buffer.data == NULL or buffer.room - buffer.used < size:
        room = 2 * (buffer.used + size) + 64
        moved = PyMem_Realloc(buffer.data, room)
        if moved == NULL:
            raise MemoryError
        buffer.data = <char *> moved
        buffer.room = room
    buffer.used += size
    return buffer.data + buffer.used - size


cdef inline int append(Buffer *buffer, const void *data, size_t size) except -1:
    memcpy(more(buffer, size), data, size)
    return 0


cdef inline bytearray content(Buffer *buffer):
    return PyByteArray_FromStringAndSize(buffer.data, buffer.used)


cdef inline void free(Buffer *buffer) noexcept:
    PyMem_Free(buffer.data)
    buffer.data = NULL
    buffer.used = buffer.room = 0
