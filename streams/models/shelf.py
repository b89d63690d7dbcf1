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
from dehusk.schemas.rollout import is_version
from dehusk.streams.models.candidate import Candidate
from dehusk.streams.models.files import MOST_BYTES, MOST_TEXT_BYTES, open_plain

_STAGING = ".staging-"
"""What names begin with that Triton and `inference/repository.py` take for no model and no version."""
_LOCK = "lock"
_REMOVED = ".removed-versions"
"""The numbers of the versions of a model that were removed, a line each."""
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
    """The number after the newest version that is or was there; 1 for a new model."""
    numbers = {*versions(repository, model), *removed_versions(repository / model)}
    return str(max(map(int, numbers), default=0) + 1)


def removed_versions(directory: Path) -> set[str]:
    """The versions of a model that were removed: documents name them, so they are not given again."""
    file = directory / _REMOVED
    found = file.read_text(encoding="utf-8", errors="replace").split() if file.exists() else []
    return {each for each in found if is_version(each)}


def note_removed(version: Path) -> None:
    """Keep in mind that a version was there."""
    with _writing(version.parent), (version.parent / _REMOVED).open("a", encoding="ascii") as file:
        file.write(f"{version.name}\n")
        file.flush()
        os.fsync(file.fileno())


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
        check_new(version)
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


def check_new(version: Path) -> None:
    """See whether a version may get its number.

    Raises:
        ConfigurationError: it is there, or another one was.
    """
    if version.exists():
        raise exists(version)
    if version.name in removed_versions(version.parent):
        raise ConfigurationError(
            f"{version} was removed, and documents may name it: its number is not given again; name another "
            "as --version"
        )


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


def take_away(directory: Path) -> None:
    """Remove a version, or a model, at once."""
    with withdrawn(directory):
        pass


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
