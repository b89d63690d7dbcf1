"""Files of Parquet: pages in columns, or rows of an index, as Common Crawl publishes one."""

from collections.abc import Collection, Iterator
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from dehusk.streams.sources.fields import Fields

_ERRORS = (pa.ArrowException, ValueError, OverflowError)
"""Errors of damaged files, the last one of times that Python lacks."""
_BUFFER_BYTES = 1 << 20
"""Bytes of a column that are read at once."""


class ParquetFile:
    """A file of Parquet, of which memory holds a few rows."""

    def __init__(self, stream: BinaryIO) -> None:
        """Read what it holds.

        Raises:
            OSError: it is damaged.
        """
        try:
            self._file = pq.ParquetFile(stream, buffer_size=_BUFFER_BYTES, pre_buffer=False)
            self.columns = frozenset(self._file.schema_arrow.names)
        except _ERRORS as error:
            raise _damage(error) from error

    def rows(self, columns: Collection[str], at_once: int) -> Iterator[Fields]:
        """Yield the rows, with those of the columns that there are; so many are read at once.

        Raises:
            OSError: it is damaged.
        """
        wanted = sorted(self.columns.intersection(columns))
        try:
            for batch in self._file.iter_batches(at_once, columns=wanted, use_threads=False):
                yield from cast("list[Fields]", batch.to_pylist())
        except _ERRORS as error:
            raise _damage(error) from error


def _damage(error: Exception) -> OSError:
    return OSError(f"it is no whole file of Parquet: {error}")
