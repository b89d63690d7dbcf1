"""Pages from files, for `dehusk feed` and `dehusk clean`: HTML, JSON lines and WARC.

A file's name tells what it holds: `.warc` is an archive; `.jsonl`, `.ndjson` and `.jl` are lines of JSON,
`{"id", "url", "html"}`, one page each; any other file is one HTML page. Each may be compressed with gzip,
xz or bzip2. Everything is read as a stream: memory holds one page at a time.
"""

import bz2
import codecs
import gzip
import io
import json
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from mimetypes import MimeTypes
from pathlib import Path
from typing import BinaryIO, TypeVar, cast
from urllib.parse import quote

from schemas.errors import ConfigurationError, PageError
from schemas.outcomes import Broken, BrokenReason, Damaged, Skipped
from schemas.pages import RawPage
from streams.settings import KIB
from streams.sources.encoding import encode_text
from streams.sources.fields import Fields, expect_text, parse_object
from streams.sources.page import BLANK, beyond, html_page, page_url
from streams.sources.warc import read_warc

Outcome = RawPage | Skipped | Broken
ReadLine = Callable[[bytes, int], Outcome]
Item = TypeVar("Item")

STANDARD_INPUT = Path("-")
ARCHIVES = {".warc"}
LINES = {".jsonl", ".ndjson", ".jl"}
GZIP = b"\x1f\x8b"
XZ = b"\xfd7zXZ\x00"
BZIP2 = b"BZh"
ZSTD = b"\x28\xb5\x2f\xfd"
ESCAPED = 6
"""Bytes that one byte of a page may take in a line of JSON, as in `\\u003c`."""
NOWHERE = "file:///"
"""Stands for the URL of a line, which may be anything, while its page is read."""
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)

_COMPRESSED = re.compile(r"\.(gz|xz|bz2)$")
_PEEKED = 64
_types = MimeTypes()


def read_pages(
    paths: Sequence[Path], max_bytes: int, base_url: str = "", *, needs_url: bool = False
) -> Iterator[Outcome]:
    """One outcome per file, line or record, in the order of `paths`, directories sorted by name.

    `-` is standard input: JSON lines, or one page where that begins with `<`. An HTML file has the URL of
    its path: below `base_url` as it lies below the path that was named, else `file:///…`. The URL of a
    line is what it says, or empty; with `needs_url`, what is no URL of a page gives one Broken. Where a
    file is damaged, the pages before the damage come first and then one Damaged.

    Raises:
        ConfigurationError: a path does not exist.
    """
    read_line = _read_keyed_line if needs_url else read_page_line
    for path in paths:
        if path != STANDARD_INPUT and not path.exists():
            raise ConfigurationError(f"there is no file or directory {path}")
    for path in paths:
        if path == STANDARD_INPUT:
            read = partial(_read_input, read_line=read_line, max_bytes=max_bytes, needs_url=needs_url)
            yield from _read_whole(sys.stdin.buffer, "standard input", read)
        else:
            yield from _read_path(path, read_line, max_bytes, base_url)


def read_lines(
    file: Path, read_line: Callable[[bytes, int], Item], max_bytes: int
) -> Iterator[Item | Broken]:
    """What `read_line` makes of each line of a file, plain or compressed, whatever the file's name.

    It is given the line and `max_bytes`. Lines too long for a page of so many bytes are Broken.
    """
    read = partial(_read_lines, read_line=read_line, max_bytes=max_bytes)
    yield from _read_file(file, file.absolute().as_uri(), read)


def _read_input(
    stream: BinaryIO, name: str, read_line: ReadLine, max_bytes: int, *, needs_url: bool
) -> Iterator[Outcome]:
    if not _peek(stream).lstrip(BLANK).startswith(b"<"):
        yield from _read_lines(stream, name, read_line, max_bytes)
    elif needs_url:
        raise ConfigurationError(f"{name} is HTML without a URL; give files, or JSON lines with both")
    else:
        yield replace(_read_html(stream, name, NOWHERE, max_bytes), url="")


def _read_path(path: Path, read_line: ReadLine, max_bytes: int, base_url: str) -> Iterator[Outcome]:
    unreadable: list[OSError] = []
    for file in _files(path, unreadable):
        url = _url(file, path, base_url)
        read = partial(_read_stream, url=url, read_line=read_line, max_bytes=max_bytes)
        yield from _read_file(file, url, read)
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
    file: Path, url: str, read: Callable[[BinaryIO, str], Iterator[Item]]
) -> Iterator[Item | Broken]:
    name = os.fsencode(file).decode(errors="replace")
    if not file.is_file():
        yield Broken(BrokenReason.MALFORMED_MESSAGE, f"{name} is not a regular file", url)
        return
    try:
        with file.open("rb") as raw:
            yield from _read_whole(raw, name, read)
    except OSError as error:
        yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} cannot be read: {error}")


def _read_whole(
    raw: BinaryIO, name: str, read: Callable[[BinaryIO, str], Iterator[Item]]
) -> Iterator[Item | Broken]:
    try:
        yield from read(_inflated(raw), name)
    except DAMAGE as damage:
        yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"{name} cannot be read to its end: {damage}")


