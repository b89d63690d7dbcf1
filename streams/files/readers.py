"""Pages from files, for `dehusk feed` and `dehusk clean`: HTML, JSON lines and archives.

A file's name tells what it holds: `.warc` and `.arc` are archives, `.wacz` is a zip file of some; `.jsonl`,
`.ndjson` and `.jl` are lines of JSON, `{"id", "url", "html"}`, one page each. Other names are told by what
the file begins with: a record of an archive, or one of these lines; what is left is one HTML page. All but
WACZ may be compressed with gzip, xz, bzip2 or zstd; lines may be in UTF-16. Everything is read as a stream:
memory holds one page at a time.
"""

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from mimetypes import MimeTypes
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar, cast
from urllib.parse import quote

import zstandard

from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Damaged, Skipped, SkipReason
from dehusk.streams.files.page_lines import is_page_list, parse_line, read_keyed_line, read_page_line
from dehusk.streams.files.wacz import read_wacz
from dehusk.streams.settings import KIB, MIB
from dehusk.streams.sources.compression import GZIP, ZSTD
from dehusk.streams.sources.page import NOWHERE, Answer, Outcome, describe_excess, html_page
from dehusk.streams.sources.sniffing import BLANK
from dehusk.streams.sources.warc import ARC_BEGINS, MARK, read_warc

DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
"""Errors of reading a stream that is cut off, or whose bytes were changed."""
_ZIP = b"PK\x03\x04"
_XZ = b"\xfd7zXZ\x00"
_BZIP2 = b"BZh"
_ZSTD_WINDOW = 128 * MIB
"""Window that `zstd --ultra` and `zstd --long` need; a larger one is refused."""
_ZSTD_STEP = KIB
"""Bytes that are inflated at once: they give 32 MiB at most, 128 KiB for each four."""
_PEEKED = 64


def inflated(raw: BinaryIO) -> BinaryIO:
    """Return the stream itself, or its content if it begins as gzip, xz, bzip2 or zstd do."""
    start = peek(raw)
    if start.startswith(GZIP):
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if start.startswith(_BZIP2):
        return cast("BinaryIO", bz2.BZ2File(raw))
    if start.startswith(ZSTD):
        return io.BufferedReader(_ZstdFile(raw))
    return cast("BinaryIO", lzma.LZMAFile(raw)) if start.startswith(_XZ) else raw


def peek(stream: BinaryIO) -> bytes:
    """Return the first bytes of a stream, which stay in it."""
    return cast("io.BufferedReader", stream).peek(_PEEKED)


class _Converted(io.RawIOBase):
    """A stream that is read in another form, some bytes after the other."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._converted = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # narrower than any buffer
        """Write bytes to the buffer, and return their number; 0 at the end."""
        while not self._converted and self._convert():
            pass
        count = min(len(buffer), len(self._converted))
        buffer[:count] = self._converted[:count]
        self._converted = self._converted[count:]
        return count

    @abstractmethod
    def _convert(self) -> bool:
        """Convert the next bytes, unless there are none."""


class _InUtf8(_Converted):
    """A stream of UTF-16 with a byte order mark, in UTF-8."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw)
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def _convert(self) -> bool:
        data = self._raw.read(64 * KIB)
        self._converted = memoryview(self._decoder.decode(data, final=not data).encode())
        return bool(data)


