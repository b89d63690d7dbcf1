"""Texts made fit for terminals and logs: what strangers wrote, and URLs that hold a password."""

import re

_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)
_PASSWORD = re.compile(r"(?<=[?&]password=)[^&]*", re.IGNORECASE)


def printable(text: str) -> str:
    """The text with escapes for what a terminal would obey or could not show."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def without_password(url: str) -> str:
    """A URL, however malformed, with `***` for its user and password."""
    return _PASSWORD.sub("***", _CREDENTIALS.sub(r"\1***@", url))
