"""Pages of files and stores as batches of Arrow, for the engines that read none of their formats."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from dehusk.inputs import error_of
from dehusk.options import MOST_BYTES, whole_number
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import RawPage
from dehusk.streams.files.page_lines import LINE_FIELDS, LineFields
from dehusk.streams.files.position import Place
from dehusk.streams.offline.files import PLACE_COLUMNS
from dehusk.streams.offline.reading import Reading
from dehusk.streams.offline.run import is_page
from dehusk.streams.settings import MIB, PageLimits
from dehusk.streams.sources.page import Outcome
from dehusk.streams.stores.stored import InputPath, stored_path

COLUMNS: Mapping[str, Any] = MappingProxyType(
    {name: name for name in ("html", "url", "id", "fetched_at", "language", "error")}
)
"""The columns of `read`, as arguments of `clean` and `observe`."""
_TYPES = {"fetched_at": pa.timestamp("us", "UTC")}
PAGES = pa.schema(
    [
        *((name, _TYPES.get(name, pa.string())) for name in COLUMNS),
        *((name, pa.type_for_alias(kind)) for name, kind in PLACE_COLUMNS),
    ]
)
"""Schema of the batches of `read`."""
_BATCH_BYTES = 32 * MIB
"""Bytes of HTML from which no further page is read into their batch."""
AnyPath = str | os.PathLike[str]


def read(
    paths: AnyPath | Sequence[AnyPath],
    *,
    warc_directory: AnyPath | None = None,
    base_url: str = "",
    fields: Mapping[str, str] | None = None,
    max_page_bytes: int = PageLimits().max_bytes,
    rows: int = 256,
) -> Iterator[pa.RecordBatch]:
    """Yield the pages of files, as `dehusk clean` reads them: WARC, WACZ, HTML, lines of JSON and others.

    Each row is a page, or what should be one: `html`, `url`, `id`, `fetched_at`, and `language`, the header
    `Content-Language`; or `error`, why there is none. `input_file`, `input_offset` and `input_length` are the
    place of the page. A batch holds 32 MiB of HTML and one page more at most.

    Args:
        paths: files, folders, or the URLs of objects in stores.
        warc_directory: the folder, or its URL, of the WARC files that an index among the paths points to.
        base_url: the URL of the folder that is read, for files of HTML.
        fields: paths in lines of JSON, or in rows of Parquet, to `html`, `url` or `id`, where they have other
            names: `{"html": "page.body"}`.
        max_page_bytes: the largest page, in bytes.
        rows: the most rows of a batch.

    Raises:
        ConfigurationError: there is no such path, its store does not give it, or there is no such field.
        UnavailableError: a store does not answer.
    """
    whole_number("rows", rows)
    whole_number("max_page_bytes", max_page_bytes, MOST_BYTES)
    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    reading = Reading([_path(path) for path in named], max_page_bytes, base_url)
    reading.warc_directory = None if warc_directory is None else _path(warc_directory)
    reading.fields = _fields(fields or {})
    return _batches(reading, rows)


def _path(path: AnyPath) -> InputPath:
    return stored_path(os.fspath(path)) or Path(path)


def _fields(paths: Mapping[str, str]) -> LineFields:
    for name, path in paths.items():
        if name not in LINE_FIELDS or not path:
            known = ", ".join(LINE_FIELDS)
            raise ConfigurationError(f"fields says {name!r}: {path!r}; it has paths of {known}")
    return LineFields(**paths)


def _batches(reading: Reading, rows: int) -> Iterator[pa.RecordBatch]:
    batch: list[tuple[object, ...]] = []
    before = 0
    for outcome in reading:
        if not is_page(outcome):
            continue
        batch.append(_row(outcome, reading.position.place))
        if len(batch) == rows or reading.bytes - before >= _BATCH_BYTES:
            yield _batch(batch)
            batch, before = [], reading.bytes
    if batch:
        yield _batch(batch)


def _row(outcome: Outcome, place: Place) -> tuple[object, ...]:
    located = (place.name, place.offset, place.length)
    if not isinstance(outcome, RawPage):
        return (None, outcome.url, outcome.id, None, None, str(error_of(outcome)), *located)
    return (outcome.html, outcome.url, outcome.id, outcome.fetched_at, outcome.language, None, *located)


def _batch(rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    columns = zip(PAGES, zip(*rows, strict=True), strict=True)
    arrays = [pa.array(values, field.type) for field, values in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=PAGES)
