"""JSON of strangers as values of dataclasses, checked field by field and bounded in size."""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Parsed = TypeVar("Parsed")
Parse = Callable[[Any], Any]
_LONGEST = 500
"""Characters of a text, items of a list."""
_LARGEST_WHOLE = 10**15
"""Of which JavaScript knows sums exactly."""
_LARGEST = 1e12
"""Of other numbers; what is more, in seconds, is no time of a calendar."""


def parsed(kind: type[Parsed], value: object) -> Parsed:
    """The value of a dataclass that is written as JSON; fields that it does not know are left out.

    Raises:
        ValueError: it is none.
    """
    parser: Parse = _parser(kind)  # type: ignore[arg-type] # classes have hashes
    made: Parsed = parser(value)
    return made


@cache
def _parser(kind: Any) -> Parse:  # noqa: ANN401 whatever fields are declared as
    if is_dataclass(kind):
        return _object(kind)
    if isinstance(kind, UnionType):
        (some,) = (_parser(each) for each in get_args(kind) if each is not NoneType)
        return lambda value: None if value is None else some(value)
    if get_origin(kind) is tuple:
        return _list(_parser(get_args(kind)[0]))
    if get_origin(kind) is dict:
        return _mapping(_parser(get_args(kind)[1]))
    return {int: _whole, float: _number, str: _text}[kind]


def _object(kind: Any) -> Parse:  # noqa: ANN401 a dataclass
    hints = get_type_hints(kind)
    parsers = {field.name: _parser(hints[field.name]) for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is MISSING}

    def parse(value: object) -> object:
        if not isinstance(value, Mapping) or not needed <= value.keys():
            raise ValueError(f"no {kind.__name__}")
        return kind(**{name: parser(value[name]) for name, parser in parsers.items() if name in value})

    return parse


def _list(item: Parse) -> Parse:
    def parse(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > _LONGEST:
            raise ValueError("no list, or a long one")
        return tuple(map(item, value))

    return parse


def _mapping(item: Parse) -> Parse:
    def parse(value: object) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) > _LONGEST:
            raise ValueError("no object, or a large one")
        return {_text(name): item(each) for name, each in value.items()}

    return parse


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST_WHOLE:
        raise ValueError("no whole number, or a large one")
    return value


def _number(value: object) -> float:
    number = value if isinstance(value, float) else float(_whole(value))
    if not math.isfinite(number) or abs(number) > _LARGEST:
        raise ValueError("no finite number, or a large one")
    return number


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError("no text, or a long one")
    return value
