"""Pages in batches of Arrow, as Spark, Ray Data and other engines hand them out; of the extra `parquet`."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from threading import Lock
from typing import Any, TypeAlias, Unpack

import pyarrow as pa

from dehusk.inference.sites import site_of
from dehusk.inputs import read_page
from dehusk.many import Cleaning, Extractions
from dehusk.options import Options
from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.errors import ConfigurationError, ExtractionError
from dehusk.schemas.pages import RawPage
from dehusk.schemas.sites import SiteObservation
from dehusk.streams.dataset.columns import record_batch, row_schema
from dehusk.streams.dataset.parts import Row
from dehusk.streams.offline.run import BATCH_PAGES
from dehusk.streams.sites.aggregated import AggregatedStatistics, aggregate, pack_page
from dehusk.streams.sources.page import known_url

Batch: TypeAlias = pa.RecordBatch | pa.Table
_BATCH_ROWS = 32
"""Rows that become columns together, which take less memory than rows."""
_MAX_KEPT = 4
"""Sets of options whose processes are kept for the next batch."""
_kept: dict[tuple[object, ...], Cleaning] = {}
"""Processes that have cleaned batches, by their options; those that were used last come last."""
_using = Lock()
_OBSERVED = pa.schema([("site", pa.string()), ("observation", pa.binary())])
_STATISTICS = pa.schema([("site", pa.string()), ("site_statistics", pa.binary())])


def clean(
    batch: Batch,
    *,
    html: str,
    url: str,
    id: str | None = None,  # noqa: A002 the field's name
    content_type: str | None = None,
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
        site_statistics: the column of what `site_statistics` has counted of the page's site, this page among
            others; where it is null, the page is cleaned as the first of its site.
        keep: columns that the result has, too; by default all but those above and, with `site_statistics`,
            `site`.
        processes: processes that take pages apart. One is right where an engine runs as many tasks as it has
            processors.
        page_seconds: the CPU time that each step of one page may take.
        **options: as those of an `Extractor`.

    Raises:
        ConfigurationError: an option has no such value, there is no such column, a kept column has the name
            of one of documents, the statistics of a site are something else, or the processes cannot be
            started.
    """
    inputs = {"html": html, "url": url, "id": id, "content_type": content_type}
    read = {name: _index(batch, column) for name, column in inputs.items() if column is not None}
    if keep is None:
        given = {*inputs.values(), site_statistics, "site" if site_statistics else None}
        keep = [name for name in batch.schema.names if name not in given]
    kept = [_index(batch, name) for name in keep]
    schema = _schema([batch.schema.field(number) for number in kept])
    parts = [record_batch((), row_schema())]
    store = None
    if site_statistics is not None:
        store = AggregatedStatistics(_distinct(batch.column(_index(batch, site_statistics))))
    if batch.num_rows:
        with _cleaning(options, processes, page_seconds) as cleaning:
            parts += _clean(_pages(batch, read), cleaning, store)
    documents = pa.Table.from_batches(parts) if isinstance(batch, pa.Table) else pa.concat_batches(parts)
    columns = [*documents.columns, *(batch.column(number) for number in kept)]
    return type(batch).from_arrays(columns, schema=schema)


def with_site(batch: Batch, *, url: str) -> Batch:
    """Return a batch with another column, `site`: the host of each URL, by which `site_statistics` counts.

    Raises:
        ConfigurationError: there is no such column, or one of the name `site`.
    """
    if "site" in batch.schema.names:
        raise ConfigurationError("there is a column 'site' already")
    urls = map(_text, map(_value, batch.column(_index(batch, url))))
    sites = [site_of(known_url(url) or url.strip()) or None if isinstance(url, str) else None for url in urls]
    return type(batch).from_arrays(
        [*batch.columns, pa.array(sites, pa.string())], schema=batch.schema.append(_OBSERVED.field("site"))
    )


