"""Files of Parquet: a column for each field of a document, compressed by zstd."""

from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from dehusk.streams.dataset.columns import BATCH_ROWS, record_batch, row_schema
from dehusk.streams.dataset.parts import SUFFIXES, Columns, FileFormat, Row
from dehusk.streams.settings import MIB

GROUP_BYTES = 64 * MIB
"""Bytes of a row group before it is compressed."""
_BATCH_BYTES = 16 * MIB
"""Bytes of pages, as crawled, whose rows do so, however few they are."""
_NOTE = b"dehusk"
"""Key of the note in the metadata of a file."""


class ParquetPart:
    """A file of Parquet."""

    def __init__(self, file: BinaryIO, columns: Columns, max_bytes: int) -> None:
        self._schema = row_schema(columns)
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd", compression_level=3)
        self._group_bytes = min(GROUP_BYTES, max_bytes)
        self._rows: list[Row] = []
        self._raw_bytes = 0
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0

    def write(self, row: Row) -> None:
        """Add a row; write the row group once it is large."""
        self._rows.append(row)
        self._raw_bytes += row.document.raw_length if row.document else 0
        if len(self._rows) == BATCH_ROWS or self._raw_bytes >= _BATCH_BYTES:
            self._make_columns()
            if self._bytes >= self._group_bytes:
                self._write_group()

    def end(self, note: bytes) -> None:
        """Write the last row group, and the note among the metadata."""
        self._make_columns()
        self._write_group()
        self._writer.add_key_value_metadata({_NOTE: note})
        self._writer.close()

    def abandon(self) -> None:
        """Release the file."""
        with suppress(OSError, ValueError):  # it writes its end once more
            self._writer.close()
        self._writer.is_open = False  # else it does so when it is collected

    def _make_columns(self) -> None:
        if self._rows:
            batch = record_batch(self._rows, self._schema)
            self._batches.append(batch)
            self._bytes += batch.nbytes
            self._rows.clear()
            self._raw_bytes = 0

    def _write_group(self) -> None:
        if self._batches:
            group = pa.Table.from_batches(self._batches, self._schema)
            self._writer.write_table(group, row_group_size=len(group))
            self._batches.clear()
            self._bytes = 0


def read_note(path: Path) -> bytes:
    """Return the note of a file.

    Raises:
        ValueError: it is no whole file of Parquet, or has no note.
    """
    note: bytes | None = (pq.read_metadata(path).metadata or {}).get(_NOTE)
    if note is None:
        raise ValueError("its metadata hold no note")
    return note


PARQUET = FileFormat(SUFFIXES["parquet"], ParquetPart, read_note)
