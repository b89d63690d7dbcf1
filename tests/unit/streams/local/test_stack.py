"""The stack as a whole, on Redis alone, which starts in an instant."""

import socket
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.local import stack
from dehusk.streams.local.stack import LocalStack


def redis_alone(directory: Path, **more: object) -> LocalStack:
    return LocalStack(directory, services=("redis",), **more)  # type: ignore[arg-type]


def test_leaving_it_leaves_no_process(tmp_path: Path, processes: Callable[[], set[psutil.Process]]) -> None:
    with redis_alone(tmp_path) as running:
        assert running.services["redis"].running
        assert processes()
    assert processes() == set()


def test_what_was_not_asked_for_has_no_address(tmp_path: Path) -> None:
    with redis_alone(tmp_path) as running:
        addresses = running.addresses
    assert (addresses.kafka, addresses.triton_grpc, addresses.triton_http) == ("", "", "")
    assert addresses.redis.startswith("redis://127.0.0.1:")
    assert addresses.directory == str(tmp_path)


def test_a_directory_holds_one_stack_at_a_time(tmp_path: Path) -> None:
    with redis_alone(tmp_path), pytest.raises(ConfigurationError, match="in use by another local stack"):
        redis_alone(tmp_path).__enter__()
    with redis_alone(tmp_path):
        pass


def test_the_next_stack_in_a_directory_answers_at_the_same_addresses(tmp_path: Path) -> None:
    with redis_alone(tmp_path) as running:
        addresses = running.addresses
        assert ask(running, b"PING\r\n") == b"+PONG\r\n"
    with redis_alone(tmp_path) as running:
        assert running.addresses == addresses
        assert running.taken_ports == {}
    with socket.create_server(("127.0.0.1", port_of(running))), redis_alone(tmp_path) as running:
        assert running.addresses != addresses
        assert list(running.taken_ports) == ["redis"]


def test_a_service_that_cannot_start_stops_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: Callable[[], set[psutil.Process]]
) -> None:
    (tmp_path / "redis-server").write_text("#!/bin/sh\necho no memory\nexit 1\n")
    (tmp_path / "redis-server").chmod(0o755)
    monkeypatch.setattr(stack, "find_redis", lambda: tmp_path / "redis-server")
    with pytest.raises(UnavailableError, match=r"redis ended at its start(.|\n)*no memory"):
        redis_alone(tmp_path).__enter__()
    assert processes() == set()


def test_a_service_that_ends_has_failed(tmp_path: Path) -> None:
    with redis_alone(tmp_path) as running:
        assert running.failures() == {}
        running.services["redis"].kill()
        assert running.failures() == {running.services["redis"]: "it ended with status 137 (SIGKILL)"}


def test_what_the_services_do_is_reported(tmp_path: Path) -> None:
    reports: list[tuple[str, str]] = []
    with redis_alone(tmp_path, report=lambda service, doing: reports.append((service, doing))):
        assert reports == [("redis", "starting"), ("redis", "ready")]


@pytest.mark.parametrize(("persistent", "kept"), [(True, b"$4\r\nkept\r\n"), (False, b"$-1\r\n")])
def test_redis_keeps_its_data_where_asked_to(tmp_path: Path, kept: bytes, *, persistent: bool) -> None:
    with redis_alone(tmp_path, persistent=persistent) as running:
        assert ask(running, b"SET key kept\r\n") == b"+OK\r\n"
        running.services["redis"].restart()
        assert ask(running, b"GET key\r\n") == kept


def ask(running: LocalStack, command: bytes) -> bytes:
    """Redis's answer to an inline command."""
    with socket.create_connection(("127.0.0.1", port_of(running))) as connection:
        connection.sendall(command)
        return connection.recv(64)


def port_of(running: LocalStack) -> int:
    """Redis's port."""
    return int(running.addresses.redis.removesuffix("/0").rpartition(":")[2])


def test_a_directory_that_cannot_be_made_is_named() -> None:
    with pytest.raises(ConfigurationError, match="cannot write /proc/nope: No such file or directory"):
        redis_alone(Path("/proc/nope")).__enter__()


def test_without_a_home_directory_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_194_999)
    with pytest.raises(ConfigurationError, match="set XDG_CACHE_HOME"):
        stack.default_cache()


def test_the_cache_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert stack.default_cache() == tmp_path / "dehusk"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert stack.default_cache() == Path.home() / ".cache" / "dehusk"
