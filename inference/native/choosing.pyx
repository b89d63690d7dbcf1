# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Choice of a page's blocks by their probabilities: the loops of `dehusk.inference.selection.selection`."""

from libc.math cimport rint
from libc.stdint cimport int32_t, uint8_t, uint32_t

from dehusk.inference.native.buffer cimport Buffer, free, more

import numpy as np


def are_probabilities(const float[::1] values) -> bool:
    """Return True if all are from 0 to 1; NaN is not."""
    cdef Py_ssize_t block
    cdef bint found = True
    for block in range(len(values)):
        found = found and 0 <= values[block] <= 1
    return found


def rounded(const float[::1] probabilities, int digits) -> object:
    """Return the probabilities, rounded to `digits` decimals."""
    cdef Py_ssize_t block
    cdef double scale = 10.0 ** digits
    found = np.empty(len(probabilities), np.float64)
    cdef double[::1] column = found
    for block in range(len(probabilities)):
        column[block] = rint(probabilities[block] * scale) / scale
    return found


def likely_comments(
    const double[::1] comments,
    const uint32_t[::1] words,
    const int32_t[::1] alike,
    double likely,
    double among_likely,
) -> object:
    """Return the blocks that are likely to be comments.

    `among_likely` is enough where the mean of the blocks alike, weighted by words, is likely. `alike` has for each
    the index of the first one that it is like. ValueError if the columns are not of the same blocks.
    """
    cdef Py_ssize_t block, count = len(comments)
    cdef int32_t kind
    if not len(words) == len(alike) == count:
        raise ValueError(f"a mismatch: {count} probabilities of comments, {len(words)} blocks")
    found = np.empty(count, np.bool_)
    cdef uint8_t[::1] column = found.view(np.uint8)
    cdef double least
    cdef double[:, ::1] sums = np.zeros((count, 2))
    for block in range(count):
        kind = alike[block]
        if not 0 <= kind < count:
            raise ValueError(f"block {block} is like block {kind} of {count}")
        sums[kind, 0] += words[block] + 1
        sums[kind, 1] += (words[block] + 1) * comments[block]
    for block in range(count):
        kind = alike[block]
        least = among_likely if sums[kind, 1] >= likely * sums[kind, 0] else likely
        column[block] = comments[block] >= least
    return found


def headings_within(
    const uint8_t[::1] headings,
    const uint8_t[::1] content,
    const double[::1] probabilities,
    const uint8_t[::1] hidden,
    const int32_t[::1] repeat,
    double least,
) -> object:
    """Return the headings that are left out between blocks of content, though their probability is `least` or more.

    The next block that is no such heading is content, and some block before; neither hidden headings nor copies are
    returned. ValueError if the columns are not of the same blocks.
    """
    cdef Py_ssize_t count = len(headings), block, first = 0
    cdef bint goes_with = False
    if not len(content) == len(probabilities) == len(hidden) == len(repeat) == count:
        raise ValueError(f"a mismatch: {count} headings, {len(content)} blocks")
    found = np.zeros(count, np.bool_)
    cdef uint8_t[::1] column = found.view(np.uint8)
    while first < count and not content[first]:
        first += 1
    for block in range(count - 1, first, -1):
        if headings[block] and not content[block]:
            column[block] = goes_with and probabilities[block] >= least and not hidden[block] and repeat[block] < 0
        else:
            goes_with = content[block] and not headings[block]
    return found


def symbols_within(
    const uint32_t[::1] words,
    const uint8_t[::1] content,
    const double[::1] probabilities,
    const int32_t[::1] repeat,
    double least,
) -> object:
    """Return the blocks without words that are left out between blocks of content.

    The F1 of words, by which content is chosen, says nothing of braces in code and signs in cells. Their probability is
    `least` or more, and copies are not returned. ValueError if the columns are not of the same blocks.
    """
    cdef Py_ssize_t count = len(words), block, each, first = 0
    if not len(content) == len(probabilities) == len(repeat) == count:
        raise ValueError(f"a mismatch: {count} numbers of words, {len(content)} blocks")
    found = np.zeros(count, np.bool_)
    cdef uint8_t[::1] column = found.view(np.uint8)
    for block in range(count):
        if not words[block] and not content[block]:
            continue
        if first and content[first - 1] and content[block]:
            for each in range(first, block):
                column[each] = probabilities[each] >= least and repeat[each] < 0
        first = block + 1
    return found


def leave_repeats_out(double[::1] probabilities, const int32_t[::1] repeat, double better) -> None:
    """Set all but one copy of each repeated block to 0; the first is kept if its probability is at least `better`."""
    cdef Buffer copies = Buffer(NULL, 0, 0)
    cdef Py_ssize_t count = len(repeat), block
    cdef int32_t *first
    cdef int32_t *chosen
    cdef int32_t root, best
    for block in range(count):
        if repeat[block] >= 0:
            break
    else:
        return
    try:
        first = <int32_t *> more(&copies, 2 * count * sizeof(int32_t))
        chosen = first + count
        for block in range(count):
            first[block] = chosen[block] = block
            if repeat[block] < 0:
                continue
            root = first[block] = first[repeat[block]]
            best = chosen[root]
            if probabilities[best] >= min(better, probabilities[block]):
                probabilities[block] = 0
            else:
                probabilities[best], chosen[root] = 0, block
    finally:
        free(&copies)


def expected_words(const double[::1] probabilities, const uint32_t[::1] words) -> float:
    """Return the expected number of words of content."""
    cdef Py_ssize_t block
    cdef double expected = 0
    for block in range(len(words)):
        expected += probabilities[block] * words[block]
    return expected


def expected_f1_of(const double[::1] probabilities, const uint32_t[::1] words, const uint8_t[::1] content) -> object:
    """Return the F1 that is expected of the words of this content; None without any."""
    cdef Py_ssize_t block
    cdef double kept = 0, right = 0
    if not len(words) == len(content) == len(probabilities):
        raise ValueError(f"a mismatch: {len(probabilities)} probabilities of {len(words)} blocks")
    for block in range(len(words)):
        if content[block]:
            right += probabilities[block] * words[block]
            kept += words[block]
    return 2 * right / (kept + expected_words(probabilities, words)) if kept else None


def most_probable(const double[::1] probabilities, const uint32_t[::1] words) -> float:
    """Return the probability of the most probable block that has words; 0 where there is none."""
    cdef Py_ssize_t block
    cdef double most = 0
    for block in range(len(words)):
        if words[block] and probabilities[block] > most:
            most = probabilities[block]
    return most


def best_expected_f(
    const double[::1] probabilities, const uint32_t[::1] words, double expected, double beta
) -> float:
    """Return the greatest expected F-beta of the words of any blocks, `expected` words being content in all.

    The blocks that raise an F are those whose probability is above its part of 1 + beta²: half of an F1. Those of the
    greatest one so far have a greater one, until it is the greatest of all: after a few steps (Dinkelbach's method).
    """
    cdef Py_ssize_t block
    cdef double best = 0, found = -1, right, kept, weight = beta * beta
    while best > found:
        found, right, kept = best, 0, 0
        for block in range(len(words)):
            if probabilities[block] > found / (1 + weight):
                right += probabilities[block] * words[block]
                kept += words[block]
        best = (1 + weight) * right / (kept + weight * expected)
    return found
