"""The note of a run's directory on where its pages came from."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import orjson

from dehusk.training.directory import left_by

_SOURCES = "sources.json"


def write_sources(files: Sequence[Path], directory: Path) -> None:
    """Note in a directory which data files its pages come from."""
    names = [f"{file.name} (SHA-256 {_digest(file)[:16]}…)" for file in files]
    (directory / _SOURCES).write_bytes(orjson.dumps(names))


def sources(directory: Path) -> list[str]:
    """The data files that a directory was prepared from, each with its digest."""
    names: list[str] = orjson.loads(left_by("prepare", directory / _SOURCES).read_bytes())
    return names


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
