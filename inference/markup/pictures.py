"""The address of an image, even if a script loads it on scrolling, and the formula that it may show."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html.parser import HTMLParser

_LAZY = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-wpfc-original-src")
_SETS = ("data-srcset", "data-lazy-srcset", "srcset")
ATTRIBUTES = ("src", "width", "height", "alt", *_LAZY, *_SETS)
"""Attributes that are read."""

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
_ADDRESS = re.compile(
    r"^(?!.*\.(?:mp4|m4v|webm|mov|m3u8|js|json|html?)(?:[?#]|$))"
    r"(?:(?:https?:)?//[^/]|\.{0,2}/.*[^/]$|.*\.(?:jpe?g|png|gif|webp|avif)(?:[?#]|$))",
    re.IGNORECASE,
)
"""Value that is an address of an image, and no size or setting."""
_WIDTH = "1024"
"""Pixels that a script would put in the place of `{width}` in an address."""
_TEMPLATE = re.compile(r"\{\{|\{(?!width\})[.\w]+\}")
"""Place of something else in an address, which no script has filled in."""
_OF_FILE = re.compile(r"\d+(?:x\d+)?px|\d+x\d+|(?=.*\d)[0-9a-f]{8,}")
"""Size or hash in the name of a file."""
_IMAGE = re.compile(r"<img\s[^<>]*>", re.IGNORECASE)
_BLANK_TYPES = frozenset({"gif", "png", "svg", "webp"})
_MAX_FILE = 200
"""Characters of the name of a file that is looked at."""
_BLANK = frozenset(
    {
        *("blank", "spacer", "shim", "pixel", "trans", "transparent", "dummy", "1x1", "placeholder"),
        *("lazy", "lazyload", "lazyloader", "load", "loader", "loading", "preloader"),
    }
)
"""Words in the names of files that show nothing, or that something is being loaded."""
_BESIDE_BLANK = frozenset(
    {"ajax", "bg", "default", "empty", "gray", "grey", "image", "img", "px", "white", "woocommerce"}
)


def address_of(attributes: Mapping[str, str]) -> str | None:
    """Return the address of an image, or None for one within the page, and one that fills a place."""
    sets = (_first_of_set(attributes.get(name, "")) for name in _SETS)
    named = (attributes.get(name, "").strip() for name in (*_LAZY, "src"))
    return _complete([each for each in (*named, *sets) if each and not fills_place(each)])


def address_of_any(alternatives: Iterable[Mapping[str, str]]) -> str | None:
    """Return the first address that one of several images has, or None."""
    return next(filter(None, (address_of(each) for each in alternatives if not is_icon(each))), None)


def address_among(values: Iterable[str]) -> str | None:
    """Return the first value, of attributes of any names, that is the address of an image, or None."""
    firsts = (_first_of_set(value) for value in values)
    return _complete([each for each in firsts if _ADDRESS.search(each) and not fills_place(each)])


def _complete(found: Sequence[str]) -> str | None:
    """Return the first address without a place for a width, else the first with one, which is filled in."""
    return next((each for each in found if "{width}" not in each), None) or next(
        (each.replace("{width}", _WIDTH) for each in found), None
    )


def fills_place(address: str) -> bool:
    """Return True for an address within the page, a template, and a file named after showing nothing."""
    if address[0] == "#" or address[:5].lower() == "data:" or _TEMPLATE.search(address):
        return True
    stem, _, kind = re.split("[?#]", address, maxsplit=1)[0].rpartition("/")[2].lower().rpartition(".")
    if stem == "blank" and kind == "jpg":
        return True
    if kind not in _BLANK_TYPES or len(stem) > _MAX_FILE:
        return False
    words = {word for word in re.split("[-_.]", stem) if word}
    if words.isdisjoint(_BLANK):
        return False
    return all(word in _BLANK or word in _BESIDE_BLANK or _OF_FILE.fullmatch(word) for word in words)


def is_icon(attributes: Mapping[str, str]) -> bool:
    """Return True for an icon, a line or a tracking pixel, by its size."""
    return any(_is_small(attributes.get(side, "")) for side in ("width", "height"))


def in_noscript(html: str) -> dict[str, str]:
    """Return the attributes of the image that readers without scripts get; none without an image."""
    image = _Image()
    if tag := _IMAGE.search(html):
        image.feed(tag[0])
    return image.attributes


class _Image(HTMLParser):
    """Parser of a tag alone, which keeps its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: dict[str, str] = {}

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes = {name: value or "" for name, value in attrs}


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
