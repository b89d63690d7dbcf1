from libc.stdint cimport uint8_t, uint64_t

cdef uint64_t[2] SEED

cdef uint8_t logarithm(double value) noexcept nogil
cdef uint8_t between(double value, double low, double high) noexcept nogil
cdef uint8_t share(double value) noexcept nogil
