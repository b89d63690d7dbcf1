"""The guard on real processes: what it starts ends with its supervisor, and never later."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from dehusk.streams.local import guard
from tests.settling import left_running

SECONDS = 20
PARENT_OF_A_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""
SUPERVISOR = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, *sys.argv[1:3], str(os.getpid()), *sys.argv[3:]])
time.sleep(600)
"""

SIGNALED_EARLY = """
import os, signal, subprocess, sys
from dehusk.streams.local import guard
start = subprocess.Popen

def start_and_signal(*arguments, **options):
    program = start(*arguments, **options)
    os.kill(os.getpid(), signal.SIGTERM)
    return program

subprocess.Popen = start_and_signal
sys.exit(guard.main(int(sys.argv[1]), ["sleep", "600"]))
"""


def guarded(*command: str, supervisor: int | None = None) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-IS", guard.__file__, str(supervisor or os.getpid()), *command]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.fixture
def family() -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A guard with a program that has started a program, and those two programs."""
    process = guarded(sys.executable, "-c", PARENT_OF_A_CHILD)
    grandchild = psutil.Process(int(first_line(process)))
    programs = [grandchild.parent() or grandchild, grandchild]
    yield process, programs
    for program in programs:
        with suppress(psutil.NoSuchProcess):
            program.kill()
    process.kill()
    process.communicate()


def test_it_ends_with_the_programs_status() -> None:
    with guarded(sys.executable, "-c", "raise SystemExit(7)") as process:
        assert process.wait(SECONDS) == 7


def test_a_program_that_a_signal_ended_has_the_shells_status() -> None:
    with guarded(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)") as process:
        assert process.wait(SECONDS) == 128 + signal.SIGKILL


def test_a_signal_that_comes_while_the_program_starts_is_passed_on() -> None:
    arguments = [sys.executable, "-c", SIGNALED_EARLY, str(os.getpid())]
    ended = subprocess.run(arguments, timeout=SECONDS, check=False)
    assert ended.returncode == 128 + signal.SIGTERM


def test_a_program_that_is_not_there_is_named_in_a_line() -> None:
    arguments = [sys.executable, "-IS", guard.__file__, str(os.getpid()), "/no/such/program"]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "/no/such/program cannot be started: No such file or directory\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_signals_end_the_whole_group(
    family: tuple[subprocess.Popen[str], list[psutil.Process]], number: signal.Signals
) -> None:
    process, programs = family
    process.send_signal(number)
    assert process.wait(SECONDS) == 128 + guard.PASSED_ON[number]
    assert left_running(programs) == []


def test_a_program_that_ends_takes_its_group_with_it(
    family: tuple[subprocess.Popen[str], list[psutil.Process]],
) -> None:
    process, (program, grandchild) = family
    program.kill()
    assert process.wait(SECONDS) == 128 + signal.SIGKILL
    assert left_running([grandchild]) == []


def test_the_program_ends_when_the_guard_is_killed(
    family: tuple[subprocess.Popen[str], list[psutil.Process]],
) -> None:
    process, (program, _grandchild) = family
    process.kill()
    assert left_running([program]) == []


def test_the_group_ends_when_the_supervisor_is_killed() -> None:
    arguments = [sys.executable, "-c", SUPERVISOR, "-IS", guard.__file__]
    arguments += [sys.executable, "-c", PARENT_OF_A_CHILD]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as supervisor:
        grandchild = psutil.Process(int(first_line(supervisor)))
        family = psutil.Process(supervisor.pid).children(recursive=True)
        assert grandchild in family
        assert len(family) == 3
        supervisor.kill()
        assert left_running(family) == []


def test_a_supervisor_that_is_gone_already_ends_the_program() -> None:
    with guarded(sys.executable, "-c", "import time; time.sleep(600)", supervisor=1) as process:
        assert process.wait(SECONDS) == 1
