"""Values read from JSON into the types that they were written from."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from reprlib import repr as shown
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Value = TypeVar("Value")
_DAY = len("2024-05-01")
_UNIONS = (Union, types.UnionType)
_INTEGERS = range(-(2**63), 2**63)
"""Integers that columns of a dataset, and types of other languages, can hold."""


def read(kind: type[Value], value: object) -> Value:
    """Return the value of a dataclass whose fields a JSON object has; fields that it lacks are ignored.

    Raises:
        ValueError: a field is missing or of another type.
    """
    read_value: Value = _read(kind, value, "")
    return read_value


def _read(kind: Any, value: object, where: str) -> Any:  # noqa: ANN401 of any type
    """Return a value of a type; `where` names the field that it is of."""
    if get_origin(kind) in _UNIONS:
        return _read_union(get_args(kind), value, where)
    if is_dataclass(kind):
        return _read_fields(kind, value, where)
    if get_origin(kind) is tuple and isinstance(value, list):
        item, *_ = get_args(kind)
        return tuple(_read(item, each, f"{where}[{number}]") for number, each in enumerate(value))
    try:
        return _read_plain(kind, value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where} is {shown(value)}, no {getattr(kind, '__name__', kind)}") from error


def _read_plain(kind: Any, value: object) -> object:  # noqa: ANN401 of any type
    """Return a value of a type that is written as text, a number or a truth value."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ValueError(value)
        return value
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is int and value not in _INTEGERS:
        raise ValueError(value)
    if isinstance(kind, type) and type(value) is kind:
        return value
    if isinstance(kind, type) and type(value) is str and issubclass(kind, str | date):
        return kind.fromisoformat(value) if issubclass(kind, date) else kind(value)
    raise TypeError(value)


def _read_union(kinds: tuple[Any, ...], value: object, where: str) -> object:
    """Return a value of one of several types, of which at most a day and a time are both written as text."""
    if value is None and types.NoneType in kinds:
        return None
    others = [kind for kind in kinds if kind is not types.NoneType]
    if {date, datetime} <= set(others) and isinstance(value, str):
        return _read(date if len(value) == _DAY else datetime, value, where)
    for kind in others[:-1]:
        try:
            return _read(kind, value, where)
        except ValueError:
            continue
    return _read(others[-1], value, where)


def _read_fields(kind: Any, value: object, where: str) -> object:  # noqa: ANN401 any dataclass
    if not isinstance(value, Mapping):
        raise ValueError(f"{where or 'it'} is {shown(value)}, no object")  # noqa: TRY004 it is data
    found = {}
    for field, type_ in _fields(kind):
        name = f"{where}.{field.name}" if where else field.name
        if field.name in value:
            found[field.name] = _read(type_, value[field.name], name)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{name} is missing")
    return kind(**found)


@cache
def _fields(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:  # noqa: ANN401 any dataclass
    """Return the fields of a dataclass with their types, but for those that follow from others."""
    known = get_type_hints(kind)
    return tuple((field, known[field.name]) for field in fields(kind) if field.init)
