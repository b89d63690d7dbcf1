"""The stack as a whole, on Redis alone, which starts in an instant."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.local import stack
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import LocalStack, Restarts


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
    with redis_alone(tmp_path, on_progress=lambda service, doing: reports.append((service, doing))):
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
    with pytest.raises(ConfigurationError, match="cannot write /proc/nope"):
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


RUNS = "from pathlib import Path; import sys, time; Path(sys.argv[1]).touch(); time.sleep(600)"


@pytest.fixture
def said() -> list[str]:
    """Return the list of messages to the user."""
    return []


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, which take no time here."""
    made: list[float] = []
    monkeypatch.setattr(stack, "time", SimpleNamespace(sleep=made.append, monotonic=time.monotonic))
    return made


def restarts_of(service: Service, said: list[str], **more: float) -> Restarts:
    return Restarts(lambda: {} if service.running else {service: service.state}, said.append, **more)


def test_what_ended_is_started_again_and_the_user_told(
    service_of: Callable[..., Service], said: list[str], tmp_path: Path
) -> None:
    service = service_of(RUNS)
    service.start()
    service.kill()
    restarts_of(service, said).restart_failed()
    assert service.running
    assert said == [
        "script failed: it ended with status 137 (SIGKILL). It is started again now; "
        f"its log: {tmp_path}/logs/script.log",
        "script is ready again, at the same address",
    ]


def test_what_runs_well_is_left_alone(
    service_of: Callable[..., Service], said: list[str], processes: Callable[[], set[psutil.Process]]
) -> None:
    service = service_of(RUNS)
    service.start()
    before = processes()
    restarts_of(service, said).restart_failed()
    assert processes() == before
    assert said == []


def test_what_runs_on_without_doing_its_work_is_replaced(
    service_of: Callable[..., Service], said: list[str], processes: Callable[[], set[psutil.Process]]
) -> None:
    service = service_of(RUNS)
    service.start()
    before = processes()
    Restarts(lambda: {service: "the process of a model died"}, said.append).restart_failed()
    assert service.running
    assert not before & processes()


def test_pauses_grow_and_what_keeps_failing_is_given_up(
    service_of: Callable[..., Service], said: list[str], pauses: list[float]
) -> None:
    service = service_of("print('out of memory'); raise SystemExit(1)")
    again = restarts_of(service, said)
    for _ in stack._PAUSES:
        again.restart_failed()
    assert pauses == sorted(set(pauses))
    assert len(said) == len(pauses)
    with pytest.raises(UnavailableError, match=r"script.*status 1(.|\n)*out of memory"):
        again.restart_failed()


def test_one_that_was_steady_meanwhile_is_not_given_up(
    service_of: Callable[..., Service], said: list[str], pauses: list[float]
) -> None:
    service = service_of(RUNS)
    again = restarts_of(service, said, steady_seconds=0.0)
    for _ in range(2 * len(stack._PAUSES)):
        again.restart_failed()
        service.kill()
    assert set(pauses) == {0.0}


def test_one_that_does_not_get_ready_is_tried_again(
    service_of: Callable[..., Service], said: list[str]
) -> None:
    service = service_of("import time; time.sleep(600)", start_seconds=0.3)
    restarts_of(service, said).restart_failed()
    assert not service.running
    assert len(said) == 1
