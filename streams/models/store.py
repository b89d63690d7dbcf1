"""Model repository on disk: versions are added and removed atomically."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE

from dehusk.inference.labelers.golden import GOLDEN_FILE
from dehusk.inference.labelers.repository import CARD_FILE, CONFIG_FILE, MODEL_FILE
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import is_version
from dehusk.streams.folders import claimed_folder, sync_folder, writing
from dehusk.streams.models.candidate import MAX_MODEL_BYTES, MAX_TEXT_BYTES, Candidate, open_plain

_STAGING = ".staging-"
"""Prefix of names that neither Triton nor `repository.py` of the labelers takes for a model or version."""
_REMOVED = ".removed-versions"
"""File with the numbers of a model's removed versions, a line each."""
_CHUNK = 1 << 20
_RIGHTS = 0o644
"""Rights of a new file of a repository, whatever the user's mask: Triton and workers may be other users."""
Guard = Callable[[], None]
"""Check right before a write; raises an error if nothing is to be written any more."""


def unguarded() -> None:
    """Let every write be made."""


@contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Create a temporary folder within a folder; if this process is killed, the next one removes it."""
    with claimed_folder(folder, _STAGING) as place:
        place.chmod(0o755)
        yield place


def next_version(model: str, *roots: Path) -> str:
    """Return the number after the newest version that is or was in repositories; 1 for a new model.

    A folder counts without a model file, too, as somebody may be about to write one.
    """
    directories = [root / model for root in roots]
    found = {each.name for directory in directories for each in directory.glob("*") if is_version(each.name)}
    removed = set().union(*map(removed_versions, directories))
    return str(max(map(int, found | removed), default=0) + 1)


def removed_versions(directory: Path) -> set[str]:
    """Return the removed versions of a model, whose numbers are not reused, as documents name them.

    Raises:
        ConfigurationError: they cannot be read.
    """
    file = directory / _REMOVED
    try:
        found = file.read_text(encoding="utf-8", errors="replace").split() if file.exists() else []
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {error.strerror}") from error
    return {each for each in found if is_version(each)}


def note_removed(version: Path) -> None:
    """Record that a version was there."""
    with writing(version.parent), (version.parent / _REMOVED).open("a", encoding="ascii") as file:
        file.write(f"{version.name}\n")
        file.flush()
        os.fsync(file.fileno())


def copy_version(candidate: Candidate, version: Path) -> Candidate:
    """Copy the files of a candidate into a new directory, and return the copy.

    Raises:
        FaultError: a file is none, a link or too large.
    """
    with writing(version):
        version.mkdir()
        version.chmod(0o755)
        _copy(candidate.model, version / MODEL_FILE, MAX_MODEL_BYTES)
        _copy(candidate.golden, version / GOLDEN_FILE, MAX_TEXT_BYTES)
        if candidate.card:
            _copy(candidate.card, version / CARD_FILE, MAX_TEXT_BYTES)
        sync_folder(version)
    card = version / CARD_FILE if candidate.card else None
    return Candidate(version / MODEL_FILE, version / GOLDEN_FILE, card, candidate.config)


def publish(staged: Path, directory: Path) -> None:
    """Move a staged version to its model's directory, or a staged model to the repository.

    Raises:
        ConfigurationError: it is there already.
    """
    with writing(directory):
        check_new(directory)
        try:
            staged.rename(directory)
        except OSError as error:
            if directory.exists():  # another one was quicker
                raise _exists(directory) from error
            raise
        sync_folder(directory.parent)


def check_new(version: Path) -> None:
    """Check that the number of a version is free.

    Raises:
        ConfigurationError: the version exists, or one of that number was removed.
    """
    if version.exists():
        raise _exists(version)
    if version.name in removed_versions(version.parent):
        raise ConfigurationError(
            f"{version} was removed, and documents may name it: its number is not given again; name another "
            "as --version"
        )


def _exists(version: Path) -> ConfigurationError:
    return ConfigurationError(f"{version} exists, and versions are immutable; name another --version")


@contextmanager
def withdrawn(version: Path) -> Iterator[None]:
    """Move a version out of its model's directory, and delete it at the end; an error restores it."""
    with staging(version.parent) as place, writing(version):
        moved = place / "version"
        version.rename(moved)
        sync_folder(version.parent)
        try:
            yield
        except BaseException:
            moved.rename(version)
            sync_folder(version.parent)
            raise


def remove_at_once(directory: Path) -> None:
    """Remove a version or a model atomically."""
    with withdrawn(directory):
        pass


def write_config(directory: Path, text: str, guard: Guard = unguarded) -> None:
    """Replace a model's `config.pbtxt` atomically, with its rights, unless the guard raises an error."""
    with staging(directory) as place, writing(directory):
        new, before = place / CONFIG_FILE, directory / CONFIG_FILE
        rights = S_IMODE(before.stat().st_mode) if before.exists() else _RIGHTS
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), rights)
            os.fsync(file.fileno())
        guard()
        new.rename(before)
        sync_folder(directory)


def _copy(source: Path, target: Path, max_bytes: int) -> None:
    with open_plain(source, max_bytes) as read, target.open("xb") as written:
        shutil.copyfileobj(read, written, _CHUNK)
        written.flush()
        os.fchmod(written.fileno(), _RIGHTS)
        os.fsync(written.fileno())
