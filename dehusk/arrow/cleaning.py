"""Cleaning of batches: a row for each page, whatever becomes of it."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Unpack

import pyarrow as pa

from dehusk.arrow.columns import Batch, index_of, indexes_of, pages_of, value_of
from dehusk.arrow.processes import kept_cleaning
from dehusk.many import Cleaning, Extractions
from dehusk.options import Options
from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.errors import ConfigurationError, ExtractionError
from dehusk.streams.dataset.columns import BATCH_ROWS, record_batch, row_schema
from dehusk.streams.dataset.parts import Row
from dehusk.streams.sites.aggregated import AggregatedStatistics


def clean(
    batch: Batch,
    *,
    html: str,
    url: str,
    id: str | None = None,  # noqa: A002 the field's name
    content_type: str | None = None,
    fetched_at: str | None = None,
    language: str | None = None,
    error: str | None = None,
    site_statistics: str | None = None,
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
        fetched_at: the column of the times of the crawl; they are in UTC where they have no zone.
        language: the column of their headers `Content-Language`.
        error: the column of reasons why there is no page, which a row has instead of a document.
        site_statistics: the column of what `site_statistics` has counted of the page's site, this page among
            others; where it is null, the page is cleaned as the first of its site.
        keep: columns that the result has, too; by default all but those above and, with `site_statistics`,
            `site`.
        processes: processes that take pages apart. One is right where an engine runs as many tasks as it has
            processors.
        page_seconds: the CPU time that each step of one page may take.
        **options: as those of an `Extractor`.

    Raises:
        ConfigurationError: an option has no such value, the batch is of another type, there is no such
            column, a kept column has the name of one of documents, the times, the errors or the statistics of
            a site are something else, or the processes cannot be started.
    """
    crawled = {"content_type": content_type, "fetched_at": fetched_at, "language": language, "error": error}
    inputs = {"html": html, "url": url, "id": id, **crawled}
    read = indexes_of(batch, inputs)
    if keep is None:
        given = {*inputs.values(), site_statistics, "site" if site_statistics else None}
        keep = [name for name in batch.schema.names if name not in given]
    if isinstance(keep, str):
        raise ConfigurationError(f"keep is {keep!r}: name the columns in a list")
    kept = [index_of(batch, name) for name in dict.fromkeys(keep)]
    schema = _schema([batch.schema.field(number) for number in kept])
    parts = [record_batch((), row_schema())]
    store = None
    if site_statistics is not None:
        store = AggregatedStatistics(_distinct(batch.column(index_of(batch, site_statistics))))
    if batch.num_rows:
        with kept_cleaning(options, processes, page_seconds) as cleaning:
            parts += _clean(pages_of(batch, read), cleaning, store)
    documents = pa.Table.from_batches(parts) if isinstance(batch, pa.Table) else pa.concat_batches(parts)
    columns = [*documents.columns, *(batch.column(number) for number in kept)]
    return type(batch).from_arrays(columns, schema=schema)


def _schema(kept: Sequence[pa.Field]) -> pa.Schema:
    """Return the schema of rows with the fields that are kept."""
    documents = row_schema()
    for field in kept:
        if field.name in documents.names:
            raise ConfigurationError(
                f"{field.name!r} is a column of documents, too: rename it, or leave it out of keep=[...]"
            )
    return pa.schema([*documents, *kept])


def _distinct(column: pa.Array | pa.ChunkedArray) -> set[bytes]:
    """Return the different values of a column of bytes."""
    values = set(map(value_of, column)) - {None}
    for value in values:
        if not isinstance(value, bytes):
            raise ConfigurationError(f"site_statistics are {type(value).__name__}, not bytes")
    return values


def _clean(
    pages: Iterator[dict[str, Any]], cleaning: Cleaning, store: AggregatedStatistics | None
) -> Iterator[pa.RecordBatch]:
    results = (_row(page, result) for page, result in Extractions(pages, cleaning, store=store))
    while rows := list(islice(results, BATCH_ROWS)):
        yield record_batch(rows, row_schema())


def _row(page: dict[str, Any], result: CleanedDocument | ExtractionError) -> Row:
    if isinstance(result, CleanedDocument):
        return Row(result.id or result.url, result.url, result)
    name, address, given = (
        value if isinstance(value, str) and value else None
        for value in (page["id"], page["url"], page["error"])
    )
    return Row(name or address, address, error=given or str(result))
