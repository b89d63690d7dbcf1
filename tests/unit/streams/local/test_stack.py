"""The stack as a whole, on Redis alone, which starts in an instant."""

import socket
from pathlib import Path

import psutil
import pytest

from schemas.errors import ConfigurationError, UnavailableError
from streams.local import stack
from streams.local.stack import LocalStack


def redis_alone(directory: Path, **more: object) -> LocalStack:
    return LocalStack(directory, services=("redis",), **more)  # type: ignore[arg-type]


def test_leaving_it_leaves_no_process(tmp_path: Path) -> None:
    with redis_alone(tmp_path) as running:
        assert running.services["redis"].running
        assert psutil.Process().children()
    assert psutil.Process().children() == []


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


def test_a_part_that_cannot_start_stops_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "redis-server").write_text("#!/bin/sh\necho no memory\nexit 1\n")
    (tmp_path / "redis-server").chmod(0o755)
    monkeypatch.setattr(stack, "find_redis", lambda: tmp_path / "redis-server")
    with pytest.raises(UnavailableError, match=r"redis ended at its start(.|\n)*no memory"):
        redis_alone(tmp_path).__enter__()
    assert psutil.Process().children() == []


def test_a_part_that_ends_is_noticed(tmp_path: Path) -> None:
    with redis_alone(tmp_path) as running:
        running.check()
        running.services["redis"].kill()
        with pytest.raises(UnavailableError, match="redis ended; it ended with status 137; the end of"):
            running.check()


def test_what_the_parts_do_is_reported(tmp_path: Path) -> None:
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
    port = int(running.addresses.redis.removesuffix("/0").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(command)
        return connection.recv(64)


def test_the_cache_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert stack.default_cache() == tmp_path / "dehusk"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert stack.default_cache() == Path.home() / ".cache" / "dehusk"
