"""The folders of local stacks."""

import shutil
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path

import orjson
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.folders import claim, is_unlocked, locked, writing
from dehusk.streams.local.folder import LOOPBACK, assign_ports, free_ports, temporary_folder
from dehusk.streams.local.stack import Addresses

CLAIM = "claim"
"""File that is locked while a folder of a stack is there."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for what is temporary."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_the_file_system_refuses_names_the_file_and_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught, writing(tmp_path):
        (tmp_path / "no" / "file").touch()
    assert f"{tmp_path}/no/file: No such file" in str(caught.value)


def test_a_full_disk_is_named_by_its_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigurationError) as caught,
        writing(tmp_path),
        open("/dev/full", "wb", buffering=0) as full,  # noqa: PTH123 a disk that is full
    ):
        full.write(b"x")
    assert f"{tmp_path}: No space left" in str(caught.value)


def test_of_a_tree_that_cannot_be_copied_one_reason_is_given(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "link").symlink_to("nowhere")
    with pytest.raises(ConfigurationError, match="No such file"), writing(tmp_path):
        shutil.copytree(tmp_path / "from", tmp_path / "to")


def test_a_temporary_folder_that_cannot_be_made_is_an_error_in_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nope")
    with pytest.raises(ConfigurationError, match="cannot write /proc/nope/dehusk-stack-"):
        temporary_folder().__enter__()


def left_folder(temporary: Path, name: str) -> Path:
    """A folder as a process that was killed leaves it."""
    folder = temporary / name
    folder.mkdir()
    with claim(folder, CLAIM):
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


def test_a_folder_is_left_to_its_process_before_and_after_a_stack_runs_in_it(temporary: Path) -> None:
    with temporary_folder() as folder:
        with locked(folder):
            pass
        with temporary_folder():
            assert folder.is_dir()


def test_what_killed_stacks_left_is_removed_and_nothing_else(temporary: Path) -> None:
    abandoned = left_folder(temporary, "dehusk-stack-abandoned")
    used = left_folder(temporary, "dehusk-stack-used")
    other = left_folder(temporary, "dehusk-other")
    with locked(used, CLAIM), temporary_folder() as folder:
        assert not abandoned.exists()
        assert {each.name for each in temporary.iterdir()} == {used.name, other.name, folder.name}
        assert (used / "data").exists()


def test_free_ports_differ_and_can_be_listened_on() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    with ExitStack() as sockets:
        for port in ports:
            sockets.enter_context(socket.socket()).bind((LOOPBACK, port))


def test_free_ports_are_none_of_those_that_were_named() -> None:
    others = range(20_000, 31_990)
    assert set(free_ports(5, besides=others)) <= set(range(31_990, 32_000))


def test_free_ports_are_none_that_outgoing_connections_get() -> None:
    assert max(free_ports(50)) < 32_768


def test_json_is_one_line_with_the_five_addresses() -> None:
    line = Addresses("h:1", "redis://h:2/0", "h:3", "h:4", "/d").to_json()
    assert b"\n" not in line
    assert list(orjson.loads(line)) == ["kafka", "redis", "triton_grpc", "triton_http", "directory"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ports.json"


def test_the_next_start_has_the_same_ports(file: Path) -> None:
    first = assign_ports(["kafka-1", "redis"], file)
    assert len(set(first.numbers.values())) == 2
    assert assign_ports(["kafka-1", "redis"], file) == first


def test_ports_that_stay_are_not_written_again(file: Path) -> None:
    assign_ports(["redis"], file)
    before = file.stat()
    assign_ports(["redis"], file)
    assert file.stat() == before
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_what_a_start_does_without_keeps_its_ports(file: Path) -> None:
    first = assign_ports(["redis", "triton"], file)
    assign_ports(["redis", "kafka-1"], file)
    assert assign_ports(["redis", "triton"], file) == first


def test_a_port_that_another_program_has_taken_is_replaced_and_told(file: Path) -> None:
    before = assign_ports(["redis", "triton"], file).numbers
    with socket.create_server((LOOPBACK, before["redis"])):
        after = assign_ports(["redis", "triton"], file)
    assert after.taken == {"redis": before["redis"]}
    assert after.numbers["triton"] == before["triton"]
    assert after.numbers["redis"] not in before.values()
    assert assign_ports(["redis", "triton"], file).numbers == after.numbers


def test_a_port_whose_connections_were_closed_a_moment_ago_is_not_taken(file: Path) -> None:
    port = assign_ports(["redis"], file).numbers["redis"]
    with socket.create_server((LOOPBACK, port)) as server:
        client = socket.create_connection((LOOPBACK, port))
        server.accept()[0].close()
        client.close()
    assert assign_ports(["redis"], file).taken == {}


@pytest.mark.parametrize("content", ["", "[]", '{"redis": "here"}', '{"redis": null}', '{"redis": 70000}'])
def test_a_file_that_is_damaged_is_named(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=r"ports\.json is damaged: remove it"):
        assign_ports(["redis"], file)
