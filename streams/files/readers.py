"""Pages from files, for `dehusk feed` and `dehusk clean`: HTML, JSON lines and archives.

A file's name tells what it holds: `.warc` and `.arc` are archives, `.wacz` is a zip file of some; `.jsonl`,
`.ndjson` and `.jl` are lines of JSON, `{"id", "url", "html"}`, one page each. Other names are told by what
the file begins with: a record of an archive, or one of these lines; what is left is one HTML page. All but
WACZ may be compressed with gzip, xz, bzip2 or zstd; lines may be in UTF-16. Lines, or rows of Parquet, may
also point to records of WARC files, as Common Crawl's index does; other rows hold a page. Objects in stores
are read as files are.
Everything is read as a stream: memory holds one page at a time, and a few of those that are pointed to.
"""

import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from functools import partial
from itertools import chain, islice
from mimetypes import MimeTypes
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar, cast

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason, Damaged, Skipped, SkipReason
from dehusk.streams.files.index import CDXJ_KEY, Row, begins_index, follow, read_row
from dehusk.streams.files.inflating import InUtf8, Piped, inflated, is_plain, peek, span_on_disk
from dehusk.streams.files.page_lines import (
    DEFAULT_FIELDS,
    LineFields,
    is_page_line,
    is_page_list,
    read_page,
    read_page_line,
)
from dehusk.streams.files.paths import STANDARD_INPUT, files_of, name_of, require_path, url_of
from dehusk.streams.files.position import BEGINNING, InputPosition, Place, located
from dehusk.streams.files.wacz import read_wacz
from dehusk.streams.settings import KIB, MIB
from dehusk.streams.sources.compression import DAMAGE
from dehusk.streams.sources.page import NOWHERE, Answer, Outcome, describe_excess, html_page, known_url
from dehusk.streams.sources.sniffing import BLANK, SNIFFED, WHOLE_PAGE
from dehusk.streams.sources.warc import ARC_BEGINS, MARK, Span, read_warc
from dehusk.streams.sources.warc_pointer import (
    NO_DIRECTORY,
    OFFSET_COLUMNS,
    POINTER_COLUMNS,
    WarcPointer,
    is_pointer,
)
from dehusk.streams.stores.stored import PATIENCE_SECONDS, InputPath, StoredPath
from dehusk.streams.wording import how_to_install

_PARQUET = b"PAR1"
_COLUMNS = f"url, warc_filename and {OFFSET_COLUMNS[-1]}"
"""Columns of an index of WARC files, as an error names them."""
_ZIP = b"PK\x03\x04"
_JSON = "application/json"
_OF_JSON = "pages in JSON are objects with `html`, each on a line of its own, as `jq -c` writes them"
_STANDARD_OUTPUT = 1
"""Descriptor of standard output."""
_HTML_BEGINS = (b"<", codecs.BOM_UTF16_LE + b"<\0", codecs.BOM_UTF16_BE + b"\0<")
_ROWS_AT_ONCE, _PAGES_AT_ONCE = 256, 8
"""Rows of Parquet that are read at once."""
Item = TypeVar("Item")

WACZ = ".wacz"
ARCHIVES = {".warc", ".arc", WACZ}
_ARCHIVE_BEGINS = (MARK, ARC_BEGINS)
LINES = {".jsonl", ".ndjson", ".jl"}
ESCAPED = 6
"""Bytes that one byte of a page may take in a line of JSON, as in `\\u003c`."""
_OF_MARKUP = re.compile("html|xml")
_COMPRESSED = re.compile(r"\.(gz|xz|bz2|zst)$")
_types = MimeTypes()


def read_pages(
    paths: Sequence[InputPath],
    max_bytes: int,
    base_url: str = "",
    *,
    needs_url: bool = False,
    position: InputPosition | None = None,
    after: Place = BEGINNING,
    warc_directory: InputPath | None = None,
    fields: LineFields = DEFAULT_FIELDS,
) -> Iterator[Outcome]:
    """Yield one outcome per file, line or record, in the order of `paths`, directories sorted by name.

    `-` is standard input, which is read as a named pipe is: an archive, one page where that begins with `<`,
    else JSON lines. An HTML file has the URL of its path: below `base_url` as it lies below the path that was
    named, else `file:///…`; a page on standard input has `base_url` itself. The URL of a line is what it
    says, or empty; with `needs_url`, what is no URL of a page gives one Broken. `fields` says where lines
    have what. If a file is damaged, the pages before the damage come first and then one Damaged. `position`
    is kept up to date. Items up to the place `after` are left out; files that hold no others are not read.
    Rows of an index point to WARC files in `warc_directory`.

    Raises:
        ConfigurationError: a path does not exist, or a store does not give it.
        UnavailableError: a store does not answer.
    """
    for path in paths:
        require_path(path)
    position = position or InputPosition()
    reader = _PageReader(
        fields, max_bytes, position, after, warc_directory, base_url=base_url, needs_url=needs_url
    )
    for path in paths:
        for outcome in reader.read_path(path):
            position.move()
            if position.place.is_after(after):
                yield outcome


