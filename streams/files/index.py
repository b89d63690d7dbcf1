"""Pages of the WARC records that the rows of an index point to, several of which are read at once."""

import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.streams.files.page_lines import parse_line
from dehusk.streams.files.position import InputPosition
from dehusk.streams.sources.fields import Fields
from dehusk.streams.sources.page import Outcome
from dehusk.streams.sources.warc_pointer import WarcPointer, is_pointer

_AT_ONCE = 16
"""Records that are read at once: from a store, each takes some 50 ms, most of them waiting."""
_PASSED = Skipped(SkipReason.NOT_A_PAGE, "it was read before")

_CDX = {
    "filename": "warc_filename",
    "offset": "warc_record_offset",
    "length": "warc_record_length",
    "status": "fetch_status",
    "mime": "content_mime_type",
}
"""Columns of an index by the names of a CDX server's fields."""
_CDX_MARKS = {"url", "filename", "offset", "length"}

CDXJ_KEY = re.compile(rb"\A\S+ \d{14} (?=\{)")
"""Key of a line of CDXJ, before its object: the URL by its host and the time."""

Row = Fields | Skipped | Broken
"""Row of an index, or the reason why it is none."""


def begins_index(line: bytes) -> bool:
    """Return True if a line is a row of an index, without a page."""
    try:
        return is_pointer(fields := _parse_row(line)) and "html" not in fields
    except PageError:
        return False


def read_row(line: bytes, _max_bytes: int) -> Row:
    """Return the row of a line."""
    try:
        return _parse_row(line)
    except PageError as error:
        return Broken(error.reason, str(error))


def _parse_row(line: bytes) -> Fields:
    """Return the fields of a line by the names of columns; a CDX server has others.

    Raises:
        PageError: the line is no row.
    """
    fields = parse_line(CDXJ_KEY.sub(b"", line))
    if not fields.keys() >= _CDX_MARKS:
        return fields
    return {_CDX.get(name, name): value for name, value in fields.items()}


def follow(
    rows: Iterator[Row], pointers: WarcPointer, position: InputPosition, passed: int
) -> Iterator[Outcome]:
    """Yield the outcome of each row, in their order, and keep the position up to date.

    The first `passed` rows are not followed. An error of the rows is raised after the outcomes before it.

    Raises:
        UnavailableError: the store of the WARC files does not answer.
    """
    waiting: deque[tuple[Future[Outcome] | Outcome, tuple[int, int] | None]] = deque()
    threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="index")

    def first() -> Outcome:
        begun, position.span = waiting.popleft()
        return begun.result() if isinstance(begun, Future) else begun

    try:
        error: Exception | None = None
        for number, row in enumerate(_and_error(rows), start=1):
            if isinstance(row, Exception):
                error = row
                break
            waiting.append((_begin(threads, pointers, row, is_passed=number <= passed), position.span))
            if len(waiting) == _AT_ONCE:
                yield first()
        while waiting:
            yield first()
        if error is not None:
            raise error
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def _and_error(rows: Iterator[Row]) -> Iterator[Row | Exception]:
    try:
        yield from rows
    except Exception as error:  # noqa: BLE001 it is raised later
        yield error


def _begin(
    threads: ThreadPoolExecutor, pointers: WarcPointer, row: Row, *, is_passed: bool
) -> Future[Outcome] | Outcome:
    if is_passed:
        return _PASSED
    if isinstance(row, Skipped | Broken):
        return row
    if not is_pointer(row):
        return Broken(BrokenReason.MALFORMED_MESSAGE, "a row without the columns of a pointer to a record")
    return threads.submit(pointers.follow, row)
