"""Positions in an input of several files."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import BinaryIO, TypeVar

from dehusk.schemas.outcomes import Broken, Skipped

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Place:
    """Place of an item in an input."""

    file: int = -1
    """Number of its file among all files of the input, from 0 on."""
    item: int = 0
    """Number of the item in its file, from 1 on."""
    name: str = ""
    offset: int | None = None
    """Bytes before the item in its file on disk; None where no part of the file is the item alone, as in most
    compressed files."""
    length: int | None = None
    """Bytes of the item on disk; None where the offset is."""

    def is_after(self, other: "Place") -> bool:
        """Return True if the item comes after the other one."""
        return (self.file, self.item) > (other.file, other.item)


BEGINNING = Place()
"""Place before all items."""


class InputPosition:
    """Position in an input while it is read."""

    def __init__(self) -> None:
        self.bytes = 0
        """Bytes that were read, as they lie on disk; 0 if that cannot be told, as of a pipe."""
        self.place = BEGINNING
        """Place of the newest item."""
        self.span: tuple[int, int] | None = None
        """Offset and length of the item that comes next, where a reader knows them."""
        self._before = 0
        self._raw: BinaryIO | None = None

    def begin_file(self, name: str) -> None:
        """Note that the next file begins."""
        self.place = Place(self.place.file + 1, 0, name)

    def open_file(self, raw: BinaryIO) -> None:
        """Note that the file is read from now on."""
        self._raw = raw

    def move(self) -> None:
        """Note the next item of the file."""
        offset, length = self.span or (None, None)
        self.place = replace(self.place, item=self.place.item + 1, offset=offset, length=length)
        self.span = None
        self._measure()

    def end_file(self) -> None:
        """Note that the file is done with."""
        self._measure()
        self._before, self._raw = self.bytes, None

    def skip_file(self, size: int) -> None:
        """Note that the file is passed over."""
        self._before = self.bytes = self._before + size

    def _measure(self) -> None:
        if self._raw is not None:
            with suppress(OSError):
                self.bytes = self._before + self._raw.tell()


def located(outcome: _Item, location: str) -> _Item:
    """Add its location to the detail of what is no page, or broken."""
    if not isinstance(outcome, Skipped | Broken):
        return outcome
    return replace(outcome, detail=f"{location}: {outcome.detail}")
