"""Parts on small programs of their own."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from schemas.errors import UnavailableError
from streams.local import process
from streams.local.process import Part

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
def part_of(tmp_path: Path) -> Iterator[Callable[..., Part]]:
    """Makes parts, and kills them in the end."""
    parts: list[Part] = []

    def make(source: str, **more: object) -> Part:
        program = Script(source, tmp_path / "ready", **more)  # type: ignore[arg-type]
        parts.append(Part(program, tmp_path / "logs" / "script.log"))
        return parts[-1]

    yield make
    for part in parts:
        part.kill()


def test_it_runs_once_it_is_ready(part_of: Callable[..., Part], tmp_path: Path) -> None:
    part = part_of(READY)
    assert not part.running
    part.start()
    assert part.running
    assert (tmp_path / "ready").exists()


@pytest.mark.parametrize("end", [Part.stop, Part.kill])
def test_it_starts_again_after_an_end(part_of: Callable[..., Part], end: Callable[[Part], None]) -> None:
    part = part_of(READY)
    part.start()
    end(part)
    assert not part.running
    part.start()
    assert part.running


def test_starting_what_runs_does_nothing(part_of: Callable[..., Part]) -> None:
    part = part_of(READY)
    part.start()
    before = psutil.Process().children()
    part.start()
    assert psutil.Process().children() == before


def test_stopping_what_does_not_run_does_nothing(part_of: Callable[..., Part]) -> None:
    part = part_of(READY)
    part.stop()
    part.start()
    part.kill()
    part.stop()
    assert not part.running


def test_a_restart_is_a_new_process(part_of: Callable[..., Part]) -> None:
    part = part_of(READY)
    part.start()
    before = psutil.Process().children(recursive=True)
    part.restart()
    assert not set(before) & set(psutil.Process().children(recursive=True))


def test_what_does_not_stop_is_killed(part_of: Callable[..., Part], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_STOP_SECONDS", 0.5)
    part = part_of(DEAF)
    part.start()
    part.stop()
    assert not part.running
    assert psutil.Process().children(recursive=True) == []


def test_a_paused_part_is_frozen_until_it_is_resumed(part_of: Callable[..., Part]) -> None:
    part = part_of(READY)
    part.start()
    (guard,) = psutil.Process().children()
    (program,) = guard.children()
    part.pause()
    wait_for(lambda: program.status() == psutil.STATUS_STOPPED)
    part.resume()
    wait_for(lambda: program.status() == psutil.STATUS_SLEEPING)


def test_a_paused_part_can_be_stopped(part_of: Callable[..., Part]) -> None:
    part = part_of(READY)
    part.start()
    part.pause()
    part.stop()
    assert not part.running


def wait_for(condition: Callable[[], bool]) -> None:
    """Returns once the condition holds; the test's own time limit ends a wait for what never happens."""
    while not condition():
        time.sleep(0.01)


def test_one_that_ends_at_its_start_shows_its_last_words(
    part_of: Callable[..., Part], tmp_path: Path
) -> None:
    part = part_of("print('port is taken'); raise SystemExit(3)")
    with pytest.raises(UnavailableError) as caught:
        part.start()
    assert str(caught.value).splitlines() == [
        f"script ended at its start; it ended with status 3; the end of {tmp_path}/logs/script.log:",
        "port is taken",
    ]


def test_one_that_never_gets_ready_is_told(
    part_of: Callable[..., Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_START_SECONDS", 0.3)
    part = part_of("import time; print('waiting', flush=True); time.sleep(600)")
    with pytest.raises(UnavailableError, match=r"script was not ready in .* it still runs"):
        part.start()


def test_a_preparation_that_fails_keeps_it_from_starting(part_of: Callable[..., Part]) -> None:
    part = part_of(READY, before=[sys.executable, "-c", "print('disk is full'); raise SystemExit(2)"])
    with pytest.raises(
        UnavailableError, match=r"could not be prepared; it ended with status 2(.|\n)*disk is full"
    ):
        part.start()
    assert not part.running


def test_environment_is_the_users_and_the_programs(
    part_of: Callable[..., Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_USER", "user")
    source = "import os; print(os.environ['FROM_USER'], os.environ['FROM_PROGRAM']); " + READY
    part = part_of(source, variables={"FROM_PROGRAM": "program"})
    part.start()
    part.stop()
    assert part.log.read_text().strip() == "user program"
