# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The headings of a page: runs of blocks in one element."""

from libc.stdint cimport int32_t, uint8_t


def headings_of(
    const uint8_t[::1] levels,
    const int32_t[::1] parents,
    const int32_t[::1] elements,
    int max_level,
    Py_ssize_t most,
) -> list:
    """Return the first headings up to a level: the level, the first block, and the block after the last.

    `levels` and `parents` are of the elements, `elements` has the innermost one of each block. At most two blocks
    for each of the `most` headings are looked at.
    """
    cdef Py_ssize_t block, looked = 0, first = 0, end = -1
    cdef int32_t element, heading = -1
    cdef list found = []
    for block in range(len(elements)):
        element = elements[block]
        if not 0 < levels[element] <= max_level:
            continue
        if looked == 2 * most:
            break
        looked += 1
        while parents[element] >= 0 and levels[parents[element]]:
            element = parents[element]
        if element != heading or block != end:
            if heading >= 0:
                found.append((levels[heading], first, end))
            heading, first = element, block
        end = block + 1
    if heading >= 0:
        found.append((levels[heading], first, end))
    return found[:most]
