"""Columns of batches, and the pages in them."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pyarrow as pa

from dehusk.schemas.errors import ConfigurationError

Batch: TypeAlias = pa.RecordBatch | pa.Table
_TEXTS = ("url", "id", "content_type", "language", "error")
_TEXT_KINDS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
    pa.types.is_null,
)
"""Checks of the types of columns that may hold text, or its bytes."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def index_of(batch: Batch, column: str) -> int:
    """Return the number of the one column of a name.

    Raises:
        ConfigurationError: there is none, or several, or the batch is of another type.
    """
    if not isinstance(batch, pa.RecordBatch | pa.Table):
        is_frame = hasattr(batch, "__arrow_c_stream__")  # as of pandas and Polars
        hint = "; give pyarrow.table(it)" if is_frame else ""
        raise ConfigurationError(
            f"the batch is {type(batch).__name__}, neither a RecordBatch nor a Table{hint}"
        )
    number: int = batch.schema.get_field_index(column)
    if number < 0:
        problem = "are several columns" if column in batch.schema.names else "is no column"
        raise ConfigurationError(f"there {problem} {column!r} among {', '.join(batch.schema.names)}")
    return number


def indexes_of(batch: Batch, columns: Mapping[str, str | None]) -> dict[str, int]:
    """Return the numbers of the columns that are named, by what they hold.

    Raises:
        ConfigurationError: there is no such column, or none for `html`; the batch is of another type; or the
            times of fetches, or the errors, are something else.
    """
    found = {name: index_of(batch, column) for name, column in columns.items() if column is not None}
    if "html" not in found:
        raise ConfigurationError("html is None: name the column of the pages")
    if "fetched_at" in found:
        kind = batch.schema.field(found["fetched_at"]).type
        if not pa.types.is_timestamp(kind) and not pa.types.is_null(kind):
            raise ConfigurationError(f"fetched_at is a column of {kind}, not of timestamps")
    if "error" in found:
        kind = batch.schema.field(found["error"]).type
        if not any(is_kind(_plain(kind)) for is_kind in _TEXT_KINDS):
            raise ConfigurationError(f"error is a column of {kind}, not of text")
    return found


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values that a dictionary, runs or an extension stand for."""
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return _plain(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind


def pages_of(batch: Batch, columns: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Yield the pages of a batch, as `extract_many` takes them."""
    for part in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
        for number in range(part.num_rows):
            page = {name: value_of(part.column(column)[number]) for name, column in columns.items()}
            for name in _TEXTS:
                page[name] = as_text(page.get(name))
            if isinstance(page["id"], int):
                page["id"] = str(page["id"])
            if page["html"] is None or page["error"]:
                page["html"] = b""
            page["fetched_at"] = _time(page.get("fetched_at"))
            yield page


def value_of(scalar: pa.Scalar) -> Any:  # noqa: ANN401 of any type
    """Return text, bytes, an integer or None; text that is no UTF-8 as its bytes, and all else as it is."""
    while isinstance(scalar, pa.DictionaryScalar | pa.RunEndEncodedScalar | pa.ExtensionScalar):
        scalar = scalar.value
    if scalar is None or not scalar.is_valid:
        return None
    if pa.types.is_integer(scalar.type):
        return scalar.as_py()
    if not isinstance(scalar, pa.BinaryScalar | pa.FixedSizeBinaryScalar):
        return scalar
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes()


def as_text(value: Any) -> Any:  # noqa: ANN401 of any type
    """Return bytes of UTF-8 as text, and all else as it is."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _time(scalar: pa.TimestampScalar | None) -> datetime | None:
    """Return an instant in UTC, with microseconds; None for one that no calendar has."""
    if scalar is None or scalar.value is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=scalar.value * 10**6 // _PER_SECOND[scalar.type.unit])
    except OverflowError:
        return None
