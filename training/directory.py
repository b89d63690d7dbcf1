"""The directory of a run: what one command leaves there for the next."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dehusk.schemas.errors import ConfigurationError


def left_by(command: str, file: Path) -> Path:
    """The file, which a command writes.

    Raises:
        ConfigurationError: it is not there.
    """
    if not file.exists():
        raise ConfigurationError(f"there is no {file}; run `python -m training {command}` first")
    return file


@contextmanager
def written_whole(file: Path) -> Iterator[BinaryIO]:
    """What is written becomes the file at the end; until then, or if that does not come, it is as it was."""
    partial = file.with_suffix(".partial")
    with partial.open("wb") as target:
        yield target
    partial.replace(file)
