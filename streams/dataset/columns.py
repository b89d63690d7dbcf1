"""Documents as columns of Arrow, by one schema, which follows from the types of documents.

Every field of a `CleanedDocument` is a column of its own type, nested as the field is. A page without a
document has a row, too, with its `error`. Times are instants in UTC. Of `metadata.published` and `modified`,
which may be a day alone, the time is null then; `published_day` and `modified_day` have the day in any case.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import cache
from itertools import accumulate, chain
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from dehusk.schemas.documents import CleanedDocument
from dehusk.streams.dataset.parts import Columns, Row

BATCH_ROWS = 32
"""Rows that become columns together, which take less memory than rows."""
_PLAIN = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    date: pa.date32(),
    datetime: pa.timestamp("us", "UTC"),
}


@cache
def row_schema(places: Columns = ()) -> pa.Schema:
    """Return the schema of rows: all fields of a document, `error`, and the columns of its place."""
    others = [pa.field(name, pa.type_for_alias(kind)) for name, kind in (("error", "string"), *places)]
    return pa.schema([*_arrow_type(CleanedDocument), *others])


def record_batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows as columns of a schema of `row_schema`."""
    documents = _struct([row.document for row in rows], _arrow_type(CleanedDocument)).flatten()
    columns = dict(zip((field.name for field in _arrow_type(CleanedDocument)), documents, strict=True))
    for name in ("id", "url", "error"):
        columns[name] = pa.array([getattr(row, name) for row in rows], pa.string())
    for number, field in enumerate(list(schema)[len(columns) :]):
        columns[field.name] = pa.array([row.place[number] for row in rows], field.type)
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)


@cache
def _arrow_type(kind: Any) -> pa.DataType:  # noqa: ANN401 of any type
    """Return the type of a column of values of a type; all may be null."""
    if get_origin(kind) in (Union, UnionType):
        kinds = [each for each in get_args(kind) if each is not NoneType]
        return _arrow_type(datetime if datetime in kinds else kinds[0])
    if get_origin(kind) is tuple:
        return pa.list_(_arrow_type(get_args(kind)[0]))
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return pa.struct([pa.field(field.name, _arrow_type(hints[field.name])) for field in fields(kind)])
    return _PLAIN[kind]


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values, of which any may be None, as an array of a type of `_arrow_type`."""
    if pa.types.is_struct(kind):
        return _struct(values, kind)
    if pa.types.is_list(kind):
        return _lists(values, kind)
    if pa.types.is_timestamp(kind):
        values = [value if isinstance(value, datetime) else None for value in values]
    return pa.array(values, kind)


def _struct(values: Sequence[Any], kind: pa.StructType) -> pa.StructArray:
    """Return values of a dataclass as an array, made by fields; by rows, it takes several times as long."""
    children = [
        _array([None if value is None else read(value) for value in values], field.type)
        for field, read in zip(kind, _readers(kind), strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=_is_null(values))


def _lists(values: Sequence[Any], kind: pa.ListType) -> pa.ListArray:
    ends = accumulate((len(value or ()) for value in values), initial=0)
    items = list(chain.from_iterable(value or () for value in values))
    offsets = pa.array(list(ends), pa.int32())
    return pa.ListArray.from_arrays(offsets, _array(items, kind.value_type), mask=_is_null(values))


@cache
def _readers(kind: pa.StructType) -> tuple[Callable[[Any], Any], ...]:
    return tuple(attrgetter(field.name) for field in kind)


def _is_null(values: Sequence[object]) -> pa.BooleanArray:
    return pa.array([value is None for value in values], pa.bool_())
