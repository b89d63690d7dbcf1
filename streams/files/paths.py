"""Paths of an input: its files in the order in which they are read, their sizes, names and URLs."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.stores.errors import StoreError
from dehusk.streams.stores.stored import InputPath, StoredPath, told_of_waiting

STANDARD_INPUT = Path("-")
_BESIDE_DATA = frozenset({"_SUCCESS", "_metadata", "_common_metadata", "_temporary"})
"""Names of what Spark, Hadoop and others write beside their data, as are checksums, `.NAME.crc`."""


def require_path(path: InputPath) -> None:
    """Check that there is such a path.

    Raises:
        ConfigurationError: there is none, or its store does not give it.
        UnavailableError: its store does not answer.
    """
    try:
        with told_of_waiting(path):
            if path == STANDARD_INPUT or path.exists():
                return
    except StoreError as error:
        raise ConfigurationError(str(error)) from error
    except OSError as error:  # a folder on the way to it is closed
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    raise ConfigurationError(f"there is no file or directory {path}")


def input_files(paths: Sequence[InputPath]) -> Iterator[InputPath]:
    """Yield all files of an input, in the order in which they are read."""
    return chain.from_iterable(files_of(path, []) for path in paths)


def input_size(paths: Sequence[InputPath]) -> int | None:
    """Return the bytes of all files, as they lie on disk; None if one is a pipe, which has no size."""
    size = 0
    with suppress(StoreError):  # it is told when the store is read
        for file in input_files(paths):
            with suppress(OSError):
                if isinstance(file, StoredPath):
                    size += file.measure()
                    continue
                status = os.fstat(sys.stdin.fileno()) if file == STANDARD_INPUT else file.stat()
                if not stat.S_ISREG(status.st_mode):
                    return None
                size += status.st_size
    return size


def files_of(path: InputPath, unreadable: list[OSError]) -> Iterator[InputPath]:
    """Yield the file itself, or every file below the directory; links to directories are not followed.

    Below it, what engines write beside their data is passed over.
    """
    if isinstance(path, StoredPath):
        yield from (file for file in path.files() if all(map(_is_data, _below(file, path).split("/"))))
        return
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path, onerror=unreadable.append):
        folders[:] = sorted(filter(_is_data, folders))
        yield from (Path(folder, name) for name in sorted(filter(_is_data, names)))


def _is_data(name: str) -> bool:
    """Return False for a file or folder that an engine writes beside its data."""
    return name not in _BESIDE_DATA and not (name.startswith(".") and name.endswith(".crc"))


def _below(file: InputPath, folder: InputPath) -> str:
    """Return the name of an object below a folder, or nothing where the object itself was named."""
    return str(file).removeprefix(str(folder))


def name_of(path: InputPath) -> str:
    """Return the name of a file, as messages have it."""
    return str(path) if isinstance(path, StoredPath) else os.fsencode(path).decode(errors="replace")


def url_of(file: InputPath, path: InputPath, base_url: str) -> str:
    """Return the URL of a file, the same from wherever it is named; a link below the path is its own file."""
    if isinstance(file, StoredPath) or isinstance(path, StoredPath):
        name = _below(file, path) if path.is_dir() else file.name
        return f"{base_url.rstrip('/')}/{quote(name)}" if base_url else str(file)
    top, below = (path, file.relative_to(path)) if path.is_dir() else (path.parent, Path(file.name))
    if not base_url:
        return (top.resolve() / below).as_uri()
    return f"{base_url.rstrip('/')}/{quote(os.fsencode(below))}"
