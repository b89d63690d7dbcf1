"""The disk of a model repository: a version appears and disappears there at once, or not at all."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dehusk.inference.golden import GOLDEN_FILE
from dehusk.inference.repository import CARD_FILE, CONFIG_FILE, MODEL_FILE, versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.candidate import Candidate
from dehusk.streams.models.files import MOST_BYTES, MOST_TEXT_BYTES, open_plain

_STAGING = ".staging-"
"""What names begin with that Triton and `inference/repository.py` take for no model and no version."""
_LOCK = "lock"
_CHUNK = 1 << 20


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """A folder on a folder's file system, removed at the end; if this process is killed, by the next one."""
    with _writing(folder):
        sweep(folder)
        place = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
        place.chmod(0o755)
    with (place / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove the staging folders of processes that have ended."""
    for lock in folder.glob(f"{_STAGING}*/{_LOCK}"):
        with suppress(OSError), lock.open("r+") as file:  # it is in use, or another one removes it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent)


def next_version(repository: Path, model: str) -> str:
    """The number after the newest version; 1 for a new model."""
    return str(int(([*versions(repository, model)] or ["0"])[-1]) + 1)


def copy_version(candidate: Candidate, version: Path) -> Candidate:
    """Copy the files of a candidate into a new directory; the copy.

    Raises:
        FaultError: a file is none, a link or too large.
    """
    with _writing(version):
        version.mkdir()
        _copy(candidate.model, version / MODEL_FILE, MOST_BYTES)
        _copy(candidate.golden, version / GOLDEN_FILE, MOST_TEXT_BYTES)
        if candidate.card:
            _copy(candidate.card, version / CARD_FILE, MOST_TEXT_BYTES)
        _sync(version)
    card = version / CARD_FILE if candidate.card else None
    return Candidate(version / MODEL_FILE, version / GOLDEN_FILE, card, candidate.config)


def publish_version(staged: Path, version: Path) -> None:
    """Let a staged version appear in its model's directory; its model appears with it where it is new.

    Raises:
        ConfigurationError: the version is there already.
    """
    with _writing(version):
        _check_new(version)
        try:
            staged.rename(version)
        except OSError as error:
            if version.exists():  # another one was quicker
                raise exists(version) from error
            raise
        _sync(version.parent)


def publish_model(staged: Path, directory: Path) -> None:
    """Let a staged model, its configuration and version in it, appear in the repository.

    Raises:
        ConfigurationError: it is there already.
    """
    publish_version(staged, directory)


def _check_new(version: Path) -> None:
    if version.exists():
        raise exists(version)


def exists(version: Path) -> ConfigurationError:
    """What to say of a version that is there already."""
    return ConfigurationError(f"{version} exists, and versions are immutable; name another --version")


@contextmanager
def withdrawn(version: Path) -> Iterator[None]:
    """Take a version out of its model's directory at once and delete it at the end; an error puts it back."""
    with staging(version.parent) as place, _writing(version):
        aside = place / "version"
        version.rename(aside)
        _sync(version.parent)
        try:
            yield
        except BaseException:
            aside.rename(version)
            _sync(version.parent)
            raise


def write_config(directory: Path, text: str) -> None:
    """Replace a model's `config.pbtxt` at once."""
    with staging(directory) as place, _writing(directory):
        new = place / CONFIG_FILE
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.rename(directory / CONFIG_FILE)
        _sync(directory)


def _copy(source: Path, target: Path, most_bytes: int) -> None:
    with open_plain(source, most_bytes) as read, target.open("xb") as written:
        shutil.copyfileobj(read, written, _CHUNK)
        written.flush()
        os.fsync(written.fileno())


def _sync(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Translates what the file system refuses."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"cannot write {error.filename or folder}: {error.strerror or error}"
        ) from error
