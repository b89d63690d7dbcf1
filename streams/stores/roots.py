"""Folders below which messages may name files or objects, and nothing beside them."""

import re
import time
from dataclasses import dataclass, field
from typing import BinaryIO
from urllib.parse import unquote

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.stores.errors import (
    NoBucketError,
    NotStoredError,
    StoreAwayError,
    StoreError,
    is_below,
    shown,
)
from dehusk.streams.stores.stored import Access, InputPath, StoredPath, canonical, told_of_waiting

MESSAGE_SECONDS = 2.0
"""Time for which a store is asked again for what a message names; then the message waits."""
_AWAY_SECONDS = 5.0
"""Time for which a store that did not answer is not asked, as each message would find out the same."""
_NOTHING = ".dehusk"
"""Name of an object that there is not, which tells whether there is its bucket."""
_MOST_OFFSET = 1 << 62
_FILE = re.compile(r"file://(?:localhost)?(?=/)", re.IGNORECASE)


@dataclass(slots=True)
class Root:
    """A folder on this machine or in a store."""

    place: InputPath
    _away: tuple[float, str] = field(default=(0.0, ""), init=False, repr=False)
    """The end of the time in which the store is not asked, and the reason."""

    @classmethod
    def of(cls, place: InputPath, patience: float = MESSAGE_SECONDS) -> "Root":
        """Return the root at a path or URL.

        A store that does not answer is asked again for `patience` seconds.

        Raises:
            ConfigurationError: the URL, or the settings of its store, do not fit.
        """
        if not isinstance(place, StoredPath):
            return cls(place.absolute())
        if place.url.startswith("http") and "?" in place.url:
            raise ConfigurationError(f"{place}: the URL of a folder has no query")
        url = f"{place.url.rstrip('/')}/"
        path = StoredPath(url, Access(patience, url))
        path.connect()
        return cls(path)

    def __str__(self) -> str:
        return str(self.place)

    def require(self) -> None:
        """Check that the bucket of a root in a store exists.

        Raises:
            ConfigurationError: it does not.
            StoreAwayError: the store does not answer.
        """
        if not isinstance(self.place, StoredPath):
            return
        try:
            with told_of_waiting(self.place):
                StoredPath(f"{self.place.url}{_NOTHING}", self.place.access).fetch(0, 1)
        except NoBucketError as error:
            raise ConfigurationError(str(error)) from error
        except StoreError:  # there is no such object, or it may not be read
            pass

    def below(self, reference: str) -> str | None:
        """Return the name below this root of an absolute path or URL; None if that lies elsewhere."""
        if isinstance(self.place, StoredPath):
            url = canonical(reference)
            return url.removeprefix(self.place.url) if url.startswith(self.place.url) else None
        path = unquote(_FILE.sub("", reference)) if _FILE.match(reference) else reference
        folder = f"{str(self.place).rstrip('/')}/"
        return path.removeprefix(folder) if path.startswith(folder) else None

    def shown(self, name: str) -> str:
        """Return a name below this root, or a URL, as messages show it: without what may be a secret."""
        is_whole = not isinstance(self.place, StoredPath) or "://" in name
        folder = "" if is_whole else str(self)
        return shown(f"{folder}{name}").removeprefix(folder)

    def open(self, name: str, begin: int = 0, length: int | None = None) -> BinaryIO:
        """Open the file or object of a name below this root, at an offset, to its end or for so many bytes.

        Raises:
            StoreError: the name leads elsewhere, or there is no such file or object, or it cannot be read.
            OSError: the file cannot be read.
            StoreAwayError: the store does not answer.
        """
        if not is_below(name):
            reason = "none of its parts may be empty, '.' or '..'"
            raise StoreError(f"{self.shown(name)!r} is no name below {self}: {reason}")
        if begin > _MOST_OFFSET:
            raise StoreError(f"{self.shown(name)!r} ends before the bytes that are asked for")
        if isinstance(self.place, StoredPath):
            return self._open_stored(StoredPath(f"{self.place.url}{name}", self.place.access), begin, length)
        path = self.place / name
        if not path.is_file():
            raise NotStoredError(f"there is no file {name!r} in {self}")
        file = path.open("rb")
        file.seek(begin)
        return file

    def _open_stored(self, path: StoredPath, begin: int, length: int | None) -> BinaryIO:
        until, why = self._away
        if time.monotonic() < until:
            raise StoreAwayError(why)
        try:
            return path.open(begin, length)
        except StoreAwayError as error:
            self._away = (time.monotonic() + _AWAY_SECONDS, str(error))
            raise
