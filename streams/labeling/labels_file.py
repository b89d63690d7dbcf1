"""The file of labels: a line of JSON for each time that a page was saved; the last line of a page counts.

Lines are only ever appended, by one writer at a time, and are on the disk before they are reported as saved.
What a crash left of a line is set aside when the file is opened for writing again.
"""

import codecs
import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from dehusk.schemas.errors import ConfigurationError, ConflictError
from dehusk.schemas.page_labels import Label, Misfit, PageLabels
from dehusk.streams.printable import printable

_DIGEST = re.compile(r"[0-9a-f]{32}")
_LABELS: tuple[Label, ...] = (1, 0, None)
_MEANINGS = {
    Misfit.UNKNOWN_PAGE: "no page of these identifiers is in the input",
    Misfit.CHANGED_PAGE: "their HTML is not the HTML that was labeled",
    Misfit.OTHER_BLOCKS: "another version of dehusk cut them into other blocks",
    Misfit.HALF_LABELED: "not all of their blocks are labeled",
}
_MOST_NAMED = 20
"""Pages of one misfit that an error names."""


@dataclass(slots=True)
class LabelsFile:
    """A file of labels that is open for writing."""

    path: Path
    labels: dict[str, PageLabels]
    """The labels of each page that has any, by the page's identifier."""
    set_aside: Path | None
    """Where the torn last line is that was found when the file was opened; None where it was whole."""
    _file: int
    _size: int = field(init=False)
    """Bytes of the file as this writer knows it."""

    def __post_init__(self) -> None:
        self._size = os.fstat(self._file).st_size

    def save(self, labels: PageLabels) -> None:
        """Append the labels of a page; they are on the disk when this returns.

        Raises:
            ConflictError: the file is not the one that was opened, or somebody else has changed it.
            ConfigurationError: it cannot be written; then it is as it was before.
        """
        self._require_unchanged()
        line = _line(labels)
        try:
            _append(self._file, line)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise _unwritable(self.path, error) from error
        self._size += len(line)
        _keep(self.labels, labels)

    def _require_unchanged(self) -> None:
        opened = os.fstat(self._file)
        if opened.st_size != self._size:
            raise ConflictError(f"{_name(self.path)} was changed by another program; start again to read it")
        try:
            there = self.path.stat()
        except OSError as error:
            raise ConflictError(f"{_name(self.path)} is gone: {error.strerror}; put it back") from error
        if not os.path.samestat(opened, there):
            raise ConflictError(f"{_name(self.path)} was replaced by another file; start again to read it")


@contextmanager
def open_labels_file(path: Path) -> Iterator[LabelsFile]:
    """The file, made where there is none, locked until it is closed; it ends with a whole line.

    A torn last line, as a crash leaves it, is moved to the end of `<name>.torn` beside the file.

    Raises:
        ConflictError: another program writes it.
        ConfigurationError: it cannot be read or written, or a line before the last is malformed.
    """
    file = _open(path)
    try:
        _lock(file, path)
        data = path.read_bytes()
        torn = _torn(data)
        labels = _read(data[: len(data) - len(torn)], path)
        set_aside = _set_aside(file, path, torn) if torn else None
        if data and not torn and not data.endswith(b"\n"):
            _append(file, b"\n")
        yield LabelsFile(path, labels, set_aside, file)
    finally:
        os.close(file)


def read_labels_file(path: Path) -> dict[str, PageLabels]:
    """The labels of each page that has any, by the page's identifier.

    Raises:
        ConfigurationError: the file cannot be read, or a line of it is malformed; the message has its number.
    """
    try:
        return _read(path.read_bytes(), path)
    except OSError as error:
        raise ConfigurationError(f"cannot read {_name(path)}: {error.strerror}") from error


