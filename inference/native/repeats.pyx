# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Runs of blocks that a page repeats: menus for small screens, slides shown twice, quoted answers."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

import numpy as np

from dehusk.inference.native.buffer cimport Buffer, free
from dehusk.inference.native.table cimport ABSENT, Table, at, make

cdef enum:
    RUN_WORDS = 12  # fewer may be chance
    CHOICES = 6  # of the blocks with the same words, so many of the last may begin or continue a run


cdef uint32_t MIN_REPEATED_WORDS = 30  # of fewer, a run may be meant: the same parameter of two functions, a refrain
cdef int NEAR = 10  # blocks within which a block that repeats one of its kind is meant: a refrain, an example


cdef struct Run:
    int32_t earlier  # the block that its last block repeats
    int32_t length
    uint32_t words


cdef struct Runs:
    Run[CHOICES] runs
    int count


def find_repeats(const uint32_t[::1] words, const uint32_t[::1] counts) -> tuple:
    """Return the blocks that a page repeats, as four columns.

    The number of blocks of the page with the same words; of the largest run of blocks that repeat earlier ones,
    the block that this one repeats, or -1 where the run is short, and the words of the run; the words of the
    largest run that repeats this block.
    """
    cdef Py_ssize_t count = len(counts), block
    copies, sources = np.empty(count, np.int32), np.full(count, ABSENT, np.int32)
    repeating, repeated = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
    cdef int32_t[::1] previous = _previous(words, counts, copies), source_column = sources
    cdef uint32_t[::1] repeating_column = repeating, repeated_column = repeated
    cdef Runs running, going_on
    running.count = 0
    for block in range(count):
        going_on = _go_on(&running, block, previous, counts[block])
        _end(&running, block, source_column, repeating_column, repeated_column)
        running = going_on
    _end(&running, count, source_column, repeating_column, repeated_column)
    for block in range(count):
        if repeating_column[block] < RUN_WORDS:
            source_column[block] = ABSENT
    return copies, sources, repeating, repeated


def redundant(
    const int32_t[::1] repeats,
    const uint32_t[::1] repeating,
    const int32_t[::1] alike,
    const uint8_t[:, ::1] features,
    Py_ssize_t in_cell,
    const uint32_t[::1] counts,
    const uint8_t[::1] code,
) -> object:
    """Return the block that each repeats in a long run, or -1 for none and for intended repetitions.

    Intended are those that repeat a block of the same kind nearby, or alone, or in a cell, such as the parameter
    of two functions, and runs that are short without the code in them. `alike` and `features`, whose column
    `in_cell` tells the blocks in cells, and `code`, which is 1 for code that is shown, are None where the kinds
    are not known; `counts` are the words of each block.
    """
    cdef Py_ssize_t count = len(repeats), block, begin = 0
    cdef int32_t earlier
    cdef uint32_t words = 0
    cdef bint has_code = False
    found = np.empty(count, np.int32)
    cdef int32_t[::1] column = found
    for block in range(count):
        earlier = repeats[block] if repeating[block] >= MIN_REPEATED_WORDS else ABSENT
        if earlier != ABSENT and alike is not None and alike[block] == alike[earlier]:
            if block - earlier <= NEAR or features[block, in_cell] or not _is_in_run(block, repeats):
                earlier = ABSENT
        column[block] = earlier
    for block in range(count if code is not None else 0):
        if block == begin or repeats[block] == ABSENT or repeats[block] != repeats[block - 1] + 1:
            begin, words, has_code = block, 0, False
        if code[block] and repeats[block] != ABSENT and code[repeats[block]]:
            has_code = True
        else:
            words += counts[block]
        if has_code and words < MIN_REPEATED_WORDS and (
            block == count - 1 or repeats[block + 1] == ABSENT or repeats[block + 1] != repeats[block] + 1
        ):
            column[begin : block + 1] = ABSENT
    return found


cdef bint _is_in_run(Py_ssize_t block, const int32_t[::1] repeats) noexcept:
    """Return True if the block before or after one repeats the block before or after the same one."""
    cdef int32_t earlier = repeats[block]
    return (block > 0 and repeats[block - 1] != ABSENT and repeats[block - 1] == earlier - 1) or (
        block + 1 < len(repeats) and repeats[block + 1] == earlier + 1
    )


cdef Runs _go_on(Runs *running, int32_t block, int32_t[::1] previous, uint32_t words) noexcept:
    """Return the runs that a block continues, which are marked as such, and those that it begins."""
    cdef Runs going_on
    cdef int32_t earlier = previous[block]
    cdef Run *run
    cdef int index
    going_on.count = 0
    while earlier != ABSENT and words and going_on.count < CHOICES:
        run = &going_on.runs[going_on.count]
        run.earlier, run.length, run.words = earlier, 1, words
        for index in range(running.count):
            if running.runs[index].length and running.runs[index].earlier == earlier - 1:
                run.length += running.runs[index].length
                run.words += running.runs[index].words
                running.runs[index].length = 0
        going_on.count += 1
        earlier = previous[earlier]
    return going_on


cdef void _end(
    Runs *running, int32_t block, int32_t[::1] sources, uint32_t[::1] repeating, uint32_t[::1] repeated
) noexcept:
    """Record the runs that end before a block, the one that repeats the earliest blocks first."""
    cdef Run *run
    cdef int32_t index, back, here
    for index in range(running.count - 1, -1, -1):
        run = &running.runs[index]
        for back in range(run.length):
            here = block - 1 - back
            if repeating[here] < run.words:
                repeating[here], sources[here] = run.words, run.earlier - back
            repeated[run.earlier - back] = max(repeated[run.earlier - back], run.words)


cdef int32_t[::1] _previous(const uint32_t[::1] words, const uint32_t[::1] counts, int32_t[::1] copies):
    """Return, per block, the last one before it with the same words, or ABSENT; write their numbers to `copies`."""
    cdef Py_ssize_t block
    cdef size_t word = 0, end = 0
    cdef uint64_t key
    cdef Table last = Table(Buffer(NULL, 0, 0), 0)
    cdef int32_t *found
    cdef int32_t[::1] previous = np.empty(len(counts), np.int32)
    try:
        make(&last, len(counts))
        for block in range(len(counts)):
            key = 0
            end += counts[block]
            for word in range(word, end):
                key = (key ^ words[word]) * <uint64_t> 0x9E3779B97F4A7C15
                key ^= key >> 29
            word = end
            found = at(&last, key)
            previous[block] = found[0]
            copies[block] = 1 if found[0] == ABSENT else copies[found[0]] + 1
            found[0] = block
        for block in range(len(counts) - 1, -1, -1):
            if previous[block] != ABSENT:
                copies[previous[block]] = copies[block]
        return previous
    finally:
        free(&last.memory)