def read_lines(
    file: Path, read_line: Callable[[bytes, int], Item], max_bytes: int
) -> Iterator[Item | Broken]:
    """Yield the result of `read_line` for each line of a file, plain or compressed, whatever its name.

    It is given the line and `max_bytes`. Lines too long for a page of so many bytes are Broken.
    """
    reader = _LineReader(read_line, max_bytes)
    yield from reader.read_file(file, file.absolute().as_uri(), reader.read_lines)


class _LineReader(Generic[Item]):
    """Reader of files of lines."""

    def __init__(
        self, read_line: Callable[[bytes, int], Item], max_bytes: int, position: InputPosition | None = None
    ) -> None:
        self._read_line = read_line
        self._max_bytes = max_bytes
        self._max_line = ESCAPED * max_bytes + 64 * KIB
        """Bytes of the longest line of JSON that can hold a page."""
        self._position = position or InputPosition()
        self._file_size = 0
        """Bytes of the file that is read now."""

    def read_file(
        self, file: InputPath, url: str, read: Callable[[BinaryIO, str], Iterator[Item | Broken]]
    ) -> Iterator[Item | Broken]:
        """Yield what `read` yields of a file, given its stream and its name."""
        name = name_of(file)
        try:
            if not file.is_file():
                yield Broken(BrokenReason.MALFORMED_MESSAGE, f"{name} is not a regular file", url)
                return
            with file.open() if isinstance(file, StoredPath) else file.open("rb") as raw:
                self._file_size = _size_of(raw)
                yield from self.read_whole(raw, name, read)
        except OSError as error:
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} cannot be read: {error}")

    def read_whole(
        self, raw: BinaryIO, name: str, read: Callable[[BinaryIO, str], Iterator[Item | Broken]]
    ) -> Iterator[Item | Broken]:
        """Yield what `read` yields of a stream, inflated, and keep the position up to date."""
        self._position.open_file(raw)
        try:
            yield from read(inflated(raw), name)
        except DAMAGE as damage:
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} cannot be read to its end: {damage}")
        self._position.end_file()

    def read_lines(self, stream: BinaryIO, name: str, first: bytes = b"") -> Iterator[Item | Broken]:
        """Yield the results of the lines of a stream, of which the first may have been read."""
        has_spans = is_plain(stream)
        if not first and peek(stream).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            stream, has_spans = io.BufferedReader(InUtf8(stream)), False
        begin = end = 0
        rest = iter(partial(stream.readline, self._max_line + 1), b"")
        for number, line in enumerate(chain([first] if first else [], rest), start=1):
            location = f"line {number} of {name}"
            is_long = len(line) > self._max_line
            begin, end = end, end + len(line) + (_skip_line(stream, line) if is_long else 0)
            self._position.span = (begin, end - begin) if has_spans else None
            if is_long:
                detail = f"{location} has more than {self._max_line:,} bytes, as no page of --max-page-mib"
                yield Broken(BrokenReason.PAGE_TOO_LARGE, detail)
            elif not line.isspace():
                yield located(self._read_line(line, self._max_bytes), location)


