"""Steps of hashes of 64 bits."""

from libc.stdint cimport uint32_t, uint64_t


cdef inline uint64_t fnv(uint64_t state, uint32_t value) noexcept nogil:
    """The state of FNV-1a after a byte, or a character."""
    return (state ^ value) * <uint64_t> 0x100000001B3


cdef inline uint64_t mixed(uint64_t state) noexcept nogil:
    """The state after MurmurHash3's finalizer: every bit depends on all of them."""
    state = (state ^ state >> 33) * <uint64_t> 0xFF51AFD7ED558CCD
    state = (state ^ state >> 33) * <uint64_t> 0xC4CEB9FE1A85EC53
    return state ^ state >> 33
