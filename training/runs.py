"""Training runs: their configuration, the directory that one command leaves for the next, and the data files.

The configuration is a small TOML file, whose `kind` names the model that it is for.
"""

import hashlib
import pickle
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeVar

import click
import orjson

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken
from dehusk.streams.wording import printable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config")
Tables = dict[str, Any]
Report = Callable[[str], object]
"""Callback for messages on progress."""

_SOURCES = "sources.json"
_DIGITS = 16
_NAMED = re.compile(r"(?P<name>[^\s,]+) \(SHA-256 (?P<digest>[0-9a-f]{16})…\)")


def read_tables(file: Path, make: Callable[[Tables], Config]) -> Config:
    """Make a configuration from the tables of a TOML file.

    Raises:
        ConfigurationError: the file has a setting too few or too many.
    """
    try:
        return make(tomllib.loads(file.read_text(encoding="utf-8")))
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file} is no training configuration: {error}") from error


class RunConfig(ABC):
    """Configuration of a training run."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def _from_tables(cls, tables: Tables) -> Self:
        """Make a configuration of tables; every setting must be there, and no other."""

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read the configuration in a TOML file, whose tables have the names of its fields."""
        return read_tables(file, cls._from_known)

    @classmethod
    def _from_known(cls, tables: Tables) -> Self:
        unknown = tables.keys() - {"kind", *cls.__slots__}
        if unknown:
            raise TypeError(f"it takes no table {' or '.join(sorted(unknown))}")
        return cls._from_tables(tables)


@dataclass(frozen=True, slots=True)
class Preparation:
    """Options of `prepare`."""

    files: Sequence[Path]
    directory: Path
    config: Path
    """File with the settings."""
    processes: int
    validation: Sequence[Path] = ()
    """Files whose pages are all held out."""
    labels: Path | None = None
    """Labels of `dehusk label`, which pages take instead of what their gold text says."""

    @property
    def sources(self) -> Sequence[Path]:
        """All files that pages and labels come from."""
        return (*self.files, *self.validation, *([] if self.labels is None else [self.labels]))


def left_by(command: str, file: Path) -> Path:
    """Return the file that a command writes.

    Raises:
        ConfigurationError: it does not exist.
    """
    if not file.exists():
        raise ConfigurationError(f"there is no {file}; run `python -m training {command}` first")
    return file


@contextmanager
def written_whole(file: Path) -> Iterator[BinaryIO]:
    """Replace a file by what is written, at the end; after an error it stays as it was."""
    partial = file.with_suffix(".partial")
    with partial.open("wb") as target:
        yield target
    partial.replace(file)


def write_records(file: Path, records: Iterable[object]) -> None:
    """Write records that `read_records` reads, as they come; the file appears when it is whole."""
    with written_whole(file) as target:
        for record in records:
            pickle.dump(record, target, protocol=5)


def read_records(file: Path) -> Iterator[Any]:
    """Read the records that this program wrote into a file."""
    with file.open("rb") as source:
        while source.peek(1):
            yield pickle.load(source)  # noqa: S301 -- a file that this program wrote


def report(text: str) -> None:
    """Print a message on standard error."""
    click.echo(printable(text), err=True)


def report_broken(pages: Iterable[Broken]) -> None:
    """Name the pages that were left out, on standard error."""
    for page in pages:
        report(f"left out a page of {page.url}: {page.detail}")


@dataclass(frozen=True, slots=True)
class Source:
    """A data file that pages come from."""

    name: str
    digest: str
    """First 16 hexadecimal digits of its SHA-256."""

    @classmethod
    def of(cls, file: Path) -> "Source":
        """Return the source that a file is."""
        with file.open("rb") as stream:
            return cls(file.name, hashlib.file_digest(stream, "sha256").hexdigest()[:_DIGITS])


def describe_source(file: Path) -> str:
    """Describe a data file as cards name it; a directory by its name alone."""
    return f"{file.name} (SHA-256 {Source.of(file).digest}…)" if file.is_file() else file.name


def write_sources(files: Sequence[Path], directory: Path) -> None:
    """Note the data files of a run in its directory."""
    (directory / _SOURCES).write_bytes(orjson.dumps([describe_source(file) for file in files]))


def read_sources(directory: Path) -> list[str]:
    """Return the descriptions of the data files that a directory was prepared from."""
    names: list[str] = orjson.loads(left_by("prepare", directory / _SOURCES).read_bytes())
    return names


def write_scores(file: Path, config: "DataclassInstance", scores: str) -> None:
    """Write the scores of a run of this configuration on the pages of the file's directory."""
    file.write_bytes(orjson.dumps({"run": _run(file.parent, config), "scores": scores}))


def read_scores(command: str, file: Path, config: "DataclassInstance") -> str:
    """Read the scores that a command wrote.

    Raises:
        ConfigurationError: there are none, or they are of other data or another configuration.
    """
    written = orjson.loads(left_by(command, file).read_bytes())
    if written["run"] != _run(file.parent, config):
        raise ConfigurationError(
            f"{file} is of other data or another configuration; run `python -m training {command}` again"
        )
    scores: str = written["scores"]
    return scores


def _run(directory: Path, config: "DataclassInstance") -> object:
    return orjson.loads(orjson.dumps({"sources": read_sources(directory), "config": config}))


def sources_in(card: str) -> list[Source]:
    """Find the data files that a card names."""
    return [Source(*named.groups()) for named in _NAMED.finditer(card)]
