"""How the worker's own process gives memory back to the system."""

import ctypes
import sys

from dehusk.streams.settings import MIB

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_SETTINGS = {-1: 64 * MIB, -3: 4 * MIB, -8: 2}
"""Of glibc's `mallopt`: what may lie free at the end of the heap (M_TRIM_THRESHOLD), from what size on memory
lies outside it and is given back at once (M_MMAP_THRESHOLD), and how many heaps there are (M_ARENA_MAX)."""


def give_back_what_is_huge() -> None:
    """Keep huge messages out of the heap, where what is freed is hardly given back."""
    if _LIBC is not None and hasattr(_LIBC, "mallopt"):
        for parameter, value in _SETTINGS.items():
            _LIBC.mallopt(parameter, value)


def give_back_what_is_free() -> None:
    """Give back what is free between what is kept, as it is after a huge message."""
    if _LIBC is not None and hasattr(_LIBC, "malloc_trim"):
        _LIBC.malloc_trim(0)
