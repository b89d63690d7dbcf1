"""Pages from files, for `dehusk feed` and `dehusk clean`: HTML, JSON lines and WARC.

A file's name tells what it holds: `.warc` is an archive; `.jsonl`, `.ndjson` and `.jl` are lines of JSON,
`{"id", "url", "html"}`, one page each. So is any other file whose first line is one of these; what is left is
one HTML page. Each may be compressed with gzip, xz, bzip2 or zstd. Everything is read as a stream: memory
holds one page at a time.
"""

import codecs
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from mimetypes import MimeTypes
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import quote

from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Damaged, Skipped
from dehusk.streams.inflating import DAMAGE, inflated, peek
from dehusk.streams.input_position import InputPosition
from dehusk.streams.page_lines import Outcome, read_keyed_line, read_page_line
from dehusk.streams.settings import KIB
from dehusk.streams.sources.fields import parse_object
from dehusk.streams.sources.page import BLANK, NOWHERE, beyond, html_page
from dehusk.streams.sources.warc import read_warc

ReadLine = Callable[[bytes, int], Outcome]
Item = TypeVar("Item")

STANDARD_INPUT = Path("-")
ARCHIVES = {".warc"}
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
    """One outcome per file, line or record, in the order of `paths`, directories sorted by name.

    `-` is standard input: JSON lines, or one page where that begins with `<`. An HTML file has the URL of
    its path: below `base_url` as it lies below the path that was named, else `file:///…`. The URL of a
    line is what it says, or empty; with `needs_url`, what is no URL of a page gives one Broken. Where a
    file is damaged, the pages before the damage come first and then one Damaged. `position` is told how far
    reading has come.

    Raises:
        ConfigurationError: a path does not exist.
    """
    read_line = read_keyed_line if needs_url else read_page_line
    position = position or InputPosition()
    for path in paths:
        if path != STANDARD_INPUT and not path.exists():
            raise ConfigurationError(f"there is no file or directory {path}")
    for path in paths:
        if path == STANDARD_INPUT:
            read = partial(_read_input, read_line=read_line, max_bytes=max_bytes, needs_url=needs_url)
            yield from _read_whole(sys.stdin.buffer, "standard input", read, position)
        else:
            yield from _read_path(path, read_line, max_bytes, base_url, position)


def input_size(paths: Sequence[Path]) -> int | None:
    """The bytes of all files, as they lie on disk; None where one is a pipe, which has no size."""
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
    """What `read_line` makes of each line of a file, plain or compressed, whatever the file's name.

    It is given the line and `max_bytes`. Lines too long for a page of so many bytes are Broken.
    """
    read = partial(_read_lines, read_line=read_line, max_bytes=max_bytes)
    yield from _read_file(file, file.absolute().as_uri(), read, InputPosition())


def _read_input(
    stream: BinaryIO, name: str, read_line: ReadLine, max_bytes: int, *, needs_url: bool
) -> Iterator[Outcome]:
    if not peek(stream).lstrip(BLANK).startswith(b"<"):
        yield from _read_lines(stream, name, read_line, max_bytes)
    elif needs_url:
        raise ConfigurationError(f"{name} is HTML without a URL; give files, or JSON lines with both")
    else:
        yield replace(_read_html(stream, name, NOWHERE, max_bytes), url="")


def _read_path(
    path: Path, read_line: ReadLine, max_bytes: int, base_url: str, position: InputPosition
) -> Iterator[Outcome]:
    unreadable: list[OSError] = []
    for file in _files(path, unreadable):
        url = _url(file, path, base_url)
        read = partial(_read_stream, url=url, read_line=read_line, max_bytes=max_bytes)
        yield from _read_file(file, url, read, position)
    yield from (Damaged(BrokenReason.MALFORMED_MESSAGE, f"cannot be read: {error}") for error in unreadable)


