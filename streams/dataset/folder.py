"""A folder of files of documents, written one after the other, that a later run goes on with.

A file is written under a name of its own, which begins with a dot, and gets its final name once it is whole
and on the disk. It holds a note of its rows: the position in the input where they begin and end, and the
options that they were made with. So the newest file says where to go on, nothing can disagree with it, and
whatever a killed run has left behind it is written again.
"""

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import orjson

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.dataset.parts import SUFFIXES, Columns, FileFormat, Part, Row
from dehusk.streams.folders import locked, sync_folder, writing
from dehusk.streams.settings import MIB
from dehusk.streams.wording import pluralize

_LOCK = ".lock"
_UNFINISHED = ".unfinished"
_ANOTHER = "name an empty folder"
_PART = re.compile(r"part-(\d{5,})(\..+)")

_END = object()
_Coming = TypeVar("_Coming")
Position = Mapping[str, Any]
"""Position in an input, as JSON has it."""
Options = Mapping[str, str]
"""Names and values of what the rows depend on, for people to compare."""


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """Folder of documents, and the size of its files."""

    folder: Path
    format: str = "parquet"
    """A key of `SUFFIXES`."""
    resume: bool = False
    """True to go on with what is there; else the folder has to be empty."""
    max_bytes: int = 128 * MIB
    """Bytes on disk from which on a file is completed."""
    max_seconds: float = 600.0
    """Time after which a file is completed that has rows."""


class DocumentFolder:
    """A folder of documents that this process writes, as `open_folder` opens it."""

    def __init__(
        self, settings: FolderSettings, form: FileFormat, columns: Columns, options: Options
    ) -> None:
        self._settings = settings
        self._format = form
        self._columns = columns
        self._options = options
        self._position: Callable[[], Position] = dict
        self._begin: Position = {}
        self._number = 0
        self._file: BinaryIO | None = None
        self._part: Part | None = None
        self._rows = 0
        self._begun = 0.0
        self._is_writing = False
        """True while a file may be half written."""
        self.rows = 0
        """Rows of the files of all runs."""
        self.end: Position | None = None
        """Position behind the last row of the newest file; None for an empty folder."""

    @property
    def path(self) -> Path:
        """Path of the folder."""
        return self._settings.folder

    def resume(self) -> None:
        """Look at what is there, and remove what a killed run has not completed.

        Raises:
            ConfigurationError: there are other files, or those of other options, or any without `--resume`.
        """
        folder = self.path
        numbers: list[int] = []
        for name in sorted(path.name for path in folder.iterdir()):
            part = _PART.fullmatch(name.removeprefix(".").removesuffix(_UNFINISHED))
            if part is None or part[2] not in SUFFIXES.values():
                if name != _LOCK:
                    raise ConfigurationError(
                        f"{folder} holds {name!r}, which is none of its files: {_ANOTHER}"
                    )
            elif name.endswith(_UNFINISHED):
                (folder / name).unlink()
            elif part[2] != self._format.suffix:
                raise ConfigurationError(f"{folder} holds files of another --output-format: {_ANOTHER}")
            else:
                numbers.append(int(part[1]))
        if numbers:
            self._go_on_after(max(numbers), len(numbers))

    def _go_on_after(self, newest: int, count: int) -> None:
        folder = self.path
        if not self._settings.resume:
            files = pluralize(count, "file")
            raise ConfigurationError(
                f"{folder} holds {files} of an earlier run: go on with --resume, or {_ANOTHER}"
            )
        path = self._path(newest)
        try:
            note = orjson.loads(self._format.read_note(path))
            options, self.end, self.rows = note["options"], note["to"], note["total"]
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"{path} is not whole, or was not written by this command ({error}): remove it, and what it "
                "held is written again"
            ) from error
        changed = [
            f"{name} was {options.get(name, 'not set')!r} and is {self._options.get(name, 'not set')!r}"
            for name in sorted({*options, *self._options})
            if options.get(name) != self._options.get(name)
        ]
        if changed:
            raise ConfigurationError(
                f"{folder} was begun with other options ({'; '.join(changed)}): resume with the same ones, "
                f"or {_ANOTHER}"
            )
        self._number = newest + 1

    def start(self, position: Callable[[], Position]) -> None:
        """Begin with rows; `position` returns the position in the input behind the last one."""
        self._position = position
        self._begin = position()

    @property
    def seconds_left(self) -> float | None:
        """Time until the open file is to be completed; None if none is open."""
        if self._part is None:
            return None
        return max(0.0, self._begun + self._settings.max_seconds - time.monotonic())

    async def in_time(self, coming: AsyncGenerator[_Coming, None]) -> AsyncGenerator[_Coming, None]:
        """Yield what comes, and complete the open file in time while nothing does."""
        while True:
            following = asyncio.ensure_future(anext(coming, _END))
            try:
                while not (await asyncio.wait({following}, timeout=self.seconds_left))[0]:
                    self.end_file()
            finally:
                following.cancel()  # which does nothing once it has come
                await asyncio.wait({following})
            if (come := following.result()) is _END:
                return
            yield cast("_Coming", come)

    def write(self, row: Row, move: Callable[[], None]) -> None:
        """Add a row, and `move` the position behind it; complete the file if it is large or old enough.

        Whatever ends the process, no file has the row without the position, or the position without the row.

        Raises:
            ConfigurationError: the file system refuses it; nothing of the open file is left then.
        """
        with self._writing():
            file, part = self._opened()
            part.write(row)
            size = file.tell()
            move()
            self._rows += 1
        if size >= self._settings.max_bytes or not self.seconds_left:
            self.end_file()

    def end_file(self) -> None:
        """Complete the open file, if there is one, and give it its final name.

        Raises:
            ConfigurationError: the file system refuses it; nothing of the file is left then.
        """
        if self._part is None or self._file is None:
            return
        end = self._position()
        note = {
            "dehusk": version("dehusk"),
            "options": self._options,
            "from": self._begin,
            "to": end,
            "rows": self._rows,
            "total": self.rows + self._rows,
        }
        with self._writing():
            self._part.end(orjson.dumps(note))
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            path = self._path(self._number)
            _unfinished(path).rename(path)
            sync_folder(self.path)
            self._part = self._file = None
            self.rows += self._rows
            self._begin = self.end = end
            self._rows, self._number = 0, self._number + 1

    def end_run(self) -> None:
        """Complete the open file; without one, a file without rows notes the position if it has moved.

        Raises:
            ConfigurationError: the file system refuses it; nothing of the file is left then.
        """
        if self._is_writing:  # and has failed
            return
        noted = self._begin if self.end is None else self.end
        if self._part is None and self._position() != noted:
            with self._writing():
                self._opened()
        self.end_file()

    def close(self) -> None:
        """Complete the open file, and remove one that is half written, and the lock."""
        try:
            if not self._is_writing:
                self.end_file()
        finally:
            if self._is_writing:
                self._abandon()
            with suppress(OSError):  # of a folder that takes no more changes
                (self.path / _LOCK).unlink()

    def _abandon(self) -> None:
        if self._part is not None:
            self._part.abandon()
        if self._file is not None:
            with suppress(OSError):  # of what is still to be written
                self._file.close()
            with suppress(OSError):
                _unfinished(self._path(self._number)).unlink()

    def _opened(self) -> tuple[BinaryIO, Part]:
        """Return the open file, a new one if none is open."""
        if self._file is None or self._part is None:
            self._file = _unfinished(self._path(self._number)).open("xb")
            self._part = self._format.open(self._file, self._columns, self._settings.max_bytes)
            self._begun = time.monotonic()
        return self._file, self._part

    def _path(self, number: int) -> Path:
        return self.path / f"part-{number:05}{self._format.suffix}"

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._is_writing = True
        try:
            with writing(self.path):
                yield
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}; files that are complete stay, and --resume goes on"
            ) from error
        self._is_writing = False


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}{_UNFINISHED}")


