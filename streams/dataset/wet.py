"""Files of texts as Common Crawl's WET: WARC records of type `conversion`, each a member of gzip.

A page without a document is a record of type `metadata`, which readers of texts pass over; so is the note at
the end of a file.
"""

import io
import re
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from warcio.statusandheaders import StatusAndHeadersParser  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from dehusk.streams.dataset.languages import three_letters
from dehusk.streams.dataset.parts import SUFFIXES, Columns, FileFormat, Row
from dehusk.streams.settings import MIB

_NOTE_TYPE = "application/vnd.dehusk.note+json"
_MEMBER = b"\x1f\x8b\x08"
_MOST_NOTE = MIB
"""Bytes at the end of a file that its note is looked for in."""
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")
"""Characters of a URL that would end its header, or that no URL has."""


class WetPart:
    """A file of texts."""

    def __init__(self, file: BinaryIO, _columns: Columns, _max_bytes: int) -> None:
        self._writer = WARCWriter(file, gzip=True)
        about = {"software": f"dehusk/{version('dehusk')}", "format": "WARC File Format 1.0"}
        self._writer.write_record(self._writer.create_warcinfo_record(None, about))

    def write(self, row: Row) -> None:
        """Add the text of a document, or the error of a page without one."""
        headers = {"WARC-Date": _warc_date(datetime.now(UTC))}
        if row.id and row.id.startswith("urn:"):
            headers["WARC-Refers-To"] = f"<{_escaped(row.id)}>"
        document = row.document
        if document is None:
            self._write("metadata", row.url, "application/warc-fields", _fields(row), headers)
            return
        if document.fetched_at is not None:
            with suppress(OverflowError):  # of the first or last day that there is, in another time zone
                headers["WARC-Date"] = _warc_date(document.fetched_at)
        if document.language:
            headers["WARC-Identified-Content-Language"] = three_letters(document.language)
        self._write("conversion", row.url, "text/plain", document.text.encode(), headers)

    def end(self, note: bytes) -> None:
        """Write the note as the last record."""
        headers = {"WARC-Date": _warc_date(datetime.now(UTC))}
        self._write("metadata", None, _NOTE_TYPE, note, headers)

    def abandon(self) -> None:
        """Do nothing: each record is whole once it is written."""

    def _write(
        self, kind: str, url: str | None, media_type: str, block: bytes, headers: dict[str, str]
    ) -> None:
        record = self._writer.create_warc_record(
            _escaped(url or ""),
            kind,
            payload=io.BytesIO(block),
            length=len(block),
            warc_content_type=media_type,
            warc_headers_dict=headers,
        )
        self._writer.write_record(record)


def _fields(row: Row) -> bytes:
    """Return the error in the form of `application/warc-fields`: on one line."""
    return f"error: {' '.join((row.error or '').split())}\r\n".encode()


def _escaped(url: str) -> str:
    return _UNSAFE.sub(lambda character: f"%{ord(character[0]):02X}", url)


def _warc_date(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def read_note(path: Path) -> bytes:
    """Return the note that is the last record of a file.

    Raises:
        ValueError: it has no such record.
    """
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - _MOST_NOTE))
        tail = file.read()
    begin = len(tail)
    while (begin := tail.rfind(_MEMBER, 0, begin)) >= 0:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            record = io.BytesIO(member.decompress(tail[begin:]))
        except zlib.error:
            continue  # these bytes begin no member
        if not member.eof:
            continue
        headers = StatusAndHeadersParser([], verify=False).parse(record)
        if headers.get_header("Content-Type") != _NOTE_TYPE:
            break
        return record.read(int(headers.get_header("Content-Length")))
    raise ValueError("its last record is no note")


WET = FileFormat(SUFFIXES["wet"], WetPart, read_note)