def refuse_misfits(misfits: Mapping[str, Misfit], path: Path) -> None:
    """See whether the labels of a file can be learned from, given why those of some pages cannot.

    Raises:
        ConfigurationError: some cannot; the message names the pages by what is wrong with them.
    """
    if not misfits:
        return
    said = []
    for misfit in Misfit:
        pages = [printable(page) for page, found in misfits.items() if found is misfit]
        if pages:
            more = f" and {len(pages) - _MOST_NAMED:,} more" if len(pages) > _MOST_NAMED else ""
            named = ", ".join(pages[:_MOST_NAMED])
            said.append(f"{misfit} ({len(pages):,}: {_MEANINGS[misfit]}): {named}{more}")
    raise ConfigurationError(f"labels in {_name(path)} do not fit: {'; '.join(said)}")


def _open(path: Path) -> int:
    is_new = not path.exists()
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        if is_new:
            _bring_to_disk(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
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
    """What stands behind the last line break and is no whole line."""
    last = data[data.rfind(b"\n") + 1 :]
    try:
        orjson.loads(last or b"null")
    except orjson.JSONDecodeError:
        return last
    return b""


def _set_aside(file: int, path: Path, torn: bytes) -> Path:
    """Move what is torn to the end of another file; nothing is cut off before it is on the disk there."""
    aside = path.with_name(f"{path.name}.torn")
    try:
        kept = os.open(aside, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _append(kept, torn + b"\n")
        finally:
            os.close(kept)
        _bring_to_disk(path.parent)
        os.ftruncate(file, os.fstat(file).st_size - len(torn))
        os.fsync(file)
    except OSError as error:
        raise _unwritable(aside, error) from error
    return aside


def _append(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)


def _bring_to_disk(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _read(data: bytes, path: Path) -> dict[str, PageLabels]:
    found: dict[str, PageLabels] = {}
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if line and not line.isspace():
            _keep(found, _parsed(line, f"line {number} of {_name(path)}"))
    return found


def _keep(found: dict[str, PageLabels], labels: PageLabels) -> None:
    """Let labels take the place of earlier ones of their page; where all were taken back, it has none."""
    found.pop(labels.id, None)
    if labels.is_begun:
        found[labels.id] = labels


def _parsed(line: bytes, where: str) -> PageLabels:
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(f"{where} is no JSON, or torn: {error}") from error
    if not isinstance(fields, dict):
        raise ConfigurationError(f"{where} is no object with the labels of a page")
    try:
        return _labels(fields)
    except KeyError as error:
        raise ConfigurationError(f"{where} has no field {error}") from error
    except ValueError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def _labels(fields: Mapping[str, Any]) -> PageLabels:
    """The labels that fields say.

    Raises:
        KeyError: one is missing.
        ValueError: one is not what it should be; the message says which.
    """
    return PageLabels(
        id=_text(fields, "id"),
        url=None if fields["url"] is None else _text(fields, "url"),
        html_hash=_digest(fields, "html_hash"),
        blocks_hash=_digest(fields, "blocks_hash"),
        labels=_block_labels(fields["labels"]),
        labeled_at=_time(_text(fields, "labeled_at")),
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not value:
        raise ValueError(f"field {name!r} is no text")
    return value


def _digest(fields: Mapping[str, Any], name: str) -> str:
    value = _text(fields, name)
    if not _DIGEST.fullmatch(value):
        raise ValueError(f"field {name!r} is no hash of 32 hexadecimal digits")
    return value


def _block_labels(value: object) -> tuple[Label, ...]:
    labels = value if isinstance(value, list) else ["none"]
    if any(each not in _LABELS or isinstance(each, bool | float) for each in labels):
        raise ValueError("field 'labels' is no list of 1, 0 and null")
    return tuple(labels)


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("field 'labeled_at' has no time zone")
    return time


def _line(labels: PageLabels) -> bytes:
    fields = {
        "id": labels.id,
        "url": labels.url,
        "html_hash": labels.html_hash,
        "blocks_hash": labels.blocks_hash,
        "labels": labels.labels,
        "labeled_at": labels.labeled_at.astimezone(UTC).replace(microsecond=0),
    }
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"cannot write {_name(path)}: {error.strerror}")


def _name(path: Path) -> str:
    return printable(str(path))
