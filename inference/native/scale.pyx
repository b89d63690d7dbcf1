# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Columns as bytes: each range of `dehusk.inference.encoding.features` is mapped onto 0 … 255."""

import secrets

from libc.math cimport floor, log1p, rint
from libc.stdint cimport uint8_t

import numpy as np

from dehusk.inference.encoding import features

MAX_LOGARITHM = features.LOGARITHM[1]
for _value in range(COMMON):
    LOGARITHMS[_value] = <uint8_t> floor(min(log1p(_value) / MAX_LOGARITHM, 1.0) * 255 + 0.5)
SEED[0], SEED[1] = secrets.randbits(64), secrets.randbits(64)


def columns_of(list values not None, const double[::1] lowest, const double[::1] steps) -> object:
    """Return values of a page as bytes, in steps above the lowest of each range; those outside are clipped."""
    cdef Py_ssize_t column
    if not len(values) == len(lowest) == len(steps):
        raise ValueError(f"{len(values)} values for {len(lowest)} columns")
    found = np.empty(len(values), np.uint8)
    cdef uint8_t[::1] columns = found
    for column in range(len(values)):
        columns[column] = <uint8_t> min(max(rint((<double> values[column] - lowest[column]) * steps[column]), 0), 255)
    return found
