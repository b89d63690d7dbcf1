"""`warc`: WARC records (ISO 28500) in messages, and the records of WARC and ARC files."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
from dehusk.streams.sources.compression import DAMAGE, GZIP, inflate
from dehusk.streams.sources.fields import parse_time
from dehusk.streams.sources.page import ABSOLUTE, Answer, Outcome, describe_excess, html_page, page_url
from dehusk.streams.sources.source import CrawlerFormat, Decoded, Record
from dehusk.streams.stores.errors import StoreError

ARC_BEGINS = b"filedesc://"
"""Beginning of every ARC file: the record that describes the file."""
_DATE = re.compile(r"\d{12}(?:\d\d|\d{5})?", re.ASCII)
"""Digits of a time, to the minute, second or millisecond."""
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)


def arc_headers(line: bytes) -> StatusAndHeaders | None:
    """Return the head of an ARC record as that of a WARC record; None if a line is none.

    The line has the URL, IP address, date, content type and length, separated by spaces, which a URL may
    also have; version 2 has further fields before the length.
    """
    words = StatusAndHeadersParser.decode_header(line).strip().split(" ")
    dates = (at for at in range(2, len(words) - 2) if _DATE.fullmatch(words[at]))
    date = next(dates, None)
    if date is None or not ABSOLUTE.match(words[0]) or not _LENGTH.fullmatch(words[-1]):
        return None
    describes_file = line.startswith(ARC_BEGINS)
    headers = [
        ("WARC-Type", "filedesc" if describes_file else "response"),
        ("WARC-Target-URI", "" if describes_file else " ".join(words[: date - 1])),
        ("WARC-Date", words[date].ljust(14, "0")),
        ("Content-Length", words[-1]),
    ]
    return StatusAndHeaders("", headers, protocol="ARC")


MARK = b"WARC/"
_CHUNK = re.compile(rb"(?:\r?\n)?0*(?P<size>[0-9a-fA-F]{1,8})[\t ]*(?:;[^\r\n]*)?(?:\r?\n|\Z)")
"""Head of a chunk, with the end of the one before."""
MAX_HEAD = 256 * KIB
"""Bytes that the headers of a record, and those of the response in it, may take."""


class Warc(CrawlerFormat):
    """Messages that hold a WARC record, plain or in gzip."""

    name = "warc"

    def recognises(self, message: Message) -> bool:
        """Return True if the value, inflated if it is gzip, begins with `WARC/`."""
        value = message.value or b""
        return value.startswith(MARK) or (value.startswith(GZIP) and _inflates_to_warc(value))

    def encode(self, page: RawPage) -> Record:
        """Return a gzip `response` record as warcio writes it; the key is the URL."""
        out = io.BytesIO()
        write_warc(page, out)
        return Record(page.url.encode(), out.getvalue())

    def _read(self, message: Message) -> Sequence[Decoded]:
        records = inflate(message.value or b"", "gzip", self._max_bytes + 2 * MAX_HEAD)
        if not records.lstrip().startswith(MARK):
            raise PageError(BrokenReason.WRONG_FORMAT, f"no WARC record begins with {records[:40]!r}")
        return list(read_warc(io.BytesIO(records), self._max_bytes))


def open_warc(raw: BinaryIO) -> BinaryIO:
    """Return the stream of records from where `raw` stands, inflated if gzip begins there."""
    start = raw.tell()
    magic = raw.read(len(GZIP))
    raw.seek(start)
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if magic == GZIP else raw


UNKNOWN = -1
"""Position of what could not be read to its end."""


@dataclass(slots=True)
class Span:
    """Positions of a record in its stream."""

    begin: int = UNKNOWN
    end: int = UNKNOWN
    next: int = UNKNOWN
    """Position of the next record, behind the empty lines between them."""


def read_warc(
    stream: BinaryIO, max_bytes: int, source: str = Warc.name, *, span: Span | None = None
) -> Iterator[Outcome]:
    """Yield one outcome per record of WARC or ARC, in order; at damage one Damaged, and then nothing more.

    `span`, which is for a buffered stream, is kept up to date.
    """
    try:
        while line := _first_line(stream):
            begin = stream.tell() - len(line) if span is not None else 0
            headers = _record_headers(stream, line)
            block = LimitReader(stream, _content_length(headers))
            outcome = _outcome(headers, block, max_bytes, source)
            behind: Exception | None = None
            try:
                _skip_rest(block)
                if span is not None:
                    _locate(span, begin, cast("io.BufferedReader", stream))
            except DAMAGE as damage:
                behind = damage
            yield outcome
            if span is not None:
                span.begin = span.end = span.next = UNKNOWN
            if behind is not None:
                raise behind
    except (PageError, *DAMAGE) as damage:
        detail = str(damage) if isinstance(damage, StoreError) else f"the archive is damaged: {damage}"
        yield Damaged(BrokenReason.MALFORMED_MESSAGE, detail)


def write_warc(page: RawPage, out: BinaryIO) -> None:
    """Append the page to `out` as a gzip `response` record."""
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


@dataclass(frozen=True, slots=True)
class _Response:
    """The answer of a server, as a record holds it."""

    status: int | None
    headers: StatusAndHeaders
    body: bytes
    whole: bool
    """True if the body is all of it, and not only the start of a larger one."""


def _inflates_to_warc(value: bytes) -> bool:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(value, len(MARK)) == MARK
    except zlib.error:
        return False


def _first_line(stream: BinaryIO) -> bytes:
    """Read the first line of the next record; empty at the end."""
    line = b"\n"
    while line and not line.strip():
        line = stream.readline(MAX_HEAD)
    return line


def _locate(span: Span, begin: int, stream: io.BufferedReader) -> None:
    """Note the positions of a record that was read; the stream comes to the next one on disk.

    Raises:
        one of DAMAGE: what comes next is damaged.
    """
    span.begin, span.end = begin, stream.tell()
    try:
        while stream.peek(1)[:1] in {b"\r", b"\n"}:
            stream.read(1)
    finally:
        span.next = stream.tell()


def _record_headers(stream: BinaryIO, line: bytes) -> StatusAndHeaders:
    """Read the headers of a record, which begins with a line that was read."""
    if line.startswith(MARK):
        return _parse_head(LimitReader(stream, MAX_HEAD), line)
    if (headers := arc_headers(line)) is not None:
        return headers
    raise PageError(BrokenReason.MALFORMED_MESSAGE, f"a record begins with {line[:40]!r}")


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
    """Return the page of one record, or why it is none; both have its id.

    A `resource` holds what a URL names without an answer around it, as archives made of files do
    (warcit): with a web address it is a page like a `response`.
    """
    id_ = str(headers.get_header("WARC-Record-ID", "")).strip("<> ")
    return replace(_read_page(headers, block, max_bytes, source), id=id_ or None)


def _read_page(headers: StatusAndHeaders, block: LimitReader, max_bytes: int, source: str) -> Outcome:
    kind = str(headers.get_header("WARC-Type", "")).lower()
    url = str(headers.get_header("WARC-Target-URI", "")).strip("<> ")
    if kind not in {"response", "resource"}:
        return Skipped(SkipReason.NOT_A_PAGE, f"a record of type {kind!r}", url or None)
    address = page_url(url)
    if not isinstance(address, str):
        return address
    try:
        response = _read_response(kind, headers, block, max_bytes)
    except PageError as error:
        return Broken(error.reason, str(error), address)
    answer = Answer(
        address,
        response.body,
        content_type=response.headers.get_header("Content-Type"),
        status=response.status,
        content_encoding=response.headers.get_header("Content-Encoding"),
        fetched_at=parse_time(headers.get_header("WARC-Date")),
        language=response.headers.get_header("Content-Language"),
    )
    outcome = html_page(answer, source, max_bytes)
    if response.whole or isinstance(outcome, Skipped):
        return outcome
    size = f"a record of {_content_length(headers):,} bytes"
    return Broken(BrokenReason.PAGE_TOO_LARGE, f"{size}, {describe_excess(max_bytes)}", address)


def _read_response(kind: str, headers: StatusAndHeaders, block: LimitReader, max_bytes: int) -> _Response:
    if kind == "resource":
        return _Response(None, headers, _read_start(block, max_bytes), whole=not block.limit)
    line = block.readline(MAX_HEAD)
    status = re.match(rb"HTTP/[0-9.]+\s+([0-9]{3})\b", line)
    if not status:
        raise PageError(BrokenReason.MALFORMED_MESSAGE, f"a response begins with {line[:40]!r}")
    http = _parse_head(LimitReader(block, MAX_HEAD), line)
    body = _read_start(block, max_bytes)
    if "chunked" in str(http.get_header("Transfer-Encoding", "")).lower():
        body = _without_chunks(body)
    return _Response(int(status[1]), http, body, whole=not block.limit)


def _without_chunks(body: bytes) -> bytes:
    """Return the data of a body's chunks (RFC 9112, section 7.1), without the trailer after the last one.

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


def _read_start(block: LimitReader, max_bytes: int) -> bytes:
    """Read as much of the block as a page may hold."""
    wanted = min(block.limit, max_bytes + MAX_HEAD)
    start: bytes = block.read(wanted)
    if len(start) < wanted:
        raise EOFError("the last record is cut short")
    return start


def _skip_rest(block: LimitReader) -> None:
    while block.limit:
        if not block.read(min(block.limit, 64 * KIB)):
            raise EOFError("the last record is cut short")
