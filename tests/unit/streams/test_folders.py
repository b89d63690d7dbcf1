import fcntl
import os
from pathlib import Path
from threading import Event, Thread
from typing import TextIO

import pytest

from dehusk.streams.folders import LOCK, claim, is_unlocked, locked, remove_abandoned


def test_a_claimed_folder_stays_until_it_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with claim(tmp_path / "new"):
        assert not is_unlocked(tmp_path / "new" / LOCK)
        remove_abandoned(tmp_path, "new")
        assert (tmp_path / "new").is_dir()
        with pytest.raises(BlockingIOError), locked(tmp_path / "new"):
            pass
    remove_abandoned(tmp_path, "new")
    assert not (tmp_path / "new").exists()


def test_a_lock_that_its_holder_has_removed_is_held_by_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = fcntl.flock

    def remove_and_take(file: TextIO, operation: int) -> None:
        (tmp_path / LOCK).unlink()
        take(file, operation)

    with locked(tmp_path):
        pass
    monkeypatch.setattr(fcntl, "flock", remove_and_take)
    with pytest.raises(BlockingIOError), locked(tmp_path):
        pass
    monkeypatch.undo()
    with locked(tmp_path):
        assert (tmp_path / LOCK).exists()


@pytest.mark.parametrize("other", ["pipe", "link"])
def test_a_lock_that_is_no_file_keeps_nobody_waiting(tmp_path: Path, other: str) -> None:
    (tmp_path / "new").mkdir()
    if other == "pipe":
        os.mkfifo(tmp_path / "new" / LOCK)
    else:
        (tmp_path / "new" / LOCK).symlink_to(tmp_path / "made")
    remove_abandoned(tmp_path, "new")
    assert (tmp_path / "new").is_dir()
    assert not (tmp_path / "made").exists()


def test_no_folder_is_removed_while_it_is_being_claimed(tmp_path: Path) -> None:
    ended = Event()

    def remove_all() -> None:
        while not ended.is_set():
            remove_abandoned(tmp_path, "*")

    remover = Thread(target=remove_all)
    remover.start()
    try:
        for number in range(500):
            folder = tmp_path / str(number)
            folder.mkdir()
            with claim(folder):
                assert folder.is_dir()
    finally:
        ended.set()
        remover.join()