@contextmanager
def open_folder(settings: FolderSettings, columns: Columns, options: Options) -> Iterator[DocumentFolder]:
    """Open a folder, which is made if it is missing, for this process alone.

    At the end, the open file is completed with the rows that it has, whatever the end is, unless writing has
    failed.

    Raises:
        ConfigurationError: it cannot be written, another process writes to it, or what it holds does not fit.
    """
    form = file_format(settings.format)
    with writing(settings.folder):
        settings.folder.mkdir(parents=True, exist_ok=True)
    with _locked(settings.folder):
        folder = DocumentFolder(settings, form, columns, options)
        with writing(settings.folder):
            folder.resume()
        try:
            yield folder
        finally:
            folder.close()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with ExitStack() as stack:
        with writing(folder):
            try:
                stack.enter_context(locked(folder, _LOCK))
            except BlockingIOError as error:
                raise ConfigurationError(
                    f"another process writes to {folder}: wait for its end, or {_ANOTHER}"
                ) from error
        yield


def file_format(name: str) -> FileFormat:
    """Return a format of `SUFFIXES` by its name.

    Raises:
        ModuleNotFoundError: it needs an extra that is not installed.
    """
    match name:
        case "parquet":
            from dehusk.streams.dataset.parquet import PARQUET  # noqa: PLC0415 loaded only for it

            return PARQUET
        case "wet":
            from dehusk.streams.dataset.wet import WET  # noqa: PLC0415 loaded only for it

            return WET
        case _:
            from dehusk.streams.dataset.lines import LINES  # noqa: PLC0415 loaded only for it

            return LINES