class _PageReader(_LineReader[Outcome]):
    """Reader of files of pages, each by its name and its first bytes."""

    def __init__(
        self,
        fields: LineFields,
        max_bytes: int,
        position: InputPosition,
        after: Place,
        warc_directory: InputPath | None,
        *,
        base_url: str,
        needs_url: bool,
    ) -> None:
        """Pass over the files before that of the place `after`, and the rows of an index up to it."""
        super().__init__(partial(read_page_line, names=fields, needs_url=needs_url), max_bytes, position)
        self._fields = fields
        self._base_url = base_url
        self._needs_url = needs_url
        self._after = after
        self._warc_directory = warc_directory

    def read_path(self, path: InputPath) -> Iterator[Outcome]:
        """Yield the pages of a file, of all files below a directory, or of standard input."""
        if path == STANDARD_INPUT:
            yield from self._read_piped(sys.stdin.buffer, "standard input")
            return
        if isinstance(path, Path) and path.is_fifo():
            with path.open("rb") as raw:
                yield from self._read_piped(raw, name_of(path))
            return
        unreadable: list[OSError] = []
        for file in files_of(path, unreadable):
            self._position.begin_file(name_of(file))
            if self._position.place.file < self._after.file:
                with suppress(OSError):
                    size = file.measure() if isinstance(file, StoredPath) else file.stat().st_size
                    self._position.skip_file(size)
                continue
            if isinstance(file, Path) and _is_output(file):
                detail = f"{name_of(file)} is what standard output is written to"
                yield Skipped(SkipReason.NOT_A_PAGE, detail)
                continue
            url = url_of(file, path, self._base_url)
            if self._needs_url and not url.startswith(("http", "file:")):
                url = ""
            yield from self.read_file(file, url, partial(self._read_stream, url=url))
        self._position.begin_file(name_of(path))  # of what is not there
        for error in unreadable:
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"cannot be read: {error}")

    def _read_piped(self, raw: BinaryIO, name: str) -> Iterator[Outcome]:
        self._position.begin_file(name)
        piped = cast("BinaryIO", io.BufferedReader(Piped(raw)))
        yield from self.read_whole(piped, name, self._read_input)

    def _read_input(self, stream: BinaryIO, name: str) -> Iterator[Outcome]:
        """Yield the pages of a pipe: of an archive, one page that begins with `<`, or JSON lines."""
        start = peek(stream)
        if start.startswith(_ARCHIVE_BEGINS):
            yield from read_warc(stream, self._max_bytes)
        elif start.startswith((_ZIP, _PARQUET)):
            kind = "a zip file" if start.startswith(_ZIP) else "Parquet"
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} is {kind}: give its path")
        elif not start.lstrip(BLANK).startswith(_HTML_BEGINS):
            yield from self._read_any_lines(stream, name, self._first_line(stream))
        elif self._needs_url and not self._base_url:
            raise ConfigurationError(f"{name} is HTML without a URL: give it with --base-url")
        else:
            page = self._read_html(stream, name, self._base_url or NOWHERE)
            yield page if self._base_url else replace(page, url="")

    def _read_stream(self, stream: BinaryIO, name: str, url: str) -> Iterator[Outcome]:
        kind = Path(_COMPRESSED.sub("", name.lower().removesuffix(".open"))).suffix
        if kind in ARCHIVES or peek(stream).startswith(_ARCHIVE_BEGINS):
            yield from (located(outcome, name) for outcome in self._read_archive(stream, kind))
            return
        if kind == ".parquet" or peek(stream).startswith(_PARQUET):
            yield from (located(outcome, name) for outcome in self._read_parquet(stream, name))
            return
        first = self._first_line(stream)
        if is_page_list(first):
            yield Skipped(SkipReason.NOT_A_PAGE, f"{name}: the list of pages of a WACZ")
        elif (
            kind in LINES
            or len(first) > self._max_line  # no HTML begins so
            or is_page_line(first, self._fields)
            or begins_index(first)
        ):
            yield from self._read_any_lines(stream, name, first)
        elif not url:
            detail = f"{name} is HTML, and its place in a store no URL of a page: give --base-url"
            yield Broken(BrokenReason.MISSING_URL, detail)
        else:
            self._position.span = (0, self._file_size)
            is_of_page = known_url(url) is not None
            page = self._read_html(stream, name, url if is_of_page else NOWHERE, first)
            yield page if is_of_page else replace(page, url=url)

    def _first_line(self, stream: BinaryIO) -> bytes:
        """Read the first line, if it may be an object, or a row of CDXJ; else nothing."""
        start = peek(stream).removeprefix(codecs.BOM_UTF8)
        is_line = start.lstrip(b" \t").startswith(b"{")
        if self._warc_directory is not None:  # CDXJ also lies beside the WARC files of a crawl
            is_line = is_line or CDXJ_KEY.match(start) is not None
        return stream.readline(self._max_line + 1) if is_line else b""

    def _read_any_lines(self, stream: BinaryIO, name: str, first: bytes) -> Iterator[Outcome]:
        """Yield the pages of lines that hold them, or that point to them, as the first one tells."""
        if not begins_index(first):
            yield from self.read_lines(stream, name, first)
            return
        rows = _LineReader(read_row, self._max_bytes, self._position).read_lines(stream, name, first)
        yield from self._follow(rows, name)

    def _read_parquet(self, stream: BinaryIO, name: str) -> Iterator[Outcome]:
        """Yield the pages in the rows of a file, or those that its rows point to.

        Raises:
            OSError: it is damaged, or the extra `parquet` is not installed.
        """
        try:
            from dehusk.streams.files.parquet import ParquetFile  # noqa: PLC0415 it needs the extra `parquet`
        except ModuleNotFoundError as error:
            raise OSError(f"Parquet needs an extra: {how_to_install('parquet')}") from error

        file, columns = ParquetFile(stream), [path.partition(".")[0] for path in astuple(self._fields)]
        if self._fields.html.partition(".")[0] in file.columns:
            for row in file.rows(columns, _PAGES_AT_ONCE):
                yield read_page(row, None, self._max_bytes, self._fields, needs_url=self._needs_url)
        elif "url" in file.columns and is_pointer(dict.fromkeys(file.columns)):
            yield from self._follow(file.rows(POINTER_COLUMNS, _ROWS_AT_ONCE), name)
        else:
            detail = (
                f"Parquet without the columns {_COLUMNS} of an index of WARC files, and without a column "
                f"{self._fields.html!r} of pages: say which one has them, --field html=COLUMN"
            )
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, detail)

    def _follow(self, rows: Iterator[Row], name: str) -> Iterator[Outcome]:
        """Yield the pages that the rows of an index point to; Damaged without a folder of the WARC files."""
        if self._warc_directory is None:
            for row in islice(rows, 1):
                detail = f"{name} is an index of WARC files: {NO_DIRECTORY}"
                lack = Damaged(BrokenReason.RECORD_NOT_FOUND, detail)
                yield row if isinstance(row, Skipped | Broken) else lack
            return
        pointers = WarcPointer(self._max_bytes, self._warc_directory, PATIENCE_SECONDS)
        pointers.require_folder()
        passed = self._after.item if self._after.file == self._position.place.file else 0
        yield from follow(rows, pointers, self._position, passed)

    def _read_archive(self, stream: BinaryIO, kind: str) -> Iterator[Outcome]:
        if kind != WACZ:
            if not peek(stream):  # a copy that has failed: an archive has one record at least
                yield Damaged(BrokenReason.MALFORMED_MESSAGE, "the archive is empty")
            span = Span()
            for outcome in read_warc(stream, self._max_bytes, span=span):
                self._position.span = span_on_disk(stream, span)
                yield outcome
        elif is_plain(stream):
            yield from read_wacz(stream, self._max_bytes)
            stream.seek(0, os.SEEK_END)
        else:
            yield Broken(BrokenReason.MALFORMED_MESSAGE, "a WACZ that is compressed once more: unpack it")

    def _read_html(self, stream: BinaryIO, name: str, url: str, first: bytes = b"") -> Outcome:
        """Read the page in a stream, of which the first line may have been read."""
        body = first + _read(stream, self._max_bytes + 1 - len(first))
        media_type, _ = _types.guess_type(name)
        says_page = WHOLE_PAGE.match(body[:SNIFFED].lstrip(BLANK))
        if says_page and media_type and not _OF_MARKUP.search(media_type):
            media_type = None  # the end of a URL's path, as in `Node.js`
        outcome = html_page(Answer(url, body, media_type), "html", self._max_bytes)
        is_cut = len(body) > self._max_bytes
        if is_cut and isinstance(outcome, Broken) and outcome.reason is BrokenReason.PAGE_TOO_LARGE:
            size = f"{_size_of(stream):,} bytes, " if is_plain(stream) else ""
            return replace(outcome, detail=f"{size}{describe_excess(self._max_bytes)}")
        if isinstance(outcome, Skipped) and body.startswith(_ZIP):
            return replace(outcome, detail=f"{outcome.detail}; if it is a WACZ, give it a name with {WACZ}")
        if isinstance(outcome, Skipped) and media_type == _JSON:
            return replace(outcome, detail=f"{outcome.detail}; {_OF_JSON}")
        return outcome


def _read(stream: BinaryIO, size: int) -> bytes:
    """Return the next bytes of a stream, in memory for no more than there are."""
    pieces = []
    while size > 0 and (piece := stream.read(min(size, MIB))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _is_output(file: Path) -> bool:
    """Return True for the regular file that standard output is written to, which would have no end."""
    try:
        return os.path.samestat(file.stat(), os.fstat(_STANDARD_OUTPUT)) and file.is_file()
    except OSError:
        return False


def _size_of(stream: BinaryIO) -> int:
    """Return the bytes of a file, which is read on where it was."""
    position = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(position)
    return size


def _skip_line(stream: BinaryIO, line: bytes) -> int:
    """Skip the rest of a line; return its bytes."""
    count = 0
    while line and not line.endswith(b"\n"):
        line = stream.readline(64 * KIB)
        count += len(line)
    return count
