"""Pages in batches of Arrow, as Spark, Ray Data and other engines hand them out; of the extra `parquet`."""

import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from threading import Lock
from typing import Any, TypeAlias, Unpack

import pyarrow as pa

from dehusk.many import Cleaning, Extractions
from dehusk.options import Options
from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.errors import ConfigurationError, ExtractionError
from dehusk.streams.dataset.columns import record_batch, row_schema
from dehusk.streams.dataset.parts import Row

Batch: TypeAlias = pa.RecordBatch | pa.Table
_BATCH_ROWS = 32
"""Rows that become columns together, which take less memory than rows."""
_MAX_KEPT = 4
"""Sets of options whose processes are kept for the next batch."""
_kept: dict[tuple[object, ...], Cleaning] = {}
"""Processes that have cleaned batches, by their options; those that were used last come last."""
_using = Lock()


def clean(
    batch: Batch,
    *,
    html: str,
    url: str,
    id: str | None = None,  # noqa: A002 the field's name
    content_type: str | None = None,
    keep: Sequence[str] | None = None,
    processes: int = 1,
    page_seconds: float = 10.0,
    **options: Unpack[Options],
) -> Batch:
    """Clean the page of each row, in processes with limits on CPU time and memory, and return its document.

    The result has a row for each row, in order, with the columns of the Parquet files of `dehusk clean
    --output`, and behind them the columns that are kept. A page without a document has a row, too: `error`
    says why, by a named reason, whatever is in the row. An empty batch gives the schema, and starts nothing.

    The processes and the model are kept for the next batch with these options, until this process ends. Each
    process of an engine has its own, also a forked one. Threads take turns, batch by batch.

    Args:
        batch: a `RecordBatch` or a `Table`; the result is of the same kind.
        html: the column of pages, as text, or as the bytes that a server sent, compressed by gzip or not; of
            any type of Arrow that holds these.
        url: the column of their URLs, which may be null.
        id: the column of their identifiers; without one, the URL is a document's `id`.
        content_type: the column of their headers `Content-Type`, by whose `charset` bytes are decoded.
        keep: columns that the result has, too; by default all but those above.
        processes: processes that take pages apart. One is right where an engine runs as many tasks as it has
            processors.
        page_seconds: the CPU time that each step of one page may take.
        **options: as those of an `Extractor`.

    Raises:
        ConfigurationError: an option has no such value, there is no such column, a kept column has the name
            of one of documents, or the processes cannot be started.
    """
    inputs = {"html": html, "url": url, "id": id, "content_type": content_type}
    read = {name: _index(batch, column) for name, column in inputs.items() if column is not None}
    if keep is None:
        keep = [name for name in batch.schema.names if name not in inputs.values()]
    kept = [_index(batch, name) for name in keep]
    schema = _schema([batch.schema.field(number) for number in kept])
    batches = batch.to_batches() if isinstance(batch, pa.Table) else [batch]
    pages = chain.from_iterable(_pages(each, read) for each in batches)
    parts = [record_batch((), row_schema())]
    if batch.num_rows:
        with _using:
            parts += _clean(pages, options, processes, page_seconds)
    documents = pa.Table.from_batches(parts) if isinstance(batch, pa.Table) else pa.concat_batches(parts)
    columns = [*documents.columns, *(batch.column(number) for number in kept)]
    return type(batch).from_arrays(columns, schema=schema)


def _index(batch: Batch, column: str) -> int:
    """Return the number of the one column of a name."""
    number: int = batch.schema.get_field_index(column)
    if number < 0:
        problem = "several columns" if column in batch.schema.names else "no column"
        raise ConfigurationError(f"there are {problem} {column!r} among {', '.join(batch.schema.names)}")
    return number


def _schema(kept: Sequence[pa.Field]) -> pa.Schema:
    """Return the schema of rows with the fields that are kept."""
    documents = row_schema()
    for field in kept:
        if field.name in documents.names:
            raise ConfigurationError(
                f"{field.name!r} is a column of documents, too: rename it, or leave it out of keep=[...]"
            )
    return pa.schema([*documents, *kept])


def _pages(batch: pa.RecordBatch, columns: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Yield the pages of a batch, as `extract_many` takes them."""
    for number in range(batch.num_rows):
        page = {name: _value(batch.column(column)[number]) for name, column in columns.items()}
        if page["html"] is None:
            page["html"] = b""
        for name in ("url", "id", "content_type"):
            page[name] = _text(page.get(name))
        yield page


def _value(scalar: pa.Scalar) -> Any:  # noqa: ANN401 of any type
    """Return text, bytes or None; text that is no UTF-8 as its bytes, and all else as it is."""
    while isinstance(scalar, pa.DictionaryScalar | pa.RunEndEncodedScalar | pa.ExtensionScalar):
        scalar = scalar.value
    if scalar is None or not scalar.is_valid:
        return None
    if not isinstance(scalar, pa.BinaryScalar | pa.FixedSizeBinaryScalar):
        return scalar
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes()


def _text(value: Any) -> Any:  # noqa: ANN401 of any type
    """Return bytes of UTF-8 as text, and all else as it is."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _clean(
    pages: Iterator[dict[str, Any]], options: Options, processes: int, page_seconds: float
) -> list[pa.RecordBatch]:
    """Clean pages in processes that are kept, or in new ones."""
    key = (processes, page_seconds, *((name, repr(value)) for name, value in sorted(options.items())))
    cleaning = _kept.pop(key, None) or Cleaning(options, processes, page_seconds)
    results = (_row(page, result) for page, result in Extractions(pages, cleaning))
    parts = []
    try:
        while rows := list(islice(results, _BATCH_ROWS)):
            parts.append(record_batch(rows, row_schema()))
    except BaseException:
        cleaning.close()
        raise
    _kept[key] = cleaning
    if len(_kept) > _MAX_KEPT:
        _kept.pop(next(iter(_kept))).close()
    return parts


def _row(page: dict[str, Any], result: CleanedDocument | ExtractionError) -> Row:
    if isinstance(result, CleanedDocument):
        return Row(result.id or result.url, result.url, result)
    name, address = (
        value if isinstance(value, str) and value else None for value in (page["id"], page["url"])
    )
    return Row(name or address, address, error=str(result))


def _forget_all() -> None:
    """Forget the processes of the process that has forked this one."""
    global _using  # noqa: PLW0603 the other thread that may hold it is not here
    _using = Lock()
    _kept.clear()


os.register_at_fork(after_in_child=_forget_all)
