"""Folders of documents: names, notes, locks, and what they say of files that they cannot go on with."""

import asyncio
import gzip
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.dataset.folder import DocumentFolder, FolderSettings, file_format, open_folder
from dehusk.streams.dataset.parts import SUFFIXES, Row
from dehusk.streams.settings import MIB
from tests.documents import FULL

FORMATS = pytest.mark.parametrize("name", SUFFIXES)
OPTIONS = {"favor": "balance"}


def row(number: int) -> Row:
    document = replace(FULL, text=os.urandom(20_000).hex(), id=str(number))
    return Row(str(number), FULL.url, document, line=document.to_json_bytes() + b"\n")


@contextmanager
def opened(settings: FolderSettings, options: dict[str, str] = OPTIONS) -> Iterator[DocumentFolder]:
    """The folder, whose position is the number of its rows."""
    with open_folder(settings, (), options) as folder:
        at, write = (folder.end or {"at": 0})["at"], folder.write

        def count() -> None:
            nonlocal at
            at += 1

        folder.write = lambda row, move=count: write(row, move)
        folder.start(lambda: {"at": at})
        yield folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def notes(settings: FolderSettings) -> list[tuple[int, int, int, int]]:
    """Of each file where it begins and ends, how many rows it has, and how many all have up to it."""
    form = file_format(settings.format)
    found = [json.loads(form.read_note(path)) for path in sorted(settings.folder.glob("part-*"))]
    assert {str(note["options"]) for note in found} <= {str(OPTIONS)}
    return [(note["from"]["at"], note["to"]["at"], note["rows"], note["total"]) for note in found]


