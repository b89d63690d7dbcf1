"""Errors of stores, and the names of their objects."""

import re
from urllib.parse import unquote

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
    """Return a URL, even a malformed one, as messages show it: without a user, and a query of the web.

    A query may be a signature.
    """
    scheme, separator, rest = url.partition("://")
    if scheme.lower() in {"http", "https"}:
        rest = re.split("[?#]", rest, maxsplit=1)[0]
    place, slash, path = rest.partition("/")
    return f"{scheme}{separator}{place.rpartition('@')[2]}{slash}{path}"


def is_below(name: str) -> bool:
    """Return True for a name that stays below the folder that it is looked up in, however it is written."""
    parts = unquote(name).replace("\\", "/").split("/")
    return not {"", ".", ".."} & set(parts)
