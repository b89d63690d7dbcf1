"""The folders of local stacks."""

import tempfile
from pathlib import Path

import pytest

from streams.local.folder import locked, temporary_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for what is temporary."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


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
