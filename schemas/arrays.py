"""Arrays of numbers as one buffer, in which values are pickled that have many of them."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

_NO_ARRAY = " "
"""Place in a layout of a value that is no array; that of an array has the code of its type."""
_ALIGNMENT = 8
"""Multiple of bytes at which each array begins."""
_PADDING = [bytes(-size % _ALIGNMENT) for size in range(_ALIGNMENT)]


def join(values: Iterable[object]) -> tuple[str, list[object], bytes]:
    """Return the layout of values, these with the shape of each array in its place, and the arrays joined."""
    layout: list[str] = []
    others: list[object] = []
    parts: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray):
            code = value.dtype.char
            layout.append(code)
            others.append(value.shape)
            parts += np.ascontiguousarray(value, code), _PADDING[value.nbytes % _ALIGNMENT]
        else:
            layout.append(_NO_ARRAY)
            others.append(value)
    return "".join(layout), others, b"".join(parts)


def restore(kind: Any, layout: str, values: Sequence[Any], joined: bytes) -> object:  # noqa: ANN401 any dataclass
    """Return the dataclass whose values were joined; its arrays are views of the buffer."""
    begin = 0
    restored: list[object] = []
    for code, value in zip(layout, values, strict=True):
        if code == _NO_ARRAY:
            restored.append(value)
        else:
            array: np.ndarray[Any, Any] = np.ndarray(value, code, joined, begin)
            restored.append(array)
            begin += array.nbytes + -array.nbytes % _ALIGNMENT
    return kind(**dict(zip(_names(kind), restored, strict=True)))


@cache
def _names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 the class of any dataclass
    return tuple(field.name for field in fields(kind))
