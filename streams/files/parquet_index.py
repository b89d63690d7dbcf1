"""Rows of an index in Parquet, as Common Crawl publishes one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from dehusk.schemas.outcomes import BrokenReason, Damaged
from dehusk.streams.sources.warc_pointer import OFFSET_COLUMNS

_NEEDED = ("url", "warc_filename")
"""Columns that an index has, beside one of `OFFSET_COLUMNS`."""


def batches(
    stream: BinaryIO, columns: Sequence[str], rows: int, buffer_bytes: int
) -> Iterator[Sequence[Mapping[str, object] | Damaged]]:
    """Yield the rows of a file, so many at once, with those of the columns that there are.

    A file without the columns of an index is Damaged.

    Raises:
        OSError: it is damaged.
    """
    try:
        file = pq.ParquetFile(stream, buffer_size=buffer_bytes, pre_buffer=False)
        there = set(file.schema_arrow.names)
        if not there.issuperset(_NEEDED) or there.isdisjoint(OFFSET_COLUMNS):
            needed = f"{', '.join(_NEEDED)} and {OFFSET_COLUMNS[-1]}"
            detail = f"Parquet without the columns {needed} of an index of WARC files"
            yield [Damaged(BrokenReason.MALFORMED_MESSAGE, detail)]
            return
        wanted = [name for name in columns if name in there]
        for batch in file.iter_batches(rows, columns=wanted, use_threads=False):
            yield cast("list[Mapping[str, object]]", batch.to_pylist())
    except (pa.ArrowException, ValueError, OverflowError) as error:  # the latter for times that Python lacks
        raise OSError(f"it is no whole file of Parquet: {error}") from error