@FORMATS
def test_files_have_the_size_that_is_asked_for_and_a_number(tmp_path: Path, name: str) -> None:
    settings = FolderSettings(tmp_path / "a" / "b", name, max_bytes=MIB // 4)
    with opened(settings) as folder:
        for number in range(100):
            folder.write(row(number))
    files = sorted(settings.folder.glob("part-*"))
    assert len(files) > 3
    assert [file.name for file in files] == [f"part-{at:05}{SUFFIXES[name]}" for at in range(len(files))]
    assert {MIB // 4 <= file.stat().st_size < 4 * MIB for file in files[:-1]} == {True}
    ends = [end for _, end, _, _ in notes(settings)]
    assert [begin for begin, *_ in notes(settings)] == [0, *ends[:-1]]
    assert sum(rows for _, _, rows, _ in notes(settings)) == ends[-1] == 100


@FORMATS
def test_a_run_that_only_passes_what_has_no_row_leaves_a_file_that_notes_it(
    tmp_path: Path, name: str
) -> None:
    settings, at = FolderSettings(tmp_path, name, resume=True), 0

    def run(moves: int, rows: int = 0) -> None:
        nonlocal at
        with open_folder(settings, (), OPTIONS) as folder:
            folder.start(lambda: {"at": at})
            for number in range(rows):
                folder.write(row(number), lambda: None)
            at += moves
            folder.end_run()

    run(moves=0)
    assert notes(settings) == []
    run(moves=3, rows=2)
    run(moves=0)
    run(moves=4)
    run(moves=0)
    assert notes(settings) == [(0, 3, 2, 2), (3, 7, 0, 2)]
    at = 9  # as where Kafka has deleted what was not read
    run(moves=0)
    assert notes(settings)[-1] == (9, 9, 0, 2)


def test_a_run_whose_file_could_not_be_written_notes_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    with open_folder(FolderSettings(tmp_path), (), OPTIONS) as folder:
        folder.start(lambda: {"at": 0})
        with pytest.raises(ConfigurationError):
            folder.write(row(0), fail)
        folder.end_run()
    assert names(tmp_path) == []


@FORMATS
def test_a_file_has_its_name_only_once_it_is_whole(tmp_path: Path, name: str) -> None:
    settings = FolderSettings(tmp_path, name)
    with opened(settings) as folder:
        assert names(tmp_path) == [".lock"]
        folder.write(row(0))
        assert names(tmp_path) == [".lock", f".part-00000{SUFFIXES[name]}.unfinished"]
        folder.end_file()
        assert names(tmp_path) == [".lock", f"part-00000{SUFFIXES[name]}"]
        folder.end_file()
    assert names(tmp_path) == [f"part-00000{SUFFIXES[name]}"]
    assert notes(settings) == [(0, 1, 1, 1)]


def test_a_file_is_completed_once_it_is_old(tmp_path: Path) -> None:
    settings = FolderSettings(tmp_path, "jsonl.zst", max_seconds=0.0)
    with opened(settings) as folder:
        assert folder.seconds_left is None
        folder.write(row(0))
        folder.write(row(1))
    assert notes(settings) == [(0, 1, 1, 1), (1, 2, 1, 2)]
    with opened(replace(settings, max_seconds=100.0, resume=True)) as folder:
        folder.write(row(2))
        assert 0 < (folder.seconds_left or 0) <= 100


async def test_a_file_is_completed_in_time_while_nothing_comes(tmp_path: Path) -> None:
    settings = FolderSettings(tmp_path, "jsonl.zst", max_seconds=0.01)
    written = asyncio.Event()

    async def coming() -> AsyncGenerator[int, None]:
        yield 0
        while not (tmp_path / "part-00000.jsonl.zst").exists():  # noqa: ASYNC110 a file tells nobody
            await asyncio.sleep(0.01)
        yield 1
        written.set()

    with opened(settings) as folder:
        async for number in folder.in_time(coming()):
            folder.write(row(number))
    assert written.is_set()
    assert [rows for _, _, rows, _ in notes(settings)] == [1, 1]


@FORMATS
def test_a_later_run_goes_on_behind_the_newest_file(tmp_path: Path, name: str) -> None:
    settings = FolderSettings(tmp_path, name, resume=True)
    for number in range(3):
        with opened(settings) as folder:
            assert (folder.end, folder.rows) == (({"at": number}, number) if number else (None, 0))
            folder.write(row(number))
    assert notes(settings) == [(0, 1, 1, 1), (1, 2, 1, 2), (2, 3, 1, 3)]
    (tmp_path / f"part-00000{SUFFIXES[name]}").unlink()  # moved elsewhere
    with opened(settings) as folder:
        assert (folder.end, folder.rows) == ({"at": 3}, 3)
    (tmp_path / f"part-00002{SUFFIXES[name]}").unlink()  # what it held is written again
    with opened(settings) as folder:
        assert (folder.end, folder.rows) == ({"at": 2}, 2)


def interrupt(settings: FolderSettings) -> None:
    with opened(settings) as folder:
        folder.write(row(0))
        raise KeyboardInterrupt


@FORMATS
def test_rows_before_an_interrupt_are_a_file(tmp_path: Path, name: str) -> None:
    settings = FolderSettings(tmp_path, name)
    with pytest.raises(KeyboardInterrupt):
        interrupt(settings)
    assert notes(settings) == [(0, 1, 1, 1)]


@FORMATS
def test_an_interrupt_between_a_row_and_its_position_leaves_neither(tmp_path: Path, name: str) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def write() -> None:
        with opened(settings) as folder:
            folder.write(row(0))
            folder.end_file()
            folder.write(row(1), interrupted)

    settings = FolderSettings(tmp_path, name)
    with pytest.raises(KeyboardInterrupt):
        write()
    assert notes(settings) == [(0, 1, 1, 1)]
    assert names(tmp_path) == [f"part-00000{SUFFIXES[name]}"]


@FORMATS
def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, name: str) -> None:
    broken = replace(row(1), document=replace(FULL, text=7, id="1"), line=7)  # type: ignore[arg-type]
    with (
        pytest.raises((TypeError, AttributeError, ValueError)),
        opened(FolderSettings(tmp_path, name)) as folder,
    ):
        [folder.write(broken) for _ in range(40)]
    assert names(tmp_path) == []


FULL_DISK = """
import resource, sys
from pathlib import Path
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.dataset.folder import FolderSettings
from tests.unit.streams.dataset.test_folder import opened, row

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
rows = [row(number) for number in range(60)]
settings = FolderSettings(Path(sys.argv[1]), sys.argv[2], resume=True)
try:
    with opened(settings) as folder:
        folder.write(rows[0])
        folder.end_file()
        for each in rows:
            folder.write(each)
except ConfigurationError as error:
    print(error)
"""


@FORMATS
@pytest.mark.parametrize("kib", [100, 500, 1200])
def test_a_file_system_that_takes_no_more_is_an_error_and_keeps_what_is_complete(
    tmp_path: Path, name: str, kib: int
) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), name, str(kib << 10)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    what = f"cannot write {tmp_path}: File too large; files that are complete stay, and --resume goes on\n"
    assert (ended.stdout, ended.stderr) == (what, "")
    assert names(tmp_path) == [f"part-00000{SUFFIXES[name]}"]
    settings = FolderSettings(tmp_path, name, resume=True)
    with opened(settings) as folder:
        folder.write(row(1))
    assert notes(settings) == [(0, 1, 1, 1), (1, 2, 1, 2)]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with (
            pytest.raises(ConfigurationError, match=f"cannot write .*{folder}: "),
            opened(FolderSettings(folder)),
        ):
            pass


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser has all rights")
def test_a_folder_without_rights_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with (
        pytest.raises(ConfigurationError, match=r"cannot write .*Permission denied"),
        opened(FolderSettings(tmp_path)),
    ):
        pass


