"""File of labels: a line of JSON for each time that a page was saved; the last line of a page counts.

Lines are only ever appended, by one writer at a time, and are on the disk before they are reported as saved.
A torn last line, as a crash leaves it, was never reported as saved: readers pass over it, and it is moved to
another file when the file is opened for writing again.
"""

import codecs
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import orjson

from dehusk.schemas.errors import ConfigurationError, ConflictError
from dehusk.schemas.page_labels import Misfit, PageLabels
from dehusk.streams.folders import sync_folder, writing
from dehusk.streams.wording import printable

_MEANINGS = {
    Misfit.UNKNOWN_PAGE: "no page of these identifiers is in the input",
    Misfit.CHANGED_PAGE: "their HTML is not the HTML that was labeled",
    Misfit.OTHER_BLOCKS: "another version of dehusk cut them into other blocks",
    Misfit.HALF_LABELED: "not all of their blocks are labeled",
}
_MAX_NAMED = 20
"""Pages of one misfit that an error names."""


@dataclass(slots=True)
class LabelsFile:
    """A file of labels that is open for writing."""

    path: Path
    labels: dict[str, PageLabels]
    """Labels of each page that has any, by the page's identifier."""
    set_aside: Path | None
    """File with the torn last line that was found when this one was opened; None without one."""
    _file: int
    _size: int = field(init=False)
    """Bytes of the file after the last write here."""

    def __post_init__(self) -> None:
        self._size = os.fstat(self._file).st_size

    def save(self, labels: PageLabels) -> None:
        """Append the labels of a page; they are on the disk when this returns.

        Raises:
            ConflictError: the file is not the one that was opened, or somebody else has changed it.
            ConfigurationError: it cannot be written; then it is as it was before.
        """
        self._require_unchanged()
        line = labels_line(labels)
        try:
            with writing(self.path):
                _append(self._file, line)
        except ConfigurationError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)
        _keep(self.labels, labels)

    def _require_unchanged(self) -> None:
        opened = os.fstat(self._file)
        if opened.st_size != self._size:
            raise ConflictError(f"{_name(self.path)} was changed by another program; start again to read it")
        try:
            named = self.path.stat()
        except OSError as error:
            raise ConflictError(f"{_name(self.path)} is gone: {error.strerror}; put it back") from error
        if not os.path.samestat(opened, named):
            raise ConflictError(f"{_name(self.path)} was replaced by another file; start again to read it")


@contextmanager
def open_labels_file(path: Path) -> Iterator[LabelsFile]:
    """Open the file, made if there is none, and lock it until it is closed.

    A torn last line is moved to the end of `<name>.torn` in the same folder.

    Raises:
        ConflictError: another program writes it.
        ConfigurationError: it cannot be read or written, or a line before the last is malformed.
    """
    file = _open(path)
    try:
        _lock(file, path)
        data = path.read_bytes()
        labels, torn = _read(data, path)
        set_aside = _set_aside(file, path, torn) if torn else None
        if data and not torn and not data.endswith(b"\n"):
            _append(file, b"\n")
        yield LabelsFile(path, labels, set_aside, file)
    finally:
        os.close(file)


def read_labels_file(path: Path) -> dict[str, PageLabels]:
    """Read the labels of each page that has any, by the page's identifier.

    Raises:
        ConfigurationError: the file cannot be read, or a whole line is malformed; the message has its number.
    """
    try:
        return _read(path.read_bytes(), path)[0]
    except OSError as error:
        raise ConfigurationError(f"cannot read {_name(path)}: {error.strerror}") from error


def refuse_misfits(misfits: Mapping[str, Misfit], path: Path) -> None:
    """Raise an error if the labels of some pages cannot be learned from.

    Raises:
        ConfigurationError: names these pages by their misfit.
    """
    if not misfits:
        return
    groups = []
    for misfit in Misfit:
        pages = [printable(page) for page, reason in misfits.items() if reason is misfit]
        if pages:
            more = f" and {len(pages) - _MAX_NAMED:,} more" if len(pages) > _MAX_NAMED else ""
            named = ", ".join(pages[:_MAX_NAMED])
            groups.append(f"{misfit} ({len(pages):,}: {_MEANINGS[misfit]}): {named}{more}")
    raise ConfigurationError(f"labels in {_name(path)} do not fit: {'; '.join(groups)}")


def _open(path: Path) -> int:
    is_new = not path.exists()
    with writing(path):
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        if is_new:
            sync_folder(path.parent)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ConfigurationError(f"{_name(path)} is no regular file: name another one")
    return file


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConflictError(
            f"{_name(path)} is open in another program that labels pages; end it, or name another file"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"cannot lock {_name(path)}: {error.strerror}") from error


def _torn(data: bytes) -> bytes:
    """Return the last line if it is not whole, else nothing."""
    last = data[data.rfind(b"\n") + 1 :]
    try:
        orjson.loads(last.removeprefix(codecs.BOM_UTF8) or b"null")
    except orjson.JSONDecodeError:
        return last
    return b""


def _set_aside(file: int, path: Path, torn: bytes) -> Path:
    """Move a torn line to the end of another file; it is cut off once it is on the disk there."""
    target = path.with_name(f"{path.name}.torn")
    with writing(target):
        with target.open("ab", buffering=0) as kept:
            _append(kept.fileno(), torn + b"\n")
        sync_folder(path.parent)
        os.ftruncate(file, os.fstat(file).st_size - len(torn))
        os.fsync(file)
    return target


def _append(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)


def _read(data: bytes, path: Path) -> tuple[dict[str, PageLabels], bytes]:
    """Return the labels in the whole lines of a file, and its last line if that is torn."""
    pages: dict[str, PageLabels] = {}
    torn = _torn(data)
    whole = data[: len(data) - len(torn)].removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(whole.split(b"\n"), 1):
        if line and not line.isspace():
            _keep(pages, _parsed(line, f"line {number} of {_name(path)}"))
    return pages, torn


def _keep(pages: dict[str, PageLabels], labels: PageLabels) -> None:
    """Replace earlier labels of a page; if all were taken back, it has none."""
    pages.pop(labels.id, None)
    if labels.is_started:
        pages[labels.id] = labels


def _parsed(line: bytes, where: str) -> PageLabels:
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(f"{where} is no JSON, or torn: {error}") from error
    try:
        return msgspec.convert(_with_time(fields), PageLabels)
    except ValueError as error:
        raise ConfigurationError(f"{where} has no labels of a page: {error}") from error


def _with_time(fields: object) -> object:
    """Read the time in any form of ISO 8601, where msgspec would read that of RFC 3339 alone."""
    if isinstance(fields, dict) and isinstance(text := fields.get("labeled_at"), str):
        return {**fields, "labeled_at": datetime.fromisoformat(text)}
    return fields


def labels_line(labels: PageLabels) -> bytes:
    """Return the labels of a page as a line of the file."""
    labels = replace(labels, labeled_at=labels.labeled_at.astimezone(UTC).replace(microsecond=0))
    return orjson.dumps(labels, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


def _name(path: Path) -> str:
    return printable(str(path))
