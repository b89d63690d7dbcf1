"""Restarts of services on small programs of their own."""

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.local import restarts
from dehusk.streams.local.process import Service
from dehusk.streams.local.restarts import Restarts

RUNS = "from pathlib import Path; import sys, time; Path(sys.argv[1]).touch(); time.sleep(600)"


@pytest.fixture
def said() -> list[str]:
    """What the user is told."""
    return []


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, which take no time here."""
    made: list[float] = []
    monkeypatch.setattr(restarts, "time", SimpleNamespace(sleep=made.append, monotonic=time.monotonic))
    return made


def restarts_of(service: Service, said: list[str]) -> Restarts:
    return Restarts(lambda: {} if service.running else {service: service.state}, said.append)


def test_what_ended_is_started_again_and_the_user_told(
    service_of: Callable[..., Service], said: list[str], tmp_path: Path
) -> None:
    service = service_of(RUNS)
    service.start()
    service.kill()
    restarts_of(service, said).look()
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
    restarts_of(service, said).look()
    assert processes() == before
    assert said == []


def test_what_runs_on_without_doing_its_work_is_replaced(
    service_of: Callable[..., Service], said: list[str], processes: Callable[[], set[psutil.Process]]
) -> None:
    service = service_of(RUNS)
    service.start()
    before = processes()
    Restarts(lambda: {service: "the process of a model died"}, said.append).look()
    assert service.running
    assert not before & processes()


def test_pauses_grow_and_what_keeps_failing_is_given_up(
    service_of: Callable[..., Service], said: list[str], pauses: list[float]
) -> None:
    service = service_of("print('out of memory'); raise SystemExit(1)")
    again = restarts_of(service, said)
    for _ in restarts._PAUSES:
        again.look()
    assert pauses == sorted(set(pauses))
    assert len(said) == len(pauses)
    with pytest.raises(
        UnavailableError, match=r"script keeps failing; it ended with status 1(.|\n)*out of memory"
    ):
        again.look()


def test_one_that_was_steady_meanwhile_is_not_given_up(
    service_of: Callable[..., Service], said: list[str], pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "_STEADY_SECONDS", 0.0)
    service = service_of(RUNS)
    again = restarts_of(service, said)
    for _ in range(2 * len(restarts._PAUSES)):
        again.look()
        service.kill()
    assert set(pauses) == {0.0}


def test_one_that_does_not_get_ready_is_tried_again(
    service_of: Callable[..., Service], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dehusk.streams.local.process._START_SECONDS", 0.3)
    service = service_of("import time; time.sleep(600)")
    restarts_of(service, said).look()
    assert not service.running
    assert len(said) == 1
