"""Folders of local stacks: locked while the stack runs, and temporary unless they are to be kept."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError

_PREFIX = "dehusk-stack-"
_LOCK = "lock"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Translates what the file system refuses while files below the folder are written.

    Raises:
        ConfigurationError: a file cannot be written; the message names it and says why.
    """
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"cannot write {error.filename or folder}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, shutil.Error):  # of a tree that was copied: a reason for each of its files
        return str(error.args[0][0][-1])
    return error.strerror or str(error)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, which the kernel releases however this process ends.

    Raises:
        BlockingIOError: another stack holds it.
    """
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def is_unlocked(lock: Path) -> bool:
    """Whether the process that locked this file has ended; False where the file is gone."""
    try:
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError):
        return False
    return True


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed at the end; where its process is killed, the next one removes it."""
    with writing(Path("a temporary folder")):
        _remove_abandoned()
        folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
    with folder as name:
        yield Path(name)


def _remove_abandoned() -> None:
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError), locked(lock.parent):  # it is in use, another user's, or removed by another
            shutil.rmtree(lock.parent)
