from libc.math cimport log1p
from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    COMMON = 4096

cdef uint64_t[2] SEED
cdef double MAX_LOGARITHM
cdef uint8_t[COMMON] LOGARITHMS


cdef inline uint8_t logarithm(double value) noexcept nogil:
    """Return the natural logarithm of 1 + a count, in `LOGARITHM`."""
    if value < COMMON and value == <int> value:
        return LOGARITHMS[<int> value]
    return share(log1p(value) / MAX_LOGARITHM)


cdef inline uint8_t flag(bint is_so) noexcept nogil:
    """Return a flag in `SHARE`."""
    return 255 if is_so else 0


cdef inline uint8_t share(double value) noexcept nogil:
    """Return a value in `SHARE`."""
    return between(value, 0.0, 1.0)


cdef inline uint8_t between(double value, double low, double high) noexcept nogil:
    """Return a value in a range, clipped to it."""
    cdef double scaled = (value - low) / (high - low) * 255
    if not scaled > 0:
        return 0
    return <uint8_t> (scaled + 0.5) if scaled < 255 else 255