def _inflated(raw: BinaryIO) -> BinaryIO:
    start = _peek(raw)
    if start.startswith(GZIP):
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if start.startswith(BZIP2):
        return cast("BinaryIO", bz2.BZ2File(raw))
    if start.startswith(ZSTD):
        raise OSError("it is compressed with zstd; decompress it first (zstd -d)")
    return cast("BinaryIO", lzma.LZMAFile(raw)) if start.startswith(XZ) else raw


def _peek(stream: BinaryIO) -> bytes:
    """The first bytes of a stream, which stay in it."""
    return cast("io.BufferedReader", stream).peek(_PEEKED)


def _read_stream(
    stream: BinaryIO, name: str, url: str, read_line: ReadLine, max_bytes: int
) -> Iterator[Outcome]:
    kind = Path(_COMPRESSED.sub("", name.lower().removesuffix(".open"))).suffix
    if kind in ARCHIVES:
        yield from (_located(outcome, name) for outcome in read_warc(stream, max_bytes))
    elif kind in LINES:
        yield from _read_lines(stream, name, read_line, max_bytes)
    else:
        yield _read_html(stream, name, url, max_bytes)


def _read_html(stream: BinaryIO, name: str, url: str, max_bytes: int) -> Outcome:
    media_type, _ = _types.guess_type(name)
    body = stream.read(max_bytes + 1)
    outcome = html_page(url=url, body=body, content_type=media_type, source="html", max_bytes=max_bytes)
    if isinstance(outcome, Broken) and outcome.reason is BrokenReason.PAGE_TOO_LARGE:
        return replace(outcome, detail=f"{_size(stream)}{beyond(max_bytes)}")
    return outcome


def _size(stream: BinaryIO) -> str:
    """The beginning of a sentence about a file's size; nothing where it is compressed."""
    is_plain = isinstance(stream, io.BufferedReader)
    return f"{os.fstat(stream.fileno()).st_size:,} bytes, " if is_plain else ""


def _read_lines(
    stream: BinaryIO, name: str, read_line: Callable[[bytes, int], Item], max_bytes: int
) -> Iterator[Item | Broken]:
    longest = ESCAPED * max_bytes + 64 * KIB
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest:
            detail = f"line {number} of {name} has more than {longest:,} bytes, as no page of --max-page-mib"
            yield Broken(BrokenReason.PAGE_TOO_LARGE, detail)
            _skip_line(stream, line)
        elif not line.isspace():
            yield _located(read_line(line, max_bytes), f"line {number} of {name}")


def _skip_line(stream: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(64 * KIB)


def read_page_line(line: bytes, max_bytes: int) -> Outcome:
    """The page of a line `{"id", "url", "html"}`; its URL is what the line says, empty where it says none."""
    try:
        fields = parse_object(line.removeprefix(codecs.BOM_UTF8))
        name, url = _said(fields, "id", line), _said(fields, "url", line)
    except PageError as error:
        return Broken(error.reason, str(error))
    outcome = _page(fields, name, url or "", max_bytes)
    return outcome if isinstance(outcome, RawPage) else replace(outcome, id=name, url=url)


def _read_keyed_line(line: bytes, max_bytes: int) -> Outcome:
    """The page of a line that is to be put on a topic, where a page without a URL is a dead letter."""
    outcome = read_page_line(line, max_bytes)
    if not isinstance(outcome, RawPage):
        return outcome
    if not outcome.url:
        detail = "it has no 'url', which tells a worker the document's key and site"
        return Broken(BrokenReason.MISSING_URL, detail, id=outcome.id)
    address = page_url(outcome.url)
    if isinstance(address, str):
        return outcome
    reason = address.reason if isinstance(address, Broken) else BrokenReason.MISSING_URL
    return Broken(reason, address.detail, outcome.url, outcome.id)


def _page(fields: Fields, name: str | None, url: str, max_bytes: int) -> Outcome:
    try:
        body = expect_text(fields.get("html"), "html")
    except PageError as error:
        return Broken(error.reason, str(error))
    outcome = html_page(
        url=NOWHERE,
        body=body,
        content_type="text/html",
        id=name,
        source="json",
        max_bytes=max_bytes,
    )
    if not isinstance(outcome, RawPage):
        return outcome
    address = page_url(url)
    return replace(outcome, url=address if isinstance(address, str) else url.strip())


def _said(fields: Fields, name: str, line: bytes) -> str | None:
    """What a line says in a field, as UTF-8 can say it: text, or the JSON of anything else; else None."""
    value = fields.get(name)
    if value in (None, ""):
        return None
    if type(value) is int:
        return str(value)
    return encode_text(value if isinstance(value, str) else _json(name, line)).decode()


def _json(name: str, line: bytes) -> str:
    """A field's value in compact JSON; read anew by `json`, which alone keeps all digits of whole numbers."""
    try:
        value = json.loads(line.removeprefix(codecs.BOM_UTF8))[name]
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        detail = f"field {name!r}: its JSON nests too deep"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error


def _located(outcome: Item, location: str) -> Item:
    """What is no page, or broken, says where it stands."""
    if not isinstance(outcome, Skipped | Broken):
        return outcome
    return replace(outcome, detail=f"{location}: {outcome.detail}")
