"""The values of metadata, as pages write them, and as documents have them: short, clean, absolute."""

import re
from collections.abc import Iterable
from html import unescape
from urllib.parse import urljoin

_LONGEST_DESCRIPTION = 2_000
_LONGEST_NAME = 200
"""Characters of an author's name, a tag, a licence; longer ones are none."""
LONGEST_ADDRESS = 2_048
_NOT_LICENSES = ("all rights reserved",)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_ABSOLUTE = re.compile(r"https?://[^/?#\s\[]", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_BY = re.compile(
    r"^authors?\s*:\s*|^(?:written |posted |published )?by\b[\s:]+|^(?:von|par|por|автор)\s*:?\s+",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"^(?:https?:)?//|^www\.|@\w+\.\w|\.(?:com|org|net)/", re.IGNORECASE)


def description(text: str) -> str | None:
    """A text without markup, or its first 2,000 characters."""
    text = cleaned(_TAG.sub(" ", text[: 4 * _LONGEST_DESCRIPTION]))
    return text[:_LONGEST_DESCRIPTION].rstrip() or None


def short_text(text: str) -> str | None:
    """A name, a tag or a type; None where it is empty or longer than any is."""
    text = cleaned(text[: 4 * _LONGEST_NAME])
    return text if 0 < len(text) <= _LONGEST_NAME else None


def author_name(text: str) -> str | None:
    """A name without markup or the `by` before it; None for an address, or where no letter is in it."""
    name = cleaned(_TAG.sub(" ", cleaned(text[: 4 * _LONGEST_NAME])))
    found = short_text(_BY.sub("", name))
    return None if found is None or _ADDRESS.search(found) or not re.search(r"[^\W\d_]", found) else found


def license_name(text: str) -> str | None:
    """What a licence is called; None where nothing is licensed."""
    found = short_text(text)
    return None if found is None or found.lower().rstrip(".") in _NOT_LICENSES else found


def web_address(text: str, base: str) -> str | None:
    """An absolute address of the web, None where there is none."""
    text = text.strip()
    if not text or len(text) > LONGEST_ADDRESS or _UNSAFE.search(text):
        return None
    address = text if _ABSOLUTE.match(text) else joined(base, text)
    address = address.replace(" ", "%20")
    return address if _ABSOLUTE.match(address) and len(address) <= LONGEST_ADDRESS else None


def joined(base: str, address: str) -> str:
    """An address as it is meant on a page of another; empty where it is malformed."""
    try:
        return urljoin(base, address)
    except ValueError:
        return ""


def cleaned(text: str) -> str:
    """Text without what is invisible, white space folded, references to characters resolved."""
    if "&" in text:
        text = unescape(text)
    if text.isprintable():
        return " ".join(text.split())
    return " ".join(_UNSAFE.sub(" ", text).split())


def unique(names: Iterable[str | None], most: int) -> tuple[str, ...]:
    """The first names, those that differ in case alone taken for one."""
    kept: dict[str, str] = {}
    for name in names:
        if name:
            kept.setdefault(name.casefold(), name)
            if len(kept) == most:
                break
    return tuple(kept.values())


def only(found: Iterable[str | None]) -> Iterable[str]:
    """What is said once, or several times alike; a page that says more is a list of others."""
    different = {each for each in found if each}
    return different if len(different) == 1 else ()
