"""Folders that are written, locked while a process uses them, and removed by another if it was killed."""

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.wording import printable

LOCK = "lock"
"""File in a folder that is locked while the folder is used."""
NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT))
"""Numbers of the errors of a file system without room."""


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Raise errors of the file system as dehusk's own while files below the folder are written.

    Raises:
        ConfigurationError: a file cannot be written; the message names it and says why.
    """
    try:
        yield
    except OSError as error:
        name = printable(str(error.filename or folder))
        raise ConfigurationError(f"cannot write {name}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, shutil.Error):  # of a copied tree: it has a reason for each file
        return str(error.args[0][0][-1])
    return error.strerror or str(error)


def temporary_files() -> Path:
    """Return the folder of temporary files, that of TMPDIR or the system's.

    Raises:
        ConfigurationError: there is none in which a file can be written.
    """
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"cannot write temporary files: {_reason(error)}; one of them, "
            "or one that TMPDIR names, must be writable and have room"
        ) from error


@contextmanager
def locked(folder: Path, lock: str = LOCK) -> Iterator[None]:
    """Hold the folder's lock, which the kernel releases however this process ends.

    Raises:
        BlockingIOError: another process holds it, or has removed it at its end.
    """
    with open(folder / lock, "a", opener=_open_file) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(file.fileno()).st_nlink:
            raise BlockingIOError
        yield


def _open_file(path: str, flags: int) -> int:
    """Open a file, but no link or pipe that another user may have laid in its place."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def claim(folder: Path, lock: str = LOCK) -> TextIO:
    """Lock a new folder until the returned file is closed; nobody finds the lock before it is held."""
    claiming = folder / "claiming"
    file = claiming.open("w")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    claiming.rename(folder / lock)
    return file


def is_unlocked(lock: Path) -> bool:
    """Return True if the process that locked this file has ended; False if the file is gone."""
    try:
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError):
        return False
    return True


def remove_abandoned(parent: Path, pattern: str, lock: str = LOCK) -> None:
    """Remove the folders of a pattern whose processes have ended; without a lock, a folder stays."""
    for file in parent.glob(f"{pattern}/{lock}"):
        with suppress(OSError), locked(file.parent, lock):  # in use, of another user, or removed meanwhile
            shutil.rmtree(file.parent)


@contextmanager
def claimed_folder(parent: Path, prefix: str, lock: str = LOCK) -> Iterator[Path]:
    """Yield a new folder that is removed at the end, or by the next call if this process is killed.

    It is locked until it is gone, so that no other process removes it meanwhile.

    Raises:
        ConfigurationError: it cannot be made.
    """
    with writing(parent):
        remove_abandoned(parent, f"{prefix}*", lock)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        claimed = claim(folder, lock)
    with claimed:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Return once the names of a folder's files are on the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
