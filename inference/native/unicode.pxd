"""Characters of a str, and their properties in Unicode."""

from libc.stdint cimport uint32_t

cdef extern from "Python.h" nogil:
    uint32_t PyUnicode_READ(int kind, void *data, Py_ssize_t position) noexcept
    uint32_t Py_UNICODE_TOLOWER(uint32_t character) noexcept
    bint Py_UNICODE_ISALNUM(uint32_t character) noexcept
    bint Py_UNICODE_ISALPHA(uint32_t character) noexcept
    bint Py_UNICODE_ISDECIMAL(uint32_t character) noexcept
    bint Py_UNICODE_ISDIGIT(uint32_t character) noexcept
    bint Py_UNICODE_ISLOWER(uint32_t character) noexcept
    bint Py_UNICODE_ISSPACE(uint32_t character) noexcept
    bint Py_UNICODE_ISUPPER(uint32_t character) noexcept
