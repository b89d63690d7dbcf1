"""Compressed streams, plain ones, and the parts of a file that their contents are."""

import bz2
import codecs
import io
import lzma
import re
import zlib
from abc import abstractmethod
from typing import BinaryIO, cast

import zstandard

from dehusk.streams.settings import KIB, MIB
from dehusk.streams.sources.compression import GZIP, ZSTD
from dehusk.streams.sources.sniffing import BLANK
from dehusk.streams.sources.warc import UNKNOWN, Span
from dehusk.streams.stores.stored import StoredFile

_XZ = b"\xfd7zXZ\x00"
_BZIP2 = b"BZh"
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
"""Beginning of a frame of zstd that holds no content (RFC 8878, section 3.1.2), which pzstd writes first."""
_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""Beginning of the frame with the dictionary of a `.warc.zst` (IIPC, WARC File Compression 1.0)."""
_MOST_DICTIONARY = 16 * MIB
"""Bytes of the largest dictionary that is read."""
_MOST_MEMORY = 128 * MIB
"""Memory that a file may take while it is inflated: the window of `zstd --ultra` and `zstd --long`, and twice
what `xz -9` needs. One that declares more is refused."""
_ZSTD_STEP = KIB
"""Bytes that are inflated at once: they give 32 MiB at most, 128 KiB for each four."""
_STEP = 64 * KIB
"""Bytes that are read at once, but of zstd, and most bytes that gzip and xz are inflated to at once."""
_MOST_MEMBERS = 10_000
"""Members of gzip whose places are known: more than those whose content a buffer holds."""
_PEEKED = 64
_TELLING = 12
"""Bytes after white space that tell what a stream holds; there is no shorter page in JSON."""


def inflated(raw: BinaryIO) -> BinaryIO:
    """Return the stream itself, or its content if it begins as gzip, xz, bzip2 or zstd do."""
    start = peek(raw)
    if start.startswith(GZIP):
        return io.BufferedReader(_GzipFile(raw))
    if start.startswith(_BZIP2):
        return cast("BinaryIO", bz2.BZ2File(raw))
    if start.startswith(ZSTD) or _SKIPPABLE.match(start):
        return io.BufferedReader(_ZstdFile(raw))
    if start.startswith(_XZ):
        return io.BufferedReader(_XzFile(raw))
    return raw


def peek(stream: BinaryIO) -> bytes:
    """Return the first bytes of a stream, which stay in it."""
    return cast("io.BufferedReader", stream).peek(_PEEKED)


class _Converted(io.RawIOBase):
    """A stream that is read in another form, some bytes after the other."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._converted = memoryview(b"")
        self._position = 0

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
        self._position += count
        return count

    def tell(self) -> int:
        """Return the number of bytes that were read in this form."""
        return self._position

    @abstractmethod
    def _convert(self) -> bool:
        """Convert the next bytes, unless there are none."""


class Piped(_Converted):
    """A stream that may come in small pieces; the first one tells what the stream holds."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw)
        self._is_begun = False

    def _convert(self) -> bool:
        read = cast("io.BufferedReader", self._raw).read1
        data = read()
        while not self._is_begun and _may_be_anything(data) and (more := read()):
            data += more
        self._is_begun = True
        self._converted = memoryview(data)
        return bool(data)


class InUtf8(_Converted):
    """A stream of UTF-16 with a byte order mark, in UTF-8."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw)
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def _convert(self) -> bool:
        data = self._raw.read(_STEP)
        self._converted = memoryview(self._decoder.decode(data, final=not data).encode())
        return bool(data)


