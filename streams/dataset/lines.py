"""Files of lines: one frame of zstd, and behind it one that decompressors skip, with the note."""

from pathlib import Path
from typing import BinaryIO

import zstandard

from dehusk.streams.dataset.parts import SUFFIXES, Columns, FileFormat, Row

_SKIPPED = (0x184D2A5D).to_bytes(4, "little")
"""Beginning of a frame that every decompressor passes over (RFC 8878, section 3.1.2)."""
_END = b"dehusk\x00\x01"
_LENGTH_BYTES = 4


class LinesPart:
    """A file of lines."""

    def __init__(self, file: BinaryIO, _columns: Columns, _max_bytes: int) -> None:
        self._file = file
        self._frame = zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)

    def write(self, row: Row) -> None:
        """Add a line."""
        self._frame.write(row.line)

    def end(self, note: bytes) -> None:
        """End the frame of lines, and write the other one."""
        self._frame.flush(zstandard.FLUSH_FRAME)
        length = (len(note) + len(_END) + _LENGTH_BYTES).to_bytes(_LENGTH_BYTES, "little")
        self._file.write(_SKIPPED + length + note + len(note).to_bytes(_LENGTH_BYTES, "little") + _END)

    def abandon(self) -> None:
        """Do nothing: the frame is not ended."""


def read_note(path: Path) -> bytes:
    """Return the note at the end of a file.

    Raises:
        ValueError: there is none.
    """
    end = _LENGTH_BYTES + len(_END)
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - end))
        tail = file.read()
        length = int.from_bytes(tail[:_LENGTH_BYTES], "little")
        if len(tail) < end or not tail.endswith(_END) or length > size - end:
            raise ValueError("it has no note at its end")
        file.seek(size - end - length)
        return file.read(length)


LINES = FileFormat(SUFFIXES["jsonl.zst"], LinesPart, read_note)
