"""Files that strangers wrote, opened with care: no links, no devices, nothing without a bound."""

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO

from dehusk.streams.models.faults import Fault, FaultError

MOST_BYTES = 1 << 30
"""Largest model file; protobuf and gRPC end at twice that."""
MOST_TEXT_BYTES = 1 << 24
"""Largest file of the others: card, golden answers, configuration."""


def open_plain(file: Path, most_bytes: int) -> BinaryIO:
    """A regular file for reading; a pipe or device is not waited for.

    Raises:
        FaultError: it is missing, a link, no file, or too large.
    """
    try:
        opened = os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError as error:
        raise _fault(file, error) from error
    try:
        _check(file, os.fstat(opened.fileno()), most_bytes)
    except BaseException:
        opened.close()
        raise
    return opened


def read_plain(file: Path, most_bytes: int) -> bytes:
    """What a regular file holds.

    Raises:
        FaultError: see `open_plain`; or it grew meanwhile.
    """
    with open_plain(file, most_bytes) as opened:
        content = opened.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise _too_large(file, len(content), most_bytes)
    return content


def sha256(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _check(file: Path, found: os.stat_result, most_bytes: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise FaultError(Fault.NOT_A_FILE, f"{file} is no regular file")
    if found.st_size > most_bytes:
        raise _too_large(file, found.st_size, most_bytes)


def _too_large(file: Path, size: int, most_bytes: int) -> FaultError:
    return FaultError(Fault.TOO_LARGE, f"{file} has {size:,} bytes; {most_bytes:,} are read at most")


def _fault(file: Path, error: OSError) -> FaultError:
    match error.errno:
        case errno.ELOOP:
            return FaultError(Fault.SYMBOLIC_LINK, f"{file} is a symbolic link; give the file itself")
        case errno.ENOENT | errno.ENOTDIR:
            return FaultError(Fault.MISSING_FILE, f"{file} is missing")
        case errno.EISDIR | errno.ENXIO:
            return FaultError(Fault.NOT_A_FILE, f"{file} is no regular file")
        case _:
            return FaultError(Fault.MISSING_FILE, f"{file} cannot be read: {error.strerror}")
