"""The address of an image, even if a script loads it on scrolling."""

from collections.abc import Mapping

ATTRIBUTES = (
    *("src", "srcset", "width", "height", "alt"),
    *("data-src", "data-original", "data-lazy-src", "data-srcset", "data-lazy-srcset"),
)
"""Attributes that are read."""

_LAZY = ("data-src", "data-original", "data-lazy-src")
_SETS = ("data-srcset", "data-lazy-srcset", "srcset")
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
