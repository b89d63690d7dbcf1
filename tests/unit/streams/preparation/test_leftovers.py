"""Folders of multiprocessing whose processes were killed, and those that are in use or cannot be made."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CLAIM = """
from dehusk.streams.preparation.pool import claim_folder
claim_folder()
claim_folder()
print("claimed", flush=True)
input()
"""
WITH_CHILD = """
import multiprocessing
from dehusk.streams.preparation.pool import claim_folder
claim_folder()
child = multiprocessing.get_context("{method}").Process(target=claim_folder)
child.start()
child.join()
print("claimed", flush=True)
input()
"""
IN_THREADS = """
import time
from threading import Thread
from dehusk.streams.preparation import pool
claim = pool.claim
pool.claim = lambda *folder: (time.sleep(0.2), claim(*folder))[1]
threads = [Thread(target=pool.claim_folder) for _ in range(2)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print("claimed", flush=True)
input()
"""
Claim = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def claim(tmp_path: Path) -> Iterator[Claim]:
    """Starts a process that has claimed its folder in this test's temporary folder."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str = CLAIM) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_the_folder_of_a_process_that_was_killed_is_removed_by_the_next(claim: Claim, tmp_path: Path) -> None:
    foreign = tmp_path / "pymp-foreign"
    foreign.mkdir()
    killed, living = claim(), claim()
    assert len(list(tmp_path.iterdir())) == 3
    killed.kill()
    killed.wait()
    ending = claim()
    assert len(list(tmp_path.iterdir())) == 3
    for process in (living, ending):
        process.communicate("\n")
    assert list(tmp_path.iterdir()) == [foreign]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_that_ended_does_not_give_up_the_folder_of_its_parent(
    method: str, claim: Claim, tmp_path: Path
) -> None:
    parent = claim(WITH_CHILD.format(method=method))
    before = set(tmp_path.iterdir())
    next_one = claim()
    assert before < set(tmp_path.iterdir())
    for process in (parent, next_one):
        process.communicate("\n")
    assert list(tmp_path.iterdir()) == []


def test_threads_claim_one_folder(claim: Claim, tmp_path: Path) -> None:
    claim(IN_THREADS)
    (folder,) = tmp_path.iterdir()
    claim()
    assert folder.exists()


@pytest.mark.parametrize("command", ["clean", "inspect", "label", "up"])
def test_a_system_without_room_for_temporary_files_is_named_in_a_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>A paragraph of prose.")
    words = [command, *([str(tmp_path / "page.html")] if command != "up" else [])]
    ended = subprocess.run(
        ["prlimit", "--fsize=0", sys.executable, "-m", "dehusk", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert re.fullmatch(
        r"dehusk: cannot write temporary files: No usable temporary directory found in \[.*\]; one of them, "
        r"or one that TMPDIR names, must be writable and have room\n",
        ended.stderr,
    )
