"""Values of metadata as documents have them: short clean texts and absolute addresses."""

import re
from collections.abc import Iterable
from html import unescape
from urllib.parse import urljoin

_MAX_DESCRIPTION = 2_000
_UNFILLED = frozenset(
    {"just another wordpress site", "just another wordpress.com weblog", "description", "keywords"}
)
"""Descriptions that publishing systems give a site before anybody writes one, in lower case."""
_MAX_NAME = 200
"""Characters of the longest name of an author, a tag or a licence."""
_MAX_ADDRESS = 2_048
_NOT_LICENSES = ("all rights reserved",)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_OTHER_SCHEME = re.compile(r"(?!https?:|ftp:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_BEHIND_PATH = re.compile("[?#]")
_ABSOLUTE = re.compile(r"https?://[^/?#\s\[]", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"&#[0-9]{40,};?")
"""Reference to a character that there is none of, by a number that Python does not read."""
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


def description(text: str) -> str | None:
    """Return a text without markup, or its first 2,000 characters; None if nobody wrote it."""
    text = clean(without_tags(text[: 4 * _MAX_DESCRIPTION]))
    if text.lower().rstrip(".") in _UNFILLED or not any(map(str.isalnum, text)):
        return None
    return text[:_MAX_DESCRIPTION].rstrip() or None


def short_text(text: str) -> str | None:
    """Return a name, a tag or a type; None if it is empty or too long."""
    text = clean(text[: 4 * _MAX_NAME])
    return text if 0 < len(text) <= _MAX_NAME else None


def without_tags(text: str) -> str:
    """Return a text with a space in place of each tag."""
    return _TAG.sub(" ", text)


def license_name(text: str) -> str | None:
    """Return the name of a licence; None if nothing is licensed."""
    name = short_text(text)
    return None if name is None or name.lower().rstrip(".") in _NOT_LICENSES else name


def web_address(text: str, base: str) -> str | None:
    """Return an absolute address of the web, None for any other."""
    text = text.strip()
    if not text or len(text) > _MAX_ADDRESS or _UNSAFE.search(text):
        return None
    text = with_slashes(text)
    address = text if _ABSOLUTE.match(text) else join_address(base, text)
    address = address.replace(" ", "%20")
    return address if _ABSOLUTE.match(address) and len(address) <= _MAX_ADDRESS else None


def with_slashes(address: str) -> str:
    """Return an address with the slashes that browsers read for backslashes (URL Standard, section 4.4)."""
    if "\\" not in address or _OTHER_SCHEME.match(address):
        return address
    end = found.start() if (found := _BEHIND_PATH.search(address)) else len(address)
    return address[:end].replace("\\", "/") + address[end:]


def join_address(base: str, address: str) -> str:
    """Return an address relative to another; empty if it is malformed."""
    try:
        return urljoin(base, address)
    except ValueError:
        return ""


def clean(text: str) -> str:
    """Return a text without invisible characters, white space folded, character references resolved."""
    if "&" in text:
        text = unescape(_LONG_NUMBER.sub("\ufffd", text))
    return folded(text)


def folded(text: str) -> str:
    """Return a text without invisible characters, white space folded."""
    if text.isprintable():
        return " ".join(text.split())
    return " ".join(_UNSAFE.sub(" ", text).split())


def unique(names: Iterable[str | None], limit: int) -> tuple[str, ...]:
    """Return the first names, ignoring those that differ in case alone."""
    kept: dict[str, str] = {}
    for name in names:
        if name:
            kept.setdefault(name.casefold(), name)
            if len(kept) == limit:
                break
    return tuple(kept.values())


def agreed(candidates: Iterable[str | None]) -> Iterable[str]:
    """Return the only value, though it may be repeated; none if values differ, as on a list of pages."""
    different = {candidate for candidate in candidates if candidate}
    return different if len(different) == 1 else ()
