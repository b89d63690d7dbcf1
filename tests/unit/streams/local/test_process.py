"""Services on small programs of their own."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from schemas.errors import UnavailableError
from streams.local import process
from streams.local.process import Service

READY = "from pathlib import Path; import sys, time; Path(sys.argv[1]).touch(); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {READY}"


@dataclass(frozen=True)
class Script:
    """A program in Python that is ready once it has made its file."""

    source: str
    file: Path
    name: str = "script"
    before: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def preparation(self) -> Sequence[str]:
        self.file.unlink(missing_ok=True)
        return self.before

    def command(self) -> Sequence[str]:
        return [sys.executable, "-c", self.source, str(self.file)]

    def environment(self) -> Mapping[str, str]:
        return self.variables

    def is_ready(self) -> bool:
        return self.file.exists()


@pytest.fixture
def service_of(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Makes services, and kills them in the end."""
    services: list[Service] = []

    def make(source: str, **more: object) -> Service:
        program = Script(source, tmp_path / "ready", **more)  # type: ignore[arg-type]
        services.append(Service(program, tmp_path / "logs" / "script.log"))
        return services[-1]

    yield make
    for service in services:
        service.kill()


def test_it_runs_once_it_is_ready(service_of: Callable[..., Service], tmp_path: Path) -> None:
    service = service_of(READY)
    assert not service.running
    service.start()
    assert service.running
    assert (tmp_path / "ready").exists()


@pytest.mark.parametrize("end", [Service.stop, Service.kill])
def test_it_starts_again_after_an_end(
    service_of: Callable[..., Service], end: Callable[[Service], None]
) -> None:
    service = service_of(READY)
    service.start()
    end(service)
    assert not service.running
    service.start()
    assert service.running


def test_starting_what_runs_does_nothing(service_of: Callable[..., Service]) -> None:
    service = service_of(READY)
    service.start()
    before = psutil.Process().children()
    service.start()
    assert psutil.Process().children() == before


def test_stopping_what_does_not_run_does_nothing(service_of: Callable[..., Service]) -> None:
    service = service_of(READY)
    service.stop()
    service.start()
    service.kill()
    service.stop()
    assert not service.running


def test_a_restart_is_a_new_process(service_of: Callable[..., Service]) -> None:
    service = service_of(READY)
    service.start()
    before = psutil.Process().children(recursive=True)
    service.restart()
    assert not set(before) & set(psutil.Process().children(recursive=True))


def test_what_does_not_stop_is_killed(
    service_of: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_STOP_SECONDS", 0.5)
    service = service_of(DEAF)
    service.start()
    service.stop()
    assert not service.running
    assert psutil.Process().children(recursive=True) == []


def test_a_paused_part_is_frozen_until_it_is_resumed(service_of: Callable[..., Service]) -> None:
    service = service_of(READY)
    service.start()
    (guard,) = psutil.Process().children()
    (program,) = guard.children()
    service.pause()
    wait_for(lambda: program.status() == psutil.STATUS_STOPPED)
    service.resume()
    wait_for(lambda: program.status() == psutil.STATUS_SLEEPING)


def test_a_paused_part_can_be_stopped(service_of: Callable[..., Service]) -> None:
    service = service_of(READY)
    service.start()
    service.pause()
    service.stop()
    assert not service.running


def wait_for(condition: Callable[[], bool]) -> None:
    """Returns once the condition holds; the test's own time limit ends a wait for what never happens."""
    while not condition():
        time.sleep(0.01)


def test_one_that_ends_at_its_start_shows_its_last_words(
    service_of: Callable[..., Service], tmp_path: Path
) -> None:
    service = service_of("print('port is taken'); raise SystemExit(3)")
    with pytest.raises(UnavailableError) as caught:
        service.start()
    assert str(caught.value).splitlines() == [
        f"script ended at its start; it ended with status 3; the end of {tmp_path}/logs/script.log:",
        "port is taken",
    ]


def test_one_that_never_gets_ready_is_told(
    service_of: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_START_SECONDS", 0.3)
    service = service_of("import time; print('waiting', flush=True); time.sleep(600)")
    with pytest.raises(UnavailableError, match=r"script was not ready in .* it still runs"):
        service.start()


def test_a_preparation_that_fails_keeps_it_from_starting(service_of: Callable[..., Service]) -> None:
    service = service_of(READY, before=[sys.executable, "-c", "print('disk is full'); raise SystemExit(2)"])
    with pytest.raises(
        UnavailableError, match=r"could not be prepared; it ended with status 2(.|\n)*disk is full"
    ):
        service.start()
    assert not service.running


def test_environment_is_the_users_and_the_programs(
    service_of: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_USER", "user")
    source = "import os; print(os.environ['FROM_USER'], os.environ['FROM_PROGRAM']); " + READY
    service = service_of(source, variables={"FROM_PROGRAM": "program"})
    service.start()
    service.stop()
    assert service.log.read_text().strip() == "user program"
