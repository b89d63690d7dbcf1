"""The note of a run's directory on where its pages came from."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from dehusk.training.directory import left_by

_SOURCES = "sources.json"
_DIGITS = 16
_NAMED = re.compile(r"(?P<name>[^\s,]+) \(SHA-256 (?P<digest>[0-9a-f]{16})…\)")


def write_sources(files: Sequence[Path], directory: Path) -> None:
    """Note in a directory which data files its pages come from."""
    (directory / _SOURCES).write_bytes(orjson.dumps([said_source(file) for file in files]))


def said_source(file: Path) -> str:
    """A data file as cards name it; of a directory its name alone."""
    return f"{file.name} (SHA-256 {_digest(file)[:_DIGITS]}…)" if file.is_file() else file.name


def sources(directory: Path) -> list[str]:
    """The data files that a directory was prepared from, each with its digest."""
    names: list[str] = orjson.loads(left_by("prepare", directory / _SOURCES).read_bytes())
    return names


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Source:
    """A data file that pages come from."""

    name: str
    digest: str
    """The first 16 hexadecimal digits of its SHA-256."""


def source_of(file: Path) -> Source:
    """A data file as a card names it."""
    return Source(file.name, _digest(file)[:_DIGITS])


def sources_in(card: str) -> list[Source]:
    """The data files that a card names."""
    return [Source(*named.groups()) for named in _NAMED.finditer(card)]