def _files(path: Path, unreadable: list[OSError]) -> Iterator[Path]:
    """The file itself, or every file below the directory; links to directories are not followed."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path, onerror=unreadable.append):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _url(file: Path, path: Path, base_url: str) -> str:
    """The URL of a file, the same from wherever it is named; a link below the path is named as itself."""
    top, below = (path, file.relative_to(path)) if path.is_dir() else (path.parent, Path(file.name))
    if not base_url:
        return (top.resolve() / below).as_uri()
    return f"{base_url.rstrip('/')}/{quote(os.fsencode(below))}"


def _read_file(
    file: Path, url: str, read: Callable[[BinaryIO, str], Iterator[Item]], position: InputPosition
) -> Iterator[Item | Broken]:
    name = os.fsencode(file).decode(errors="replace")
    if not file.is_file():
        yield Broken(BrokenReason.MALFORMED_MESSAGE, f"{name} is not a regular file", url)
        return
    try:
        with file.open("rb") as raw:
            yield from _read_whole(raw, name, read, position)
    except OSError as error:
        yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} cannot be read: {error}")


def _read_whole(
    raw: BinaryIO, name: str, read: Callable[[BinaryIO, str], Iterator[Item]], position: InputPosition
) -> Iterator[Item | Broken]:
    try:
        for item in read(inflated(raw), name):
            position.move(raw)
            yield item
    except DAMAGE as damage:
        yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} cannot be read to its end: {damage}")
    position.end_file(raw)


def _read_stream(
    stream: BinaryIO, name: str, url: str, read_line: ReadLine, max_bytes: int
) -> Iterator[Outcome]:
    kind = Path(_COMPRESSED.sub("", name.lower().removesuffix(".open"))).suffix
    if kind in ARCHIVES:
        yield from (_located(outcome, name) for outcome in read_warc(stream, max_bytes))
        return
    start = peek(stream).removeprefix(codecs.BOM_UTF8)
    first = stream.readline(_longest(max_bytes) + 1) if start.lstrip(b" \t").startswith(b"{") else b""
    if kind in LINES or _is_page_line(first, max_bytes):
        yield from _read_lines(stream, name, read_line, max_bytes, first)
    else:
        yield _read_html(stream, name, url, max_bytes, first)


def _is_page_line(line: bytes, max_bytes: int) -> bool:
    """Whether a line is an object with a page, or too long to tell: one that begins so is no HTML."""
    if len(line) > _longest(max_bytes):
        return True
    try:
        return "html" in parse_object(line.removeprefix(codecs.BOM_UTF8))
    except PageError:
        return False


def _longest(max_bytes: int) -> int:
    """Bytes of the longest line of JSON that can hold a page of so many bytes."""
    return ESCAPED * max_bytes + 64 * KIB


def _read_html(stream: BinaryIO, name: str, url: str, max_bytes: int, first: bytes = b"") -> Outcome:
    """The page in a stream, of which the first line may have been read."""
    media_type, _ = _types.guess_type(name)
    body = first + stream.read(max(max_bytes + 1 - len(first), 0))
    outcome = html_page(url=url, body=body, content_type=media_type, source="html", max_bytes=max_bytes)
    if isinstance(outcome, Broken) and outcome.reason is BrokenReason.PAGE_TOO_LARGE:
        return replace(outcome, detail=f"{_size(stream)}{beyond(max_bytes)}")
    return outcome


def _size(stream: BinaryIO) -> str:
    """The beginning of a sentence about a file's size; nothing where it is compressed."""
    is_plain = isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)
    return f"{os.fstat(stream.fileno()).st_size:,} bytes, " if is_plain else ""


def _read_lines(
    stream: BinaryIO,
    name: str,
    read_line: Callable[[bytes, int], Item],
    max_bytes: int,
    first: bytes = b"",
) -> Iterator[Item | Broken]:
    """What the lines of a stream are, of which the first may have been read."""
    longest = _longest(max_bytes)
    rest = iter(partial(stream.readline, longest + 1), b"")
    for number, line in enumerate(chain([first] if first else [], rest), start=1):
        if len(line) > longest:
            detail = f"line {number} of {name} has more than {longest:,} bytes, as no page of --max-page-mib"
            yield Broken(BrokenReason.PAGE_TOO_LARGE, detail)
            _skip_line(stream, line)
        elif not line.isspace():
            yield _located(read_line(line, max_bytes), f"line {number} of {name}")


def _skip_line(stream: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(64 * KIB)


def _located(outcome: Item, location: str) -> Item:
    """What is no page, or broken, says where it stands."""
    if not isinstance(outcome, Skipped | Broken):
        return outcome
    return replace(outcome, detail=f"{location}: {outcome.detail}")
