"""Memory of a process: its limits, what stays out of its heap, and when free memory of that is returned."""

import asyncio
import ctypes
import logging
import resource
from collections.abc import Iterator
from pathlib import Path

from dehusk.streams.settings import MIB

_RELEASE_SECONDS = 1.0
_MANY_BYTES = 4 * MIB
"""Bytes within two intervals of `_RELEASE_SECONDS` from which free memory is returned."""
_LIBC = ctypes.CDLL(None)
_MALLOC_OPTIONS = {-1: 64 * MIB, -3: 8 * MIB, -8: 2}
"""Options of glibc's `mallopt`: M_TRIM_THRESHOLD, the free bytes that may stay at the end of the heap;
M_MMAP_THRESHOLD, the size from which memory lies outside the heap and is returned at once; M_ARENA_MAX, the
number of heaps. What Kafka sends at once, some 5 MiB where 4 are asked for, stays in the heap, whose pages
need not be mapped anew each time."""
_GROUPS = Path("/proc/self/cgroup")
_HIERARCHIES = Path("/sys/fs/cgroup")
_WORKER_BYTES = 256 * MIB
"""Memory below which a worker may not even clean small pages, with one process."""
_log = logging.getLogger(__name__)


def warn_of_little_memory() -> None:
    """Warn if a control group limits the memory of this process to less than a worker takes."""
    limit = min(_memory_limits(), default=None)
    if limit is not None and limit < _WORKER_BYTES:
        _log.warning(
            "a control group limits the memory of this worker to %d MiB, and it needs %d MiB at least: raise "
            "the limit, or the kernel may kill it without a word",
            limit // MIB,
            _WORKER_BYTES // MIB,
        )


def _memory_limits() -> Iterator[int]:
    """Yield the limits of the control groups that this process is in, and of those around them."""
    for line in _read_if_allowed(_GROUPS).splitlines():
        _number, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            root, name = _HIERARCHIES, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = _HIERARCHIES / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        for each in (group, *group.parents):
            limit = _read_if_allowed(each / name).strip() if each.is_relative_to(root) else ""
            if limit.isdecimal():
                yield int(limit)


def _read_if_allowed(file: Path) -> str:
    """Return the text of a file, empty if the system does not have it, or hides it from this process."""
    try:
        return file.read_text()
    except OSError:
        return ""


def configure_malloc() -> None:
    """Keep huge messages out of the heap, which hardly returns freed memory."""
    if hasattr(_LIBC, "mallopt"):  # as glibc has it
        for option, value in _MALLOC_OPTIONS.items():
            _LIBC.mallopt(option, value)


class Heap:
    """Heap of this process, whose free memory is returned once much has been processed.

    Pages of some hundred kB to some MB leave gaps between what is kept, and the heap grows by them.
    """

    def __init__(self) -> None:
        self._bytes = 0
        """Bytes since the end of the last interval."""
        self._bytes_before = 0
        """Bytes in the last interval."""

    def note(self, size: int) -> None:
        """Note that so many bytes were processed; they are freed some time later, once they are delivered."""
        self._bytes += size

    async def run(self) -> None:
        """Return free memory at most once a second, until cancelled."""
        while True:
            await asyncio.sleep(_RELEASE_SECONDS)
            if self.end_interval():
                await asyncio.to_thread(release_free_memory)

    def end_interval(self) -> bool:
        """End an interval; return True if many bytes were processed in it and the one before."""
        many = self._bytes + self._bytes_before >= _MANY_BYTES
        self._bytes, self._bytes_before = 0, self._bytes
        return many


def within_hard_limit(kind: int, wanted: int) -> int:
    """Return a limit of a kind such as `resource.RLIMIT_DATA`, at most the hard one of this process."""
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def limit_data(most: int) -> None:
    """Limit the data of this process, which may be raised again up to its hard limit."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (within_hard_limit(resource.RLIMIT_DATA, most), hard))


def release_free_memory() -> None:
    """Return free memory within the heap to the system, e.g. after a huge message."""
    if hasattr(_LIBC, "malloc_trim"):
        _LIBC.malloc_trim(0)
