"""The folders of local stacks."""

import shutil
import tempfile
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local.folder import is_unlocked, locked, temporary_folder, writing


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for what is temporary."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_the_file_system_refuses_names_the_file_and_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught, writing(tmp_path):
        (tmp_path / "no" / "file").touch()
    assert str(caught.value) == f"cannot write {tmp_path}/no/file: No such file or directory"


def test_a_full_disk_is_named_by_its_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError) as caught,
        writing(tmp_path),
        open("/dev/full", "wb", buffering=0) as full,  # noqa: PTH123 a disk that is full
    ):
        full.write(b"x")
    assert str(caught.value) == f"cannot write {tmp_path}: No space left on device"


def test_of_a_tree_that_cannot_be_copied_one_reason_is_given(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "link").symlink_to("nowhere")
    reason = f"cannot write {tmp_path}: .*No such file"
    with pytest.raises(ConfigurationError, match=reason), writing(tmp_path):
        shutil.copytree(tmp_path / "from", tmp_path / "to")


def test_a_temporary_folder_that_cannot_be_made_is_an_error_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nope")
    with pytest.raises(ConfigurationError, match="cannot write /proc/nope/dehusk-stack-"):
        temporary_folder().__enter__()


def stack_folder(temporary: Path, name: str) -> Path:
    """A folder as a stack that ran in it leaves it."""
    folder = temporary / name
    folder.mkdir()
    with locked(folder):
        (folder / "data").touch()
    return folder


def test_a_folder_has_one_holder_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(BlockingIOError), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_lock_is_seen_until_it_is_released_or_removed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with locked(tmp_path):
        assert not is_unlocked(lock)
    assert is_unlocked(lock)
    lock.unlink()
    assert not is_unlocked(lock)


def test_a_temporary_folder_is_removed_with_what_is_in_it(temporary: Path) -> None:
    with temporary_folder() as folder, locked(folder):
        (folder / "data").touch()
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_what_killed_stacks_left_is_removed_and_nothing_else(temporary: Path) -> None:
    abandoned = stack_folder(temporary, "dehusk-stack-abandoned")
    used = stack_folder(temporary, "dehusk-stack-used")
    other = stack_folder(temporary, "dehusk-other")
    with locked(used), temporary_folder() as folder:
        assert not abandoned.exists()
        assert {each.name for each in temporary.iterdir()} == {used.name, other.name, folder.name}
        assert (used / "data").exists()
