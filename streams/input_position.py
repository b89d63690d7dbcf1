"""How far reading has come in files, for whoever shows it."""

from contextlib import suppress
from typing import BinaryIO


class InputPosition:
    """The bytes that were read, as they lie on disk; 0 where that cannot be told, as of a pipe."""

    def __init__(self) -> None:
        self.bytes = 0
        self._before = 0

    def move(self, raw: BinaryIO) -> None:
        """Note how far the file has been read that is read now."""
        with suppress(OSError):
            self.bytes = self._before + raw.tell()

    def end_file(self, raw: BinaryIO) -> None:
        """Note that the file is done with, and the next one begins."""
        self.move(raw)
        self._before = self.bytes
