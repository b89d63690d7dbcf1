"""Paths of objects in stores, which are read as files are."""

import io
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Timer
from typing import BinaryIO, Protocol
from urllib.parse import quote, urlsplit

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.settings import KIB, MIB
from dehusk.streams.stores.errors import StoreError, shown
from dehusk.streams.stores.piece import Piece

CLOUDS = ("s3", "gs")
"""Schemes of stores with buckets."""
_WEB = ("http", "https")
_SCHEMES = (*CLOUDS, *_WEB, "webhdfs", "hdfs")
_URL = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
PATIENCE_SECONDS = 60.0
"""Time for which commands ask a store again that does not answer."""
_OF_URLS = "/%?&=+,;:@!$'()*~"
"""Characters of a web address that stay as they are."""
_SILENT_SECONDS = 3.0
_FIRST_BYTES, _MOST_BYTES = 256 * KIB, 4 * MIB
"""Bytes of a request: each that goes on where the one before ended is twice as large."""

_log = logging.getLogger(__name__)


class Store(Protocol):
    """A bucket or server with objects."""

    def fetch(self, key: str, begin: int, end: int) -> Piece:
        """Return a part of an object, whose end may lie behind that of the object."""
        ...

    def list(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield key and size of each object below a folder."""
        ...


@dataclass(frozen=True, slots=True)
class Access:
    """Rules of the way to a store."""

    patience: float = PATIENCE_SECONDS
    """Time in seconds for which a store that does not answer is asked again."""
    root: str = ""
    """URL of a folder; redirects that do not lead below it are refused. Empty to follow any."""


@dataclass(frozen=True, slots=True)
class StoredPath:
    """Path of an object, or of a folder of some, whose URL ends with a slash."""

    url: str
    access: Access = Access()
    size: int | None = None
    """Bytes of the object, where a list has told them."""

    def __str__(self) -> str:
        return shown(self.url)

    @property
    def name(self) -> str:
        """Last part of the path."""
        return str(self).rstrip("/").rpartition("/")[2]

    def exists(self) -> bool:
        """Return True if there is such an object, or any in the folder.

        Raises:
            StoreError: the store says why it cannot be read.
            StoreAwayError: the store does not answer.
        """
        if self.is_dir():
            return any(True for _ in self.files())
        self.measure()
        return True

    def is_dir(self) -> bool:
        """Return True for a folder."""
        return self.url.endswith("/")

    def is_file(self) -> bool:
        """Return True for an object."""
        return not self.is_dir()

    def files(self) -> Iterator["StoredPath"]:
        """Yield the object itself, or all below the folder.

        Raises:
            StoreError: the store says why they cannot be listed.
            StoreAwayError: the store does not answer.
        """
        if not self.is_dir():
            yield self
            return
        for name, size in _listed(self):
            yield StoredPath(f"{self.url}{name}", self.access, size)

    def measure(self) -> int:
        """Return the bytes of the object.

        Raises:
            StoreError: the store says why it cannot be read.
            StoreAwayError: the store does not answer.
        """
        return _measured(self) if self.size is None else self.size

    def fetch(self, begin: int, end: int) -> Piece:
        """Return a part of the object, whose end may lie behind that of the object.

        Raises:
            StoreError: the store says why it cannot be read.
            StoreAwayError: the store does not answer.
        """
        store, key = _located(self)
        return store.fetch(key, begin, end)

    def connect(self) -> None:
        """Open the store, without asking it for anything.

        Raises:
            ConfigurationError: the URL or the settings of the store do not fit.
        """
        _located(self)

    def open(self, begin: int = 0, length: int | None = None) -> BinaryIO:
        """Open the object for reading from an offset on, to its end or for so many bytes.

        Raises:
            StoreError: the store says why it cannot be read.
            StoreAwayError: the store does not answer.
        """
        return io.BufferedReader(StoredFile(self, begin, length))


class StoredFile(io.RawIOBase):
    """An object as a file, of which memory holds one piece."""

    def __init__(self, path: StoredPath, begin: int = 0, length: int | None = None) -> None:
        super().__init__()
        self._path = path
        self._asked = _FIRST_BYTES if length is None else min(max(length, 1), _MOST_BYTES)
        self._start = self._begin = self._position = begin
        self._piece = path.fetch(begin, begin + self._asked)
        self._end = self._piece.size if length is None else min(self._piece.size, begin + length)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte that is read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position of the next byte that is read, and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._end}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # narrower than any buffer
        """Write bytes to the buffer, and return their number; 0 at the end.

        Raises:
            StoreError: the object has changed, or the store says why it cannot be read.
            StoreAwayError: the store does not answer.
        """
        if self._position >= self._end:
            return 0
        if not 0 <= self._position - self._begin < len(self._piece.data):
            self._load()
        at = self._position - self._begin
        data = memoryview(self._piece.data)[at : min(at + len(buffer), self._end - self._begin)]
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _load(self) -> None:
        follows = self._position == self._begin + len(self._piece.data)
        self._asked = min(2 * self._asked, _MOST_BYTES) if follows else _FIRST_BYTES
        begin = self._position if follows else min(self._position, max(self._start, self._end - _FIRST_BYTES))
        self._piece = replace(self._piece, data=b"")
        piece = self._path.fetch(begin, min(begin + self._asked, self._end))
        if (piece.size, piece.version) != (self._piece.size, self._piece.version):
            raise StoreError(f"{self._path} has changed while it was read")
        self._begin, self._piece = begin, piece


InputPath = Path | StoredPath
"""Path of a file, or of an object in a store."""


@contextmanager
def told_of_waiting(path: InputPath) -> Iterator[None]:
    """Tell the user of a store that does not answer for some seconds."""
    if not isinstance(path, StoredPath):
        yield
        return
    words = "waiting for %s: its store is asked again for %.0f s at most"
    timer = Timer(_SILENT_SECONDS, _log.warning, (words, path, path.access.patience))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def canonical(url: str) -> str:
    """Return a URL with its scheme in lower case; `s3a`, as Hadoop writes it, becomes `s3`."""
    scheme = _URL.match(url)
    if scheme is None:
        return url
    name = scheme[1].lower()
    return f"{'s3' if name == 's3a' else name}://{url[scheme.end() :]}"


def stored_path(text: str) -> StoredPath | None:
    """Return the path of a URL, whose store is not asked for anything; None if it is the path of a file.

    Raises:
        ConfigurationError: the URL, or the settings of its store, do not fit.
    """
    if not _URL.match(text):
        return None
    url = canonical(text)
    scheme = url.partition("://")[0]
    if scheme not in _SCHEMES:
        known = "URLs begin with s3://, gs://, https://, http:// or webhdfs://, and files are named by a path"
        raise ConfigurationError(f"{scheme}://… cannot be read: {known}")
    path = StoredPath(url)
    path.connect()
    return path


@cache
def _listed(folder: StoredPath) -> Sequence[tuple[str, int]]:
    """Return name and size of each object below a folder, which are the same while this process runs."""
    store, key = _located(folder)
    return tuple((name.removeprefix(key), size) for name, size in store.list(key.rstrip("/")))


@cache
def _measured(path: StoredPath) -> int:
    return path.fetch(0, 1).size


@cache
def _open_store(url: str, access: Access) -> Store:
    """Open the bucket or server of this URL.

    Raises:
        ConfigurationError: it is no such URL, or the settings of the store do not fit.
    """
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise ConfigurationError(f"{shown(url)} is no URL: {error}") from error
    if scheme == "hdfs":
        raise ConfigurationError(f"{shown(url)}: HDFS is read by WebHDFS, as webhdfs://NAMENODE:9870/PATH")
    if scheme in {*_WEB, "webhdfs"}:
        from dehusk.streams.stores.web import WebHdfs, WebServer  # noqa: PLC0415 it takes time to load

        is_hdfs = scheme == "webhdfs"
        return WebHdfs(url, access.patience) if is_hdfs else WebServer(url, access.patience, access.root)
    from dehusk.streams.stores.cloud import Bucket  # noqa: PLC0415 it needs the extra `stores`

    return Bucket(url, access.patience)


def _located(path: StoredPath) -> tuple[Store, str]:
    """Return the store of an object, and its key there."""
    scheme, _, rest = path.url.partition("://")
    place, _, key = rest.partition("/")
    if not place:
        raise ConfigurationError(f"{path} has no host or bucket")
    user, at, _ = place.rpartition("@")
    if at and (scheme != "webhdfs" or ":" in user):
        raise ConfigurationError(f"{path}: the URL has a user or a password, which is not read: remove it")
    if scheme in _WEB:
        key = quote(key, safe=_OF_URLS)
    elif "//" in f"/{key}":
        raise ConfigurationError(f"{path}: no part of the path of an object may be empty")
    return _open_store(f"{scheme}://{place}", path.access), key
