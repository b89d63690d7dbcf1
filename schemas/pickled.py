"""How what travels between processes is pickled."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any


class PickledByFields:
    """A dataclass of two fields or more that is pickled as its fields, and made of them again.

    A frozen dataclass with slots pickles itself several times as slowly: it looks its fields up each time.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        kind: Any = type(self)
        return kind, _values(kind)(self)


@cache
def _values(kind: Any) -> Callable[[Any], tuple[Any, ...]]:  # noqa: ANN401 the class of any dataclass
    """What reads all fields of a dataclass, in the order in which it takes them."""
    return attrgetter(*(field.name for field in fields(kind)))
