"""`warc`: WARC records (ISO 28500), plain or gzip; a message holds one, a file many."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import BinaryIO, cast

from warcio.limitreader import LimitReader  # type: ignore[import-untyped]
from warcio.statusandheaders import (  # type: ignore[import-untyped]
    StatusAndHeaders,
    StatusAndHeadersParser,
)
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Damaged, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.settings import KIB
from dehusk.streams.sources.compression import GZIP, inflate
from dehusk.streams.sources.page import beyond, html_page, page_url
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.times import parse_time

MARK = b"WARC/"
_CHUNK = re.compile(rb"(?:\r\n)?(?P<size>[0-9a-fA-F]{1,8})[\t ]*(?:;[^\r\n]*)?(?:\r\n|\Z)")
"""What stands before the data of a chunk, the end of the one before included."""
MAX_HEAD = 256 * KIB
"""Bytes that the headers of a record, and those of the response in it, may take."""

Outcome = RawPage | Skipped | Broken


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the server sent, as a record holds it."""

    status: int | None
    headers: StatusAndHeaders
    body: bytes
    whole: bool
    """Whether the body is all of it, and not only the start of a larger one."""


class Warc:
    """Messages that hold a WARC record."""

    name = "warc"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def recognises(self, message: Message) -> bool:
        """Whether the value, inflated where it is gzip, begins with `WARC/`."""
        value = message.value or b""
        return value.startswith(MARK) or (value.startswith(GZIP) and _begins_inflated(value))

    def decode(self, message: Message) -> Sequence[Decoded]:
        """One outcome per record."""
        try:
            records = inflate(message.value or b"", "gzip", self._max_bytes + 2 * MAX_HEAD)
        except PageError as error:
            return [Broken(error.reason, str(error))]
        if not records.lstrip().startswith(MARK):
            return [Broken(BrokenReason.WRONG_FORMAT, f"no WARC record begins with {records[:40]!r}")]
        return list(read_warc(io.BytesIO(records), self._max_bytes))

    def encode(self, page: RawPage) -> Record:
        """A gzip `response` record as warcio writes it; the key is the URL."""
        out = io.BytesIO()
        write_warc(page, out)
        return Record(page.url.encode(), out.getvalue())


def open_warc(raw: BinaryIO) -> BinaryIO:
    """The stream of records from where `raw` stands, inflated where gzip begins there."""
    start = raw.tell()
    magic = raw.read(len(GZIP))
    raw.seek(start)
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if magic == GZIP else raw


def read_warc(stream: BinaryIO, max_bytes: int, source: str = Warc.name) -> Iterator[Outcome]:
    """One outcome per record, in order; where the archive is damaged, one Damaged and the end."""
    try:
        while (headers := _record_headers(stream)) is not None:
            block = LimitReader(stream, _content_length(headers))
            yield _outcome(headers, block, max_bytes, source)
            _skip(block)
    except (PageError, EOFError, OSError, zlib.error) as damage:
        yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"the WARC is damaged: {damage}")


def write_warc(page: RawPage, out: BinaryIO) -> None:
    """Appends the page to `out` as a gzip `response` record."""
    fields = [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(page.html)))]
    if page.language:
        fields.append(("Content-Language", page.language))
    date = {"WARC-Date": f"{page.fetched_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"} if page.fetched_at else {}
    writer = WARCWriter(out, gzip=True)
    record = writer.create_warc_record(
        page.url,
        "response",
        payload=io.BytesIO(page.html),
        length=len(page.html),
        warc_headers_dict=date,
        http_headers=StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1"),
    )
    writer.write_record(record)


def _begins_inflated(value: bytes) -> bool:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(value, len(MARK)) == MARK
    except zlib.error:
        return False


def _record_headers(stream: BinaryIO) -> StatusAndHeaders | None:
    """The headers of the next record, or None at the end."""
    line = b"\n"
    while line and not line.strip():
        line = stream.readline(MAX_HEAD)
    if not line:
        return None
    if not line.startswith(MARK):
        raise PageError(BrokenReason.MALFORMED_MESSAGE, f"a record begins with {line[:40]!r}")
    return _parse_head(LimitReader(stream, MAX_HEAD), line)


