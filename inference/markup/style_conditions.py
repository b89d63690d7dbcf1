"""Conditions of `if()` in styles that hold, or do not, wherever pages are usually read: on a screen.

Of others, e.g. of widths between those of usual windows, or of what a reader prefers, it is not known.
"""

import operator
import re

from dehusk.inference.markup.style_values import COLON, WORD, Value

_SIZES = {"width": (1024, 1920), "height": (600, 1200)}
"""Sizes of usual windows, from and to, in CSS pixels."""
_PIXELS = {"px": 1.0, "em": 16.0, "rem": 16.0}
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_LENGTH = r"([+-]?(?:\d+(?:\.\d+)?|\.\d+))(px|r?em)"
_LIMIT = re.compile(rf"(min-|max-|)(width|height):{_LENGTH}")
_RANGE = re.compile(rf"(?:{_LENGTH}([<>]=?|=))?(width|height)(?:([<>]=?|=){_LENGTH})?")
_KNOWN = {"orientation": True, "orientation:landscape": True, "orientation:portrait": False, "print": False}
_SUPPORTED = {
    *(f"display:{keyword}" for keyword in ("none", "block", "inline", "inline-block", "contents")),
    *(f"display:{keyword}" for keyword in ("flex", "grid", "flow-root", "table", "list-item")),
    *(f"visibility:{keyword}" for keyword in ("visible", "hidden", "collapse")),
}
"""Declarations that all browsers know which know `if()`."""


def has_media(feature: Value) -> bool | None:
    """Return True if a media feature is there, None if that is not known."""
    text = _text(feature)
    if limit := _LIMIT.fullmatch(text):
        prefix, name, number, unit = limit.groups()
        return _compare(name, {"min-": ">=", "max-": "<=", "": "="}[prefix], number, unit)
    if not (sizes := _RANGE.fullmatch(text)):
        return _KNOWN.get(text)
    least, least_unit, before, name, after, most, most_unit = sizes.groups()
    holds = [_compare(name, _TURNED[before], least, least_unit)] if before else []
    holds += [_compare(name, after, most, most_unit)] if after else []
    return False if False in holds else None if None in holds else True


def supports(declaration: Value) -> bool | None:
    """Return True if browsers know a declaration, None if that is not known."""
    is_custom = declaration[:1] and declaration[0].kind == WORD and declaration[0].text.startswith("--")
    if is_custom and len(declaration) > 2 and declaration[1].kind == COLON:
        return True
    return True if _text(declaration) in _SUPPORTED else None


def _text(value: Value) -> str:
    return "".join(each.text.lower() for each in value)


def _compare(name: str, relation: str, number: str, unit: str) -> bool | None:
    """Return the relation of the sizes of usual windows to a length, None if they differ in it."""
    pixels, (least, most) = float(number) * _PIXELS[unit], _SIZES[name]
    if relation == "=":
        return None if least <= pixels <= most else False
    holds = {_COMPARE[relation](least, pixels), _COMPARE[relation](most, pixels)}
    return holds.pop() if len(holds) == 1 else None
