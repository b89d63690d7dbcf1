# cython: language_level=3, cdivision=True
"""Columns as bytes: each range of `inference.features` is mapped onto 0 … 255."""

import secrets

from libc.math cimport floor, log1p
from libc.stdint cimport uint8_t, uint64_t

from inference import features

cdef enum:
    COMMON = 4096

cdef double _most = features.LOGARITHM[1]
cdef uint8_t[COMMON] _logarithms
for _value in range(COMMON):
    _logarithms[_value] = <uint8_t> floor(min(log1p(_value) / _most, 1.0) * 255 + 0.5)
SEED[0], SEED[1] = secrets.randbits(64), secrets.randbits(64)


cdef uint8_t logarithm(double value) noexcept nogil:
    """The natural logarithm of 1 + a count, in `LOGARITHM`."""
    if value < COMMON and value == <int> value:
        return _logarithms[<int> value]
    return share(log1p(value) / _most)


cdef uint8_t share(double value) noexcept nogil:
    """A value in `SHARE`."""
    return between(value, 0.0, 1.0)


cdef uint8_t between(double value, double low, double high) noexcept nogil:
    """A value in a range; those outside are clipped."""
    cdef double scaled = (value - low) / (high - low) * 255
    if not scaled > 0:
        return 0
    return <uint8_t> floor(scaled + 0.5) if scaled < 255 else 255
