"""Fast pickling of the values that travel between processes."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from pickle import PickleBuffer
from typing import Any

BESIDE_BYTES = 64 << 10
"""Size from which on bytes are worth a place beside the pickle; smaller ones are copied faster."""
_BUFFERS_SINCE = 5
"""First protocol of pickle that has buffers."""


class PickledByFields:
    """A dataclass of two fields or more that is pickled as its fields.

    The pickling of a frozen dataclass with slots is several times as slow: it looks its fields up each time.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        kind: Any = type(self)
        return kind, _values(kind)(self)


class PickledWithBytes(PickledByFields):
    """A dataclass whose fields of many bytes are buffers for pickle, which its caller may take beside it."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, tuple[Any, ...]]:  # noqa: ANN401 the index of a protocol
        kind, values = self.__reduce__()
        if protocol < _BUFFERS_SINCE:
            return kind, values
        return kind, tuple(_buffer(value) for value in values)


class PickledWithArrays:
    """A dataclass of two fields or more whose arrays of numbers are pickled as one buffer.

    NumPy takes microseconds for each array, whatever its size. Arrays that were pickled are read-only.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, tuple[Any, ...]]:  # noqa: ANN401 the index of a protocol
        from dehusk.schemas.arrays import join, restore  # noqa: PLC0415 who has no arrays does not load numpy

        kind: Any = type(self)
        layout, values, joined = join(_values(kind)(self))
        return restore, (kind, layout, values, joined if protocol < _BUFFERS_SINCE else _buffer(joined))


def _buffer(value: object) -> object:
    return PickleBuffer(value) if type(value) is bytes and len(value) >= BESIDE_BYTES else value


@cache
def _values(kind: Any) -> Callable[[Any], tuple[Any, ...]]:  # noqa: ANN401 the class of any dataclass
    """Return the reader of all fields of a dataclass, in the order of its constructor."""
    return attrgetter(*(field.name for field in fields(kind)))
