"""Errors of stores, and the names of their objects."""

from urllib.parse import unquote, urlsplit, urlunsplit

from dehusk.schemas.errors import UnavailableError


class StoreError(OSError):
    """An object that cannot be read, however often it is tried; the message names it and says why."""


class NotStoredError(StoreError):
    """An object that does not exist."""


class NoBucketError(NotStoredError):
    """A bucket that does not exist, with whatever is looked for in it."""


class StoreAwayError(UnavailableError):
    """A store that did not answer, however often it was asked, or takes no credentials of this process."""


def shown(url: str) -> str:
    """Return a URL as messages show it: without a user's name, and a query, which may be a signature."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        return url
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_below(name: str) -> bool:
    """Return True for a name that stays below the folder that it is looked up in, however it is written."""
    parts = unquote(name).replace("\\", "/").split("/")
    return not {"", ".", ".."} & set(parts)