class _ZstdFile(_Converted):
    """All frames of a zstd file; unlike zstandard's own reader, it tells where a file is cut off."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw)
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._next_frame = b""

    def _convert(self) -> bool:
        """Inflate the next bytes, unless there are none.

        Raises:
            EOFError: the file ends within a frame.
        """
        data = self._next_frame or self._raw.read(_ZSTD_STEP)
        if not data and self._frame is not None:
            raise EOFError("it ends within a frame of zstd")
        if data:
            decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
            frame = self._frame or decompressor.decompressobj()
            self._converted = memoryview(frame.decompress(data))
            self._frame, self._next_frame = (None, frame.unused_data) if frame.eof else (frame, b"")
        return bool(data)


class InputPosition:
    """The number of bytes that were read, as they lie on disk; 0 if that cannot be told, as of a pipe."""

    def __init__(self) -> None:
        self.bytes = 0
        self._before = 0

    def move(self, raw: BinaryIO) -> None:
        """Note the position in the file that is read now."""
        with suppress(OSError):
            self.bytes = self._before + raw.tell()

    def end_file(self, raw: BinaryIO) -> None:
        """Note that the file is done with, and the next one begins."""
        self.move(raw)
        self._before = self.bytes


Item = TypeVar("Item")

STANDARD_INPUT = Path("-")
WACZ = ".wacz"
ARCHIVES = {".warc", ".arc", WACZ}
_ARCHIVE_BEGINS = (MARK, ARC_BEGINS)
LINES = {".jsonl", ".ndjson", ".jl"}
ESCAPED = 6
"""Bytes that one byte of a page may take in a line of JSON, as in `\\u003c`."""
_COMPRESSED = re.compile(r"\.(gz|xz|bz2|zst)$")
_types = MimeTypes()


def read_pages(
    paths: Sequence[Path],
    max_bytes: int,
    base_url: str = "",
    *,
    needs_url: bool = False,
    position: InputPosition | None = None,
) -> Iterator[Outcome]:
    """Yield one outcome per file, line or record, in the order of `paths`, directories sorted by name.

    `-` is standard input: an archive, one page where that begins with `<`, else JSON lines. An HTML file has
    the URL of its path: below `base_url` as it lies below the path that was named, else `file:///…`. The URL
    of a line is what it says, or empty; with `needs_url`, what is no URL of a page gives one Broken. If a
    file is damaged, the pages before the damage come first and then one Damaged. `position` is kept up to
    date.

    Raises:
        ConfigurationError: a path does not exist.
    """
    for path in paths:
        if path != STANDARD_INPUT and not path.exists():
            raise ConfigurationError(f"there is no file or directory {path}")
    reader = _PageReader(read_keyed_line if needs_url else read_page_line, max_bytes, position)
    for path in paths:
        if path == STANDARD_INPUT:
            read = partial(reader.read_input, needs_url=needs_url)
            yield from reader.read_whole(sys.stdin.buffer, "standard input", read)
        else:
            yield from reader.read_path(path, base_url)


def input_size(paths: Sequence[Path]) -> int | None:
    """Return the bytes of all files, as they lie on disk; None if one is a pipe, which has no size."""
    size = 0
    for file in chain.from_iterable(_files(path, []) for path in paths):
        with suppress(OSError):  # what cannot be read is told when it is read
            status = os.fstat(sys.stdin.fileno()) if file == STANDARD_INPUT else file.stat()
            if not stat.S_ISREG(status.st_mode):
                return None
            size += status.st_size
    return size


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

    def read_file(
        self, file: Path, url: str, read: Callable[[BinaryIO, str], Iterator[Item | Broken]]
    ) -> Iterator[Item | Broken]:
        """Yield what `read` yields of a file, given its stream and its name."""
        name = os.fsencode(file).decode(errors="replace")
        if not file.is_file():
            yield Broken(BrokenReason.MALFORMED_MESSAGE, f"{name} is not a regular file", url)
            return
        try:
            with file.open("rb") as raw:
                yield from self.read_whole(raw, name, read)
        except OSError as error:
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} cannot be read: {error}")

    def read_whole(
        self, raw: BinaryIO, name: str, read: Callable[[BinaryIO, str], Iterator[Item | Broken]]
    ) -> Iterator[Item | Broken]:
        """Yield what `read` yields of a stream, inflated, and keep the position up to date."""
        try:
            for item in read(inflated(raw), name):
                self._position.move(raw)
                yield item
        except DAMAGE as damage:
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} cannot be read to its end: {damage}")
        self._position.end_file(raw)

    def read_lines(self, stream: BinaryIO, name: str, first: bytes = b"") -> Iterator[Item | Broken]:
        """Yield the results of the lines of a stream, of which the first may have been read."""
        if peek(stream).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            stream = io.BufferedReader(_InUtf8(stream))
        rest = iter(partial(stream.readline, self._max_line + 1), b"")
        for number, line in enumerate(chain([first] if first else [], rest), start=1):
            location = f"line {number} of {name}"
            if len(line) > self._max_line:
                detail = f"{location} has more than {self._max_line:,} bytes, as no page of --max-page-mib"
                yield Broken(BrokenReason.PAGE_TOO_LARGE, detail)
                _skip_line(stream, line)
            elif not line.isspace():
                yield _located(self._read_line(line, self._max_bytes), location)


class _PageReader(_LineReader[Outcome]):
    """Reader of files of pages, each by its name and its first bytes."""

    def read_path(self, path: Path, base_url: str) -> Iterator[Outcome]:
        """Yield the pages of a file, or of all files below a directory."""
        unreadable: list[OSError] = []
        for file in _files(path, unreadable):
            url = _url(file, path, base_url)
            yield from self.read_file(file, url, partial(self._read_stream, url=url))
        for error in unreadable:
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"cannot be read: {error}")

    def read_input(self, stream: BinaryIO, name: str, *, needs_url: bool) -> Iterator[Outcome]:
        """Yield the pages of standard input: of an archive, one page that begins with `<`, or JSON lines."""
        start = peek(stream)
        if start.startswith(_ARCHIVE_BEGINS):
            yield from read_warc(stream, self._max_bytes)
        elif start.startswith(_ZIP):
            yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} is a zip file: give its path")
        elif not start.lstrip(BLANK).startswith(b"<"):
            yield from self.read_lines(stream, name)
        elif needs_url:
            raise ConfigurationError(f"{name} is HTML without a URL; give files, or JSON lines with both")
        else:
            yield replace(self._read_html(stream, name, NOWHERE), url="")

    def _read_stream(self, stream: BinaryIO, name: str, url: str) -> Iterator[Outcome]:
        kind = Path(_COMPRESSED.sub("", name.lower().removesuffix(".open"))).suffix
        if kind in ARCHIVES or peek(stream).startswith(_ARCHIVE_BEGINS):
            yield from (_located(outcome, name) for outcome in self._read_archive(stream, kind))
            return
        start = peek(stream).removeprefix(codecs.BOM_UTF8)
        first = stream.readline(self._max_line + 1) if start.lstrip(b" \t").startswith(b"{") else b""
        if is_page_list(first):
            yield Skipped(SkipReason.NOT_A_PAGE, f"{name}: the list of pages of a WACZ")
        elif kind in LINES or self._is_page_line(first):
            yield from self.read_lines(stream, name, first)
        else:
            yield self._read_html(stream, name, url, first)

    def _read_archive(self, stream: BinaryIO, kind: str) -> Iterator[Outcome]:
        if kind != WACZ:
            yield from read_warc(stream, self._max_bytes)
        elif _is_plain(stream):
            yield from read_wacz(stream, self._max_bytes)
            stream.seek(0, os.SEEK_END)
        else:
            yield Broken(BrokenReason.MALFORMED_MESSAGE, "a WACZ that is compressed once more: unpack it")

    def _is_page_line(self, line: bytes) -> bool:
        """Return True if a line is an object with a page, or too long to tell: no HTML begins so."""
        if len(line) > self._max_line:
            return True
        try:
            return "html" in parse_line(line)
        except PageError:
            return False

    def _read_html(self, stream: BinaryIO, name: str, url: str, first: bytes = b"") -> Outcome:
        """Read the page in a stream, of which the first line may have been read."""
        media_type, _ = _types.guess_type(name)
        body = first + stream.read(max(self._max_bytes + 1 - len(first), 0))
        outcome = html_page(Answer(url, body, media_type), "html", self._max_bytes)
        if isinstance(outcome, Broken) and outcome.reason is BrokenReason.PAGE_TOO_LARGE:
            return replace(outcome, detail=f"{_size(stream)}{describe_excess(self._max_bytes)}")
        if isinstance(outcome, Skipped) and body.startswith(_ZIP):
            return replace(outcome, detail=f"{outcome.detail}; if it is a WACZ, give it a name with {WACZ}")
        return outcome


def _files(path: Path, unreadable: list[OSError]) -> Iterator[Path]:
    """Yield the file itself, or every file below the directory; links to directories are not followed."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path, onerror=unreadable.append):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _url(file: Path, path: Path, base_url: str) -> str:
    """Return the URL of a file, the same from wherever it is named; a link below the path is its own file."""
    top, below = (path, file.relative_to(path)) if path.is_dir() else (path.parent, Path(file.name))
    if not base_url:
        return (top.resolve() / below).as_uri()
    return f"{base_url.rstrip('/')}/{quote(os.fsencode(below))}"


def _size(stream: BinaryIO) -> str:
    """Return the beginning of a sentence about a file's size; empty if it is compressed."""
    return f"{os.fstat(stream.fileno()).st_size:,} bytes, " if _is_plain(stream) else ""


def _is_plain(stream: BinaryIO) -> bool:
    return isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)


def _skip_line(stream: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(64 * KIB)


def _located(outcome: Item, location: str) -> Item:
    """Add its location to the detail of what is no page, or broken."""
    if not isinstance(outcome, Skipped | Broken):
        return outcome
    return replace(outcome, detail=f"{location}: {outcome.detail}")