def _parse_head(head: LimitReader, first_line: bytes) -> StatusAndHeaders:
    headers = StatusAndHeadersParser([], verify=False).parse(head, first_line)
    if head.limit == 0:
        raise PageError(BrokenReason.MALFORMED_MESSAGE, f"headers of more than {MAX_HEAD} bytes")
    return headers


def _content_length(headers: StatusAndHeaders) -> int:
    length = str(headers.get_header("Content-Length", ""))
    if not re.fullmatch(r"[0-9]{1,18}", length):
        raise PageError(BrokenReason.MALFORMED_MESSAGE, f"a record's Content-Length is {length[:40]!r}")
    return int(length)


def _outcome(headers: StatusAndHeaders, block: LimitReader, max_bytes: int, source: str) -> Outcome:
    """The page of one record.

    A `resource` holds what a URL names without an answer around it, as archives made of files do
    (warcit): with a web address it is a page like a `response`.
    """
    kind = str(headers.get_header("WARC-Type", "")).lower()
    url = str(headers.get_header("WARC-Target-URI", "")).strip("<> ")
    if kind not in {"response", "resource"}:
        return Skipped(SkipReason.NOT_A_PAGE, f"a WARC record of type {kind!r}", url or None)
    address = page_url(url)
    if not isinstance(address, str):
        return address
    try:
        answer = _read_answer(kind, headers, block, max_bytes)
    except PageError as error:
        return Broken(error.reason, str(error), address)
    return _page(address, headers, answer, max_bytes, source)


def _page(url: str, headers: StatusAndHeaders, answer: _Answer, max_bytes: int, source: str) -> Outcome:
    outcome = html_page(
        url=url,
        body=answer.body,
        content_type=answer.headers.get_header("Content-Type"),
        status=answer.status,
        content_encoding=answer.headers.get_header("Content-Encoding"),
        id=str(headers.get_header("WARC-Record-ID", "")).strip("<> "),
        fetched_at=parse_time(headers.get_header("WARC-Date")),
        language=answer.headers.get_header("Content-Language"),
        source=source,
        max_bytes=max_bytes,
    )
    if answer.whole or isinstance(outcome, Skipped):
        return outcome
    size = f"a record of {_content_length(headers):,} bytes"
    return Broken(BrokenReason.PAGE_TOO_LARGE, f"{size}, {beyond(max_bytes)}", url)


def _read_answer(kind: str, headers: StatusAndHeaders, block: LimitReader, max_bytes: int) -> _Answer:
    if kind == "resource":
        return _Answer(None, headers, _start(block, max_bytes), whole=not block.limit)
    line = block.readline(MAX_HEAD)
    status = re.match(rb"HTTP/[0-9.]+\s+([0-9]{3})\b", line)
    if not status:
        raise PageError(BrokenReason.MALFORMED_MESSAGE, f"a response begins with {line[:40]!r}")
    http = _parse_head(LimitReader(block, MAX_HEAD), line)
    body = _start(block, max_bytes)
    if "chunked" in str(http.get_header("Transfer-Encoding", "")).lower():
        body = _without_chunks(body)
    return _Answer(int(status[1]), http, body, whole=not block.limit)


def _without_chunks(body: bytes) -> bytes:
    """The data of the chunks of a body (RFC 9112, section 7.1), without the trailer behind the last one.

    What stands where no chunk begins is taken as it is: crawlers often keep the header of a body that they
    joined themselves.
    """
    pieces: list[bytes] = []
    position = 0
    while chunk := _CHUNK.match(body, position):
        size = int(chunk["size"], 16)
        if not size:
            return b"".join(pieces)
        pieces.append(body[chunk.end() : chunk.end() + size])
        position = chunk.end() + size
    return b"".join((*pieces, body[position:].removeprefix(b"\r\n" if pieces else b"")))


def _start(block: LimitReader, max_bytes: int) -> bytes:
    """As much of the block as a page may hold."""
    wanted = min(block.limit, max_bytes + MAX_HEAD)
    start: bytes = block.read(wanted)
    if len(start) < wanted:
        raise EOFError("the last record is cut short")
    return start


def _skip(block: LimitReader) -> None:
    while block.limit:
        if not block.read(min(block.limit, 64 * KIB)):
            raise EOFError("the last record is cut short")
