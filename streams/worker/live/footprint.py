"""The memory of this process and all below it, as Linux tells it."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_KIB = 1024
_ENDED = (FileNotFoundError, ProcessLookupError)


@dataclass(frozen=True, slots=True)
class Footprint:
    """What processes hold."""

    bytes: int
    """What they share is counted once."""
    processes: int


def footprint(root: int | None = None) -> Footprint | None:
    """That of a process, by default this one, and all below it; None where the system does not tell."""
    process = os.getpid() if root is None else root
    if not Path(_PROC, str(process), "task", str(process), "children").exists():
        return None
    sizes = list(_sizes(process))
    return Footprint(sum(sizes), len(sizes))


def _sizes(process: int) -> Iterator[int]:
    """Bytes of a process and of each below it, without what ends meanwhile."""
    folder = _PROC / str(process)
    with suppress(*_ENDED):
        yield _proportional(folder / "smaps_rollup")
        for thread in (folder / "task").iterdir():
            for child in _children(thread):
                yield from _sizes(child)


def _children(thread: Path) -> list[int]:
    """The processes that a thread has started; none where it has ended."""
    try:
        return [int(child) for child in (thread / "children").read_text().split()]
    except _ENDED:
        return []


def _proportional(rollup: Path) -> int:
    """Bytes of a process, with its share of what it shares."""
    fields = dict(line.split(":", 1) for line in rollup.read_text().splitlines()[1:])
    return int(fields["Pss"].split()[0]) * _KIB
