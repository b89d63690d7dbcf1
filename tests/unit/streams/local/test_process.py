"""Services on small programs of their own."""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.local.process import Service

READY = "from pathlib import Path; import sys, time; Path(sys.argv[1]).touch(); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {READY}"


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


def test_starting_what_runs_does_nothing(
    service_of: Callable[..., Service], processes: Callable[[], set[psutil.Process]]
) -> None:
    service = service_of(READY)
    service.start()
    before = processes()
    service.start()
    assert processes() == before


def test_stopping_what_does_not_run_does_nothing(service_of: Callable[..., Service]) -> None:
    service = service_of(READY)
    service.stop()
    service.start()
    service.kill()
    service.stop()
    assert not service.running


def test_a_log_that_has_grown_large_is_begun_anew_while_it_is_written(
    service_of: Callable[..., Service],
) -> None:
    writer = READY.replace(
        "time.sleep(600)", "[(print('y', flush=True), time.sleep(0.05)) for _ in range(9000)]"
    )
    service = service_of(f"print('x' * 300_000, flush=True); {writer}", max_log_bytes=200_000)
    older = service.log.with_name(f"{service.log.name}.1")
    service.rotate_log()
    assert not older.exists()
    service.start()
    service.rotate_log()
    assert older.read_text().startswith("x" * 300_000)
    end = time.monotonic() + 30
    while not service.log.read_bytes():
        assert time.monotonic() < end
        time.sleep(0.01)
    service.rotate_log()
    assert set(service.log.read_text()) == {"y", "\n"}
    assert older.read_text().startswith("x" * 300_000)


def test_a_large_log_stays_on_a_disk_without_room(service_of: Callable[..., Service]) -> None:
    service = service_of(
        f"print('x' * 3000, flush=True); {READY}", max_log_bytes=2000, min_free_bytes=math.inf
    )
    service.start()
    service.rotate_log()
    assert service.log.stat().st_size > 3000
    assert not service.log.with_name(f"{service.log.name}.1").exists()


def test_a_restart_is_a_new_process(
    service_of: Callable[..., Service], processes: Callable[[], set[psutil.Process]]
) -> None:
    service = service_of(READY)
    service.start()
    before = processes()
    service.restart()
    assert not before & processes()


def test_what_does_not_stop_is_killed(
    service_of: Callable[..., Service], processes: Callable[[], set[psutil.Process]]
) -> None:
    service = service_of(DEAF, stop_seconds=0.5)
    service.start()
    service.stop()
    assert not service.running
    assert processes() == set()


def test_a_paused_service_is_frozen_until_it_is_resumed(
    service_of: Callable[..., Service], processes: Callable[[], set[psutil.Process]]
) -> None:
    service = service_of(READY)
    service.start()
    (program,) = (each for each in processes() if not each.children())
    service.pause()
    wait_for(lambda: program.status() == psutil.STATUS_STOPPED)
    service.resume()
    wait_for(lambda: program.status() == psutil.STATUS_SLEEPING)


def test_a_paused_service_can_be_stopped(service_of: Callable[..., Service]) -> None:
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


def test_one_whose_log_is_gone_says_how_it_ended(service_of: Callable[..., Service], tmp_path: Path) -> None:
    log = tmp_path / "logs" / "script.log"
    service = service_of(f"import os; os.remove({str(log)!r}); raise SystemExit(3)")
    with pytest.raises(
        UnavailableError, match=r"ended with status 3; its log .* cannot be read: No such file"
    ):
        service.start()


def test_one_that_ends_on_a_full_disk_says_so_in_a_line(
    service_of: Callable[..., Service], tmp_path: Path
) -> None:
    service = service_of("raise OSError('a traceback')", min_free_bytes=math.inf)
    with pytest.raises(UnavailableError) as caught:
        service.start()
    assert str(caught.value).endswith(f"no room left in {tmp_path}/logs")


def test_files_that_cannot_be_written_are_named(service_of: Callable[..., Service], tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(ConfigurationError, match=f"{tmp_path}/logs"):
        service_of(READY).start()


def test_one_that_never_gets_ready_is_told(service_of: Callable[..., Service]) -> None:
    service = service_of("import time; print('waiting', flush=True); time.sleep(600)", start_seconds=0.3)
    with pytest.raises(UnavailableError, match=r"script was not ready in .* it still runs"):
        service.start()


def test_a_preparation_that_fails_keeps_it_from_starting(service_of: Callable[..., Service]) -> None:
    service = service_of(READY, before=[sys.executable, "-c", "print('disk is full'); raise SystemExit(2)"])
    with pytest.raises(UnavailableError, match=r"prepared.*status 2(.|\n)*disk is full"):
        service.start()
    assert not service.running


@pytest.mark.parametrize(
    ("source", "state"),
    [
        ("raise SystemExit(3)", "it ended with status 3"),
        ("import os; os.kill(os.getpid(), 11)", "it ended with status 139 (SIGSEGV)"),
        ("raise SystemExit(255)", "it ended with status 255"),
    ],
)
def test_its_state_says_how_it_ended(service_of: Callable[..., Service], source: str, state: str) -> None:
    service = service_of(source)
    with pytest.raises(UnavailableError):
        service.start()
    assert service.state == state


def test_environment_is_the_users_and_the_programs(
    service_of: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_USER", "user")
    source = "import os; print(os.environ['FROM_USER'], os.environ['FROM_PROGRAM']); " + READY
    service = service_of(source, variables={"FROM_PROGRAM": "program"})
    service.start()
    service.stop()
    assert service.log.read_text().strip() == "user program"
