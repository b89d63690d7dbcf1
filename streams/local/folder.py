"""The folder of a local stack: locked while the stack runs, and temporary unless it is to be kept."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "dehusk-stack-"
_LOCK = "lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, which the kernel releases however this process ends.

    Raises:
        BlockingIOError: another stack holds it.
    """
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed at the end; where its process is killed, the next one removes it."""
    _remove_abandoned()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        yield Path(folder)


def _remove_abandoned() -> None:
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError), locked(lock.parent):  # it is in use, another user's, or removed by another
            shutil.rmtree(lock.parent)
