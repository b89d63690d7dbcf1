"""WACZ files, as Browsertrix and ArchiveWeb.page write them: the WARC files of a crawl in a zip file.

The pages are those of the WARC files below `archive/`. The list of pages and the indexes only repeat some of
what is there.
"""

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from dehusk.schemas.outcomes import BrokenReason, Damaged
from dehusk.streams.files.position import located
from dehusk.streams.settings import KIB, MIB
from dehusk.streams.sources.compression import GZIP
from dehusk.streams.sources.page import Outcome
from dehusk.streams.sources.warc import open_warc, read_warc

_MAX_DIRECTORY = 8 * MIB
"""Bytes of the directory of a zip file, which is held in memory: of some 100,000 files."""
_TAIL = 64 * KIB + 100
"""Bytes at the end of a zip file in which its directory is declared, followed by a comment at most."""
_END, _END64 = b"PK\x05\x06", b"PK\x06\x06"
_END_BYTES = 22
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Compressions of a zip file that inflate in small steps; others may give hundreds of MiB at once."""
_MAX_RATIO = 4
"""Ratio by which no zip file compresses gzip further, but for bombs."""
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
"""Errors of zipfile at what is damaged, encrypted or cut off."""


def read_wacz(file: BinaryIO, max_bytes: int) -> Iterator[Outcome]:
    """Yield one outcome per record of the WARC files; at damage of one of them one Damaged, then the next."""
    try:
        with _open(file) as package:
            for entry in _archives(package, file.seek(0, os.SEEK_END)):
                yield from _read_archive(package, entry, max_bytes)
    except _DAMAGE as damage:
        yield Damaged(BrokenReason.MALFORMED_MESSAGE, f"it is no whole WACZ: {damage}")


def _open(file: BinaryIO) -> zipfile.ZipFile:
    size = _directory_bytes(file)
    if size > _MAX_DIRECTORY:
        raise zipfile.BadZipFile(f"a directory of {size:,} bytes, more than {_MAX_DIRECTORY:,}")
    return zipfile.ZipFile(file)


def _directory_bytes(file: BinaryIO) -> int:
    """Return the size of the directory that the end of a zip file declares, as zipfile would read it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    end = len(tail) - _END_BYTES
    if not tail.startswith(_END, max(end, 0)):
        end = tail.rfind(_END)
    if end < 0:
        raise zipfile.BadZipFile("its end is missing, where the directory is")
    (declared,) = struct.unpack_from("<L", tail, end + 12)
    if tail.startswith(_END64, max(end - 76, 0)):
        (declared,) = struct.unpack_from("<Q", tail, end - 76 + 40)
    return int(declared)


def _archives(package: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """Return the WARC files in the order in which they lie in the file."""
    entries = [entry for entry in package.infolist() if _is_archive(entry.filename)]
    if not entries:
        if any(name.lower().endswith(".wacz") for name in package.namelist()):
            raise zipfile.BadZipFile("it holds other WACZ files: unpack it, and give these")
        raise zipfile.BadZipFile("there is no WARC file below archive/")
    if sum(entry.compress_size for entry in entries) > size:
        raise zipfile.BadZipFile("its files overlap")
    return sorted(entries, key=lambda entry: entry.header_offset)


def _is_archive(name: str) -> bool:
    return name.startswith("archive/") and name.lower().endswith((".warc", ".warc.gz"))


def _read_archive(package: zipfile.ZipFile, entry: zipfile.ZipInfo, max_bytes: int) -> Iterator[Outcome]:
    try:
        for outcome in read_warc(_open_archive(package, entry), max_bytes):
            yield located(outcome, entry.filename)
    except _DAMAGE as damage:
        detail = f"{entry.filename} cannot be read to its end: {damage}"
        yield Damaged(BrokenReason.MALFORMED_MESSAGE, detail)


def _open_archive(package: zipfile.ZipFile, entry: zipfile.ZipInfo) -> BinaryIO:
    """Open a WARC file; raise BadZipFile for one that inflates without a bound, or as only a bomb does."""
    if entry.compress_type not in _METHODS:
        raise zipfile.BadZipFile(f"compression method {entry.compress_type}; stored and deflated are read")
    raw = cast("zipfile.ZipExtFile", package.open(entry))
    if raw.peek(len(GZIP)).startswith(GZIP) and entry.file_size > _MAX_RATIO * entry.compress_size + MIB:
        sizes = f"{entry.compress_size:,} bytes of gzip grow to {entry.file_size:,}"
        raise zipfile.BadZipFile(f"{sizes}, as in a zip bomb only")
    return open_warc(cast("BinaryIO", raw))
