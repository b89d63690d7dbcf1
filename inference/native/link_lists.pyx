# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Lists of links alone that stand among the blocks of an element, as in an article, not apart as menus do."""

import numpy as np

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.string cimport memchr, memcmp

from dehusk.inference.native.buffer cimport memmem

cdef enum:
    ITEM = 4  # bytes of `l/li`, the end of the path of a list, `ul` or `ol`, with that of an item
    LIST = 2  # bytes before it, `/u` or `/o`

cdef double MIN_LINKED = 0.8  # share of characters in links from which a list is one of links alone


cdef struct Path:
    const char *data
    Py_ssize_t length


def link_lists(
    tuple texts not None, tuple paths not None, tuple linked not None, tuple hidden not None
) -> object:
    """Return `EncodedPage.link_lists` of a page's blocks; `linked` are their characters inside links."""
    cdef list found = []
    cdef Py_ssize_t block, end = 0, blocks = len(paths), item
    cdef Path path
    for block in range(1, blocks):
        if block < end or paths[block] is paths[block - 1]:
            continue
        path = _path(paths[block])
        item = _item_of(&path)
        if item < 0 or not _follows(paths[block - 1], &path, item - ITEM - LIST):
            continue
        path.length = item
        end = block + 1
        while end < blocks and _is_in(paths[end], &path):
            end += 1
        if _is_of_links(texts, linked, hidden, block, end):
            found.append((block, end))
    return np.array(found, np.int32).T.copy() if found else None


cdef Path _path(str path) except *:
    cdef Path read
    read.data = PyUnicode_AsUTF8AndSize(path, &read.length)
    return read


cdef Py_ssize_t _item_of(Path *path) noexcept:
    """Return where the path of the outermost item of a list ends, or -1."""
    cdef const char *at = <const char *> memmem(path.data, path.length, b"l/li", ITEM)
    if at == NULL or at - path.data < LIST:
        return -1
    at -= LIST
    return at - path.data + LIST + ITEM if at[0] == c"/" and (at[1] == c"u" or at[1] == c"o") else -1


cdef bint _follows(str before, Path *path, Py_ssize_t holder) except -1:
    """Return True if the block before, in none of its parts, stands in the element that holds a list.

    `holder` is the length of that element's path.
    """
    cdef Path other = _path(before)
    if path.length == other.length and not memcmp(path.data, other.data, path.length):
        return False
    if other.length <= holder or other.data[holder] != c"/" or memcmp(path.data, other.data, holder):
        return False
    return memchr(other.data + holder + 1, c"/", other.length - holder - 1) == NULL


cdef bint _is_in(str path, Path *item) except -1:
    """Return True for a path of items, or of what is in one."""
    cdef Path other = _path(path)
    if other.length < item.length or memcmp(other.data, item.data, item.length):
        return False
    return other.length == item.length or other.data[item.length] == c"/"


cdef bint _is_of_links(tuple texts, tuple linked, tuple hidden, Py_ssize_t first, Py_ssize_t end) except -1:
    """Return True for blocks that are shown and linked."""
    cdef Py_ssize_t block, characters = 0, in_links = 0
    for block in range(first, end):
        if hidden[block]:
            return False
        characters += len(<str> texts[block])
        in_links += linked[block]
    return in_links >= MIN_LINKED * characters
