"""References to footnotes, as pages spell them."""

import re
from urllib.parse import unquote

_REFERENCE = re.compile(
    r"[\[(]?\s?(?:(?:note|nb|fn|n)[.\s]\s?)?(?P<label>[0-9]{1,4}|[a-z]{1,2}|[ivxl]{1,7}|[*\u2020\u2021\xa7\xb6#]{1,3})\s?[\])]?",
    re.IGNORECASE,
)
_MAX_LENGTH = 16


def is_reference(text: str) -> bool:
    """Return True if a link's text may be that of a reference: a number, a few letters or stars."""
    return len(text) <= _MAX_LENGTH and _REFERENCE.fullmatch(text) is not None


def label_of(text: str) -> str:
    """Return the number or the letters of a reference; empty for others."""
    found = _REFERENCE.fullmatch(text)
    return found["label"] if found is not None and found["label"].isalnum() else ""


def fragment_of(address: str) -> str:
    """Return the id that an address leads to."""
    return unquote(address.rpartition("#")[2])