@pytest.mark.parametrize("foreign", ["notes.txt", "part-1.parquet", "part-00000.csv", ".hidden", "_SUCCESS"])
@pytest.mark.parametrize("resume", [False, True])
def test_a_file_of_somebody_else_is_an_error(tmp_path: Path, foreign: str, *, resume: bool) -> None:
    (tmp_path / foreign).touch()
    with (
        pytest.raises(ConfigurationError, match=f"holds '{foreign}', which is none .* name an empty folder"),
        opened(FolderSettings(tmp_path, resume=resume)),
    ):
        pass
    assert names(tmp_path) == sorted([".lock", foreign])


def test_files_of_an_earlier_run_are_an_error_unless_it_is_resumed(tmp_path: Path) -> None:
    settings = FolderSettings(tmp_path, "wet")
    with opened(settings) as folder:
        folder.write(row(0))
    with (
        pytest.raises(ConfigurationError, match=r"holds 1 file of an earlier run: .* --resume"),
        opened(settings),
    ):
        pass
    other = FolderSettings(tmp_path, "jsonl.zst", resume=True)
    with pytest.raises(ConfigurationError, match="another --output-format"), opened(other):
        pass
    with (
        pytest.raises(
            ConfigurationError, match=r"other options .favor was 'balance' and is 'recall'.*same ones"
        ),
        opened(replace(settings, resume=True), {"favor": "recall"}),
    ):
        pass
    assert notes(settings) == [(0, 1, 1, 1)]


@FORMATS
def test_a_newest_file_that_is_damaged_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    settings = FolderSettings(tmp_path, name, resume=True)
    with opened(settings) as folder:
        folder.write(row(0))
    path = tmp_path / f"part-00000{SUFFIXES[name]}"
    for damaged in path.read_bytes()[:-10], gzip.compress(b""):
        path.write_bytes(damaged)
        with pytest.raises(ConfigurationError, match=f"{path} is not whole.*remove it"), opened(settings):
            pass
    path.unlink()
    with opened(settings) as folder:
        assert folder.end is None


@FORMATS
def test_one_process_at_a_time_writes_to_a_folder(tmp_path: Path, name: str) -> None:
    settings = FolderSettings(tmp_path, name, resume=True)
    with (
        opened(settings),
        pytest.raises(ConfigurationError, match=f"another process writes to {tmp_path}: wait"),
        opened(settings),
    ):
        pass
    with opened(settings) as folder:
        folder.write(row(0))


@FORMATS
@pytest.mark.parametrize("resume", [False, True])
def test_what_a_killed_run_left_half_written_is_removed(tmp_path: Path, name: str, *, resume: bool) -> None:
    settings = FolderSettings(tmp_path, name, resume=resume)
    left = tmp_path / f".part-00000{SUFFIXES[name]}.unfinished"
    left.write_bytes(b"half")
    with opened(settings) as folder:
        assert names(tmp_path) == [".lock"]
        folder.write(row(0))
    assert notes(settings) == [(0, 1, 1, 1)]
