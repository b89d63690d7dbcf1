"""Files and standard input without their compression, as streams: memory holds a part of them at a time."""

import bz2
import gzip
import io
import lzma
import zlib
from typing import BinaryIO, cast

import zstandard

from dehusk.streams.settings import KIB, MIB
from dehusk.streams.sources.compression import GZIP, ZSTD

DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
"""What reading raises where a stream is cut off or its bytes were changed."""
_XZ = b"\xfd7zXZ\x00"
_BZIP2 = b"BZh"
_ZSTD_WINDOW = 128 * MIB
"""What `zstd --ultra` and `zstd --long` need; more is refused."""
_ZSTD_STEP = KIB
"""Bytes that are inflated at once: they give 32 MiB at most, 128 KiB for each four."""
_PEEKED = 64


def inflated(raw: BinaryIO) -> BinaryIO:
    """The stream itself, or what it holds where it begins as gzip, xz, bzip2 or zstd do."""
    start = peek(raw)
    if start.startswith(GZIP):
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if start.startswith(_BZIP2):
        return cast("BinaryIO", bz2.BZ2File(raw))
    if start.startswith(ZSTD):
        return io.BufferedReader(_ZstdFile(raw))
    return cast("BinaryIO", lzma.LZMAFile(raw)) if start.startswith(_XZ) else raw


def peek(stream: BinaryIO) -> bytes:
    """The first bytes of a stream, which stay in it."""
    return cast("io.BufferedReader", stream).peek(_PEEKED)


class _ZstdFile(io.RawIOBase):
    """All frames of a zstd file; unlike zstandard's own reader, it tells where a file is cut off."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._next_frame = b""
        self._inflated = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # narrower than any buffer
        """How many bytes were written to the buffer; 0 at the end."""
        while not self._inflated and self._inflate():
            pass
        count = min(len(buffer), len(self._inflated))
        buffer[:count] = self._inflated[:count]
        self._inflated = self._inflated[count:]
        return count

    def _inflate(self) -> bool:
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
            self._inflated = memoryview(frame.decompress(data))
            self._frame, self._next_frame = (None, frame.unused_data) if frame.eof else (frame, b"")
        return bool(data)
