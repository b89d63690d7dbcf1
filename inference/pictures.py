"""The address of an image, even if a script loads it on scrolling, and the formula that it may show."""

import re
from collections.abc import Mapping

ATTRIBUTES = (
    *("src", "srcset", "width", "height", "alt"),
    *("data-src", "data-original", "data-lazy-src", "data-srcset", "data-lazy-srcset"),
)
"""Attributes that are read."""

_LAZY = ("data-src", "data-original", "data-lazy-src")
_SETS = ("data-srcset", "data-lazy-srcset", "srcset")
_FORMULAS = frozenset(
    {
        *("latex", "ql-img-inline-formula", "ql-img-displayed-equation"),
        *("tex", "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display"),
        "eeimg",
    }
)
"""Classes of images of formulas: of WordPress, MediaWiki and Zhihu."""
_RENDERERS = re.compile(r"latex\.php\?|//latex\.codecogs\.com/|/equation\?tex=|/mimetex\.cgi\?")
"""Addresses of servers that draw formulas."""
_MAX_ICON = 16
"""Pixels on a side; smaller images are icons, lines or tracking pixels."""


def address_of(attributes: Mapping[str, str]) -> str | None:
    """Return the address of an image, or None for an icon, a tracking pixel and an image within the page."""
    if any(_is_small(attributes.get(side, "")) for side in ("width", "height")):
        return None
    sets = (_first_of_set(attributes.get(name, "")) for name in _SETS)
    lazy = (attributes.get(name, "").strip() for name in _LAZY)
    candidates = (*lazy, attributes.get("src", "").strip(), *sets)
    return next((each for each in candidates if each and not each.lower().startswith("data:")), None)


def _is_small(pixels: str) -> bool:
    number = pixels.strip().removesuffix("px")
    return number.isascii() and number.isdigit() and len(number) < 4 and int(number) <= _MAX_ICON


def _first_of_set(candidates: str) -> str:
    first = candidates.split(None, 1)
    return first[0].rstrip(",") if first else ""


def tex_of(attributes: Mapping[str, str], classes: str) -> str:
    """Return the TeX of an image of a formula, which is its alternative text; empty for other images."""
    text = " ".join(attributes.get("alt", "").split())
    if text and (_RENDERERS.search(attributes.get("src", "")) or not _FORMULAS.isdisjoint(classes.split())):
        return text.removeprefix("$latex ").strip("$").removeprefix("\\displaystyle ").strip()
    return ""
