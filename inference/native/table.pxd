"""A hash table of numbers under 64-bit keys; nobody can foresee its slots, so no page can make them collide."""

from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset

from dehusk.inference.native.buffer cimport Buffer, more
from dehusk.inference.native.scale cimport SEED

cdef enum:
    ABSENT = -1


cdef struct Slot:
    uint64_t key
    int32_t value


cdef struct Table:  # memory is freed by who made it
    Buffer memory
    uint64_t mask


cdef inline int make(Table *table, size_t most) except -1:
    """Empty a table, with room for `most` keys."""
    cdef size_t slots = 8
    while slots < 2 * most:
        slots *= 2
    table.memory.used = 0
    memset(more(&table.memory, slots * sizeof(Slot)), 0xFF, slots * sizeof(Slot))
    table.mask = slots - 1
    return 0


cdef inline int32_t *at(Table *table, uint64_t key) noexcept nogil:
    """Return the place of a key's value: ABSENT where the key is new, to be set then."""
    cdef uint64_t position = (key ^ SEED[0]) * (SEED[1] | 1)
    cdef Slot *slot
    position = (position ^ position >> 32) * <uint64_t> 0x9E3779B97F4A7C15 >> 20 & table.mask
    while True:
        slot = <Slot *> table.memory.data + position
        if slot.value == ABSENT:
            slot.key = key
            return &slot.value
        if slot.key == key:
            return &slot.value
        position = position + 1 & table.mask
