"""Files of documents: what a row of them holds, and the formats that they may have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Protocol

from dehusk.schemas.documents import CleanedDocument

Columns = tuple[tuple[str, str], ...]
"""Names of the columns that say where a page comes from, each with its Arrow type, e.g. `int64`."""


@dataclass(frozen=True, slots=True)
class Row:
    """Outcome of a page: its document, or the reason why it has none."""

    id: str | None = None
    url: str | None = None
    document: CleanedDocument | None = None
    error: str | None = None
    """Reason and detail, as lines have them; None for a page with a document."""
    place: tuple[object, ...] = ()
    """Values of the columns that say where the page comes from."""
    line: bytes = b""
    """The outcome as a line, for files of lines, which need nothing else."""


class Part(Protocol):
    """A file that is being written."""

    def write(self, row: Row) -> None:
        """Add a row."""
        ...

    def end(self, note: bytes) -> None:
        """Write what is left, and a note that readers of the format pass over."""
        ...

    def abandon(self) -> None:
        """Release the file, which is not to be completed."""
        ...


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files."""

    suffix: str
    open: Callable[[BinaryIO, Columns, int], Part]
    """Begins a file, given its columns of places and the bytes at which it is to end."""
    read_note: Callable[[Path], bytes]
    """Returns the note of a file; raises ValueError or OSError where it has none."""


SUFFIXES: Mapping[str, str] = MappingProxyType(
    {"parquet": ".parquet", "jsonl.zst": ".jsonl.zst", "wet": ".warc.wet.gz"}
)
"""Values of `--output-format`, and the ends of the names of their files."""