class _GzipFile(_Converted):
    """All members of a gzip file, and their places in it."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw)
        self._member: zlib._Decompress | None = None
        self._rest = b""
        """Bytes that were read and not inflated yet."""
        self._read = 0
        self._inflated = 0
        self._members: dict[int, int] = {}
        """Offsets of members, by the inflated bytes before them."""

    def span(self, begin: int, end: int) -> tuple[int, int] | None:
        """Return offset and length of the members that are these inflated bytes; None for other bytes."""
        offset, after = self._members.get(begin), self._members.get(end)
        return None if offset is None or after is None else (offset, after - offset)

    def _convert(self) -> bool:
        """Inflate the next bytes of a member, unless there are none.

        Raises:
            EOFError: the file ends within a member.
        """
        data = self._rest or self._raw.read(_STEP)
        self._read += 0 if self._rest else len(data)
        if self._member is None:
            read, self._rest = data, b""
            data = data.lstrip(b"\0") if self._members else data  # padding, as on tapes
            if not data:
                return bool(read)
            self._note_member(len(data))
            self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        content = self._member.decompress(data, _STEP)
        self._converted = memoryview(content)
        self._inflated += len(content)
        self._rest = self._member.unconsumed_tail
        if self._member.eof:
            self._rest = self._member.unused_data
            self._member = None
            self._note_member(len(self._rest))
        elif not data and not content:
            raise EOFError("it ends within a member of gzip")
        return True

    def _note_member(self, bytes_left: int) -> None:
        """Note that a member ends or begins so many bytes before the end of what was read."""
        self._members[self._inflated] = self._read - bytes_left
        if len(self._members) > _MOST_MEMBERS:
            del self._members[next(iter(self._members))]


class _XzFile(_Converted):
    """All streams of an xz file; unlike Python's own reader, it bounds the memory that they take."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw)
        self._stream: lzma.LZMADecompressor | None = None
        self._next_stream = b""

    def _convert(self) -> bool:
        """Inflate the next bytes of a stream, unless there are none.

        Raises:
            EOFError: the file ends within a stream.
            lzma.LZMAError: it is damaged, or takes more memory.
        """
        if self._stream is None:
            read = self._next_stream or self._raw.read(_STEP)
            self._next_stream = read.lstrip(b"\0")  # padding between streams
            if not self._next_stream:
                return bool(read)
            self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY)
        data, self._next_stream = self._next_stream, b""
        if not data and self._stream.needs_input:
            data = self._raw.read(_STEP)
            if not data:
                raise EOFError("it ends within a stream of xz")
        self._converted = memoryview(self._stream.decompress(data, _STEP))
        if self._stream.eof:
            self._next_stream, self._stream = self._stream.unused_data, None
        return True


class _ZstdFile(_Converted):
    """All frames of a zstd file; unlike zstandard's own reader, it tells where a file is cut off."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(raw)
        self._dictionary = _read_dictionary(raw)
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
            frame = self._frame or _decompressor(self._dictionary).decompressobj()
            self._converted = memoryview(frame.decompress(data))
            self._frame, self._next_frame = (None, frame.unused_data) if frame.eof else (frame, b"")
        return bool(data)


def _decompressor(dictionary: zstandard.ZstdCompressionDict | None = None) -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_MOST_MEMORY)


def _read_dictionary(raw: BinaryIO) -> zstandard.ZstdCompressionDict | None:
    """Read the dictionary that a zstd file begins with, which may be compressed itself; None without one.

    Raises:
        EOFError: the file ends within it.
        zstandard.ZstdError: it is damaged, or larger than is read.
    """
    if not peek(raw).startswith(_DICTIONARY):
        return None
    size = int.from_bytes(raw.read(8)[4:], "little")
    content = raw.read(min(size, _MOST_DICTIONARY))
    if len(content) < min(size, _MOST_DICTIONARY):
        raise EOFError("it ends within its dictionary")
    if content.startswith(ZSTD):
        content = _decompressor().stream_reader(content).read(_MOST_DICTIONARY + 1)
    if max(size, len(content)) > _MOST_DICTIONARY:
        raise zstandard.ZstdError(f"its dictionary has more than {_MOST_DICTIONARY // MIB} MiB")
    return zstandard.ZstdCompressionDict(content)


def _may_be_anything(data: bytes) -> bool:
    """Return True if the first bytes of a stream are too few to tell what it holds."""
    return len(data) < _STEP and len(data.lstrip(BLANK)) < _TELLING


def is_plain(stream: BinaryIO) -> bool:
    """Return True for a file or an object that is read as it lies there."""
    return isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO | StoredFile)


def span_on_disk(stream: BinaryIO, span: Span) -> tuple[int, int] | None:
    """Return offset and length of a record in its file.

    It is None if the record is not the whole of members of gzip, the file is compressed otherwise, or the
    span is not known.
    """
    if span.begin == UNKNOWN:
        return None
    if is_plain(stream):
        return span.begin, span.end - span.begin
    raw = getattr(stream, "raw", None)
    return raw.span(span.begin, span.next) if isinstance(raw, _GzipFile) else None
