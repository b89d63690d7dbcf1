"""Training runs: their configuration, the directory that one command leaves for the next, and the data files.

The configuration is a small TOML file, whose `kind` names the model that it is for.
"""

import hashlib
import os
import pickle
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self, TypeVar

import click
import msgspec
import orjson

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken
from dehusk.streams.folders import sync_folder
from dehusk.streams.wording import printable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Config = TypeVar("Config")
Tables = dict[str, Any]
Settings = Mapping[str, object]
Report = Callable[[str], object]
"""Callback for messages on progress."""

MAX_SEED = 2**31 - 1
"""Greatest seed that all random generators take."""
_PAGES = "pages.pickle"
_DIGITS = 16
_NAMED = re.compile(r"(?P<name>[^\s,]+) \(SHA-256 (?P<digest>[0-9a-f]{16})…\)")


def check_seeds(seeds: Iterable[object]) -> None:
    """Check that all random generators take some seeds.

    Raises:
        ConfigurationError: they do not take one.
    """
    for seed in seeds:
        if not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
            raise ConfigurationError(f"a seed must be a whole number from 0 to {MAX_SEED}, not {seed!r}")


def read_tables(file: Path, make: Callable[[Tables], Config]) -> Config:
    """Make a configuration from the tables of a TOML file.

    Raises:
        ConfigurationError: the file is no TOML, or has a setting too few or too many.
    """
    try:
        return make(tomllib.loads(file.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError) as error:  # of TOML and of UTF-8, too
        raise ConfigurationError(f"{file} is no training configuration: {error}") from error


class RunConfig(ABC):
    """Configuration of a training run."""

    __slots__ = ()
    kind: ClassVar[str]
    """Kind of model."""
    data: "DataclassInstance | None"
    """Settings of the preparation; None where there are none."""

    @property
    def preparation(self) -> Settings:
        """Kind of model and settings that pages are prepared with, by their names."""
        return {"kind": self.kind, **({} if self.data is None else asdict(self.data))}

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
    """Replace a file by what is written, once it is on the disk; after an error it stays as it was."""
    partial = file.with_suffix(".partial")
    with partial.open("wb") as target:
        yield target
        target.flush()
        os.fsync(target.fileno())
    partial.replace(file)
    sync_folder(file.parent)


def write_records(file: Path, records: Iterable[object]) -> None:
    """Write records, and None as their end, as they come; the file appears when it is whole."""
    with written_whole(file) as target:
        for record in chain(records, [None]):
            pickle.dump(record, target, protocol=5)


def read_records(command: str, file: Path) -> Iterator[Any]:
    """Read the records that a command wrote.

    Raises:
        ConfigurationError: there is no such file, or it is not whole.
    """
    with left_by(command, file).open("rb") as source:
        while (record := _next_record(command, file, source)) is not None:
            yield record


def _next_record(command: str, file: Path, source: BinaryIO) -> object:
    try:
        return pickle.load(source)  # noqa: S301 -- a file that this program wrote
    except Exception as error:  # what is damaged raises anything
        raise damaged(command, file) from error


def damaged(command: str, file: Path) -> ConfigurationError:
    """Return the error of a file that a command wrote and that cannot be read to its end."""
    return ConfigurationError(
        f"{file} is damaged, or another version of dehusk wrote it; delete it and run "
        f"`python -m training {command}` again"
    )


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


@dataclass(frozen=True, slots=True)
class _Note:
    """First record of a run's pages: the settings and the data files that they were made with and of."""

    settings: Settings
    sources: Sequence[str]


def write_pages(options: Preparation, config: RunConfig, pages: Iterable[object]) -> None:
    """Write the pages of a run, and note what they were made with, in its directory."""
    options.directory.mkdir(parents=True, exist_ok=True)
    note = _Note(config.preparation, [describe_source(file) for file in options.sources])
    write_records(options.directory / _PAGES, chain([note], pages))


def read_pages(directory: Path, config: RunConfig) -> Iterator[Any]:
    """Read the pages that were prepared for a run of this configuration.

    Raises:
        ConfigurationError: there are none, or they are for another kind of model or of other settings.
    """
    note, pages = _noted(directory)
    _require_same(note.settings, config.preparation, directory)
    first = next(pages, None)
    if first is None:
        raise ConfigurationError(
            f"{directory} has no pages, as {', '.join(note.sources)} gave none that can be labeled; "
            "run `python -m training prepare` with other files"
        )
    yield first
    yield from pages


def read_sources(directory: Path) -> Sequence[str]:
    """Return the descriptions of the data files that a directory was prepared from."""
    return _noted(directory)[0].sources


def _noted(directory: Path) -> tuple[_Note, Iterator[Any]]:
    """Return the note on the pages of a run, and the pages."""
    file = directory / _PAGES
    records = read_records("prepare", file)
    note = next(records, None)
    if not isinstance(note, _Note):
        raise damaged("prepare", file)
    return note, records


def _require_same(made: Settings, wanted: Settings, directory: Path) -> None:
    names = [name for name in {**wanted, **made} if made.get(name) != wanted.get(name)]
    if names:
        was, now = (
            ", ".join(f"{name} = {settings.get(name, 'none')}" for name in names)
            for settings in (made, wanted)
        )
        raise ConfigurationError(
            f"{directory} was prepared with {was}, and the configuration has {now}; run "
            "`python -m training prepare` again, or name the other configuration or another directory"
        )


class _Scores(msgspec.Struct):
    """Scores of a run, and its data files and configuration."""

    run: object
    scores: str


def write_scores(file: Path, config: "DataclassInstance", scores: str) -> None:
    """Write the scores of a run of this configuration on the pages of the file's directory."""
    with written_whole(file) as target:
        target.write(msgspec.json.encode(_Scores(_run(file.parent, config), scores)))


def read_scores(command: str, file: Path, config: "DataclassInstance") -> str:
    """Read the scores that a command wrote.

    Raises:
        ConfigurationError: there are none, they are not whole, or of other data or another configuration.
    """
    try:
        written = msgspec.json.decode(left_by(command, file).read_bytes(), type=_Scores)
    except ValueError as error:
        raise damaged(command, file) from error
    if written.run != _run(file.parent, config):
        raise ConfigurationError(
            f"{file} is of other data or another configuration; run `python -m training {command}` again"
        )
    return written.scores


def _run(directory: Path, config: "DataclassInstance") -> object:
    return orjson.loads(orjson.dumps({"sources": read_sources(directory), "config": config}))


def sources_in(card: str) -> list[Source]:
    """Find the data files that a card names."""
    return [Source(*named.groups()) for named in _NAMED.finditer(card)]