def observe(
    batch: Batch,
    *,
    html: str,
    url: str,
    content_type: str | None = None,
    processes: int = 1,
    page_seconds: float = 10.0,
    **options: Unpack[Options],
) -> Batch:
    """Label the page of each row, and return what it adds to the statistics of its site.

    The result has the columns `site` and `observation`, some 2 kB a page, and a row for each page that has a
    document and a host in its URL, in order. The arguments are those of `clean`; the labels are those that it
    corrects, if these are the same.
    """
    inputs = {"html": html, "url": url, "content_type": content_type}
    read = {name: _index(batch, column) for name, column in inputs.items() if column is not None}
    rows: list[tuple[str, bytes]] = []
    if batch.num_rows:
        with _cleaning(options, processes, page_seconds) as cleaning:
            pages = _observe(_pages(batch, read), cleaning)
            rows += [(page.site, pack_page(page)) for page in pages if page.site]
    return _of_columns(type(batch), rows, _OBSERVED)


def site_statistics(batch: Batch) -> Batch:
    """Count the pages of each site, and return a row for each, with the columns `site` and `site_statistics`.

    The batch has the columns of `observe`. All pages of a site have to be in it, as copies are counted once:
    engines group by the site. They are counted in their order, as `dehusk clean --two-pass` does. The
    statistics take 12 bytes for each text that is on several pages, and 32 for each structure.

    Raises:
        ConfigurationError: there are no such columns, or an observation is something else.
    """
    pages: dict[str, list[bytes]] = {}
    sites, observations = (batch.column(_index(batch, name)) for name in _OBSERVED.names)
    for site, observation in zip(sites, observations, strict=True):
        if (name := site.as_py()) is not None:
            pages.setdefault(name, []).append(observation.as_py() or b"")
    rows = [(site, aggregate(site, packed)) for site, packed in pages.items()]
    return _of_columns(type(batch), rows, _STATISTICS)


def _of_columns(kind: type[Batch], rows: Sequence[tuple[str, bytes]], schema: pa.Schema) -> Batch:
    columns = [pa.array([row[number] for row in rows], field.type) for number, field in enumerate(schema)]
    return kind.from_arrays(columns, schema=schema)


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


def _pages(batch: Batch, columns: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Yield the pages of a batch, as `extract_many` takes them."""
    for part in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
        for number in range(part.num_rows):
            page = {name: _value(part.column(column)[number]) for name, column in columns.items()}
            if page["html"] is None:
                page["html"] = b""
            for name in ("url", "id", "content_type"):
                page[name] = _text(page.get(name))
            yield page


def _distinct(column: pa.Array | pa.ChunkedArray) -> set[bytes]:
    """Return the different values of a column of bytes."""
    values = set(map(_value, column)) - {None}
    if other := next((value for value in values if not isinstance(value, bytes)), None):
        raise ConfigurationError(f"site_statistics are {type(other).__name__}, not bytes")
    return values


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
    pages: Iterator[dict[str, Any]], cleaning: Cleaning, store: AggregatedStatistics | None
) -> Iterator[pa.RecordBatch]:
    results = (_row(page, result) for page, result in Extractions(pages, cleaning, store=store))
    while rows := list(islice(results, _BATCH_ROWS)):
        yield record_batch(rows, row_schema())


def _observe(pages: Iterator[dict[str, Any]], cleaning: Cleaning) -> Iterator[SiteObservation]:
    outcomes = (read_page(page, cleaning.max_page_bytes) for page in pages)
    readable = (outcome for outcome in outcomes if isinstance(outcome, RawPage))
    begun: deque[Future[list[SiteObservation]]] = deque()
    while batch := list(islice(readable, BATCH_PAGES)):
        begun.append(cleaning.observe(batch))
        if len(begun) > cleaning.processes + 1:
            yield from begun.popleft().result()
    for observations in begun:
        yield from observations.result()


@contextmanager
def _cleaning(options: Options, processes: int, page_seconds: float) -> Iterator[Cleaning]:
    """Yield the processes that are kept for these options, or new ones, and keep them."""
    key = (processes, page_seconds, *((name, repr(value)) for name, value in sorted(options.items())))
    with _using:
        cleaning = _kept.pop(key, None) or Cleaning(options, processes, page_seconds)
        try:
            yield cleaning
        except BaseException:
            cleaning.close()
            raise
        _kept[key] = cleaning
        if len(_kept) > _MAX_KEPT:
            _kept.pop(next(iter(_kept))).close()


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
