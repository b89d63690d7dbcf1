"""The stopping of a process that will not stop by itself."""

import signal
import subprocess
import sys

import pytest

STUCK = """
import asyncio, time
from dehusk.streams.worker.process import Shutdown, stop_with_kafka

async def answers():
    return True

async def goes():
    return stops.append("asked") or len(stops) < 2

async def is_unavailable():
    return False

async def stop():
    print("the app", flush=True)

async def hang():
    await stop()
    await asyncio.sleep(600)

stops = []

async def main():
    shutdown = Shutdown(grace_seconds={grace})
    shutdown.listen()
    print("listening", flush=True)
    await shutdown.requested()
    print("stopping", flush=True)
    {stuck}

asyncio.run(main())
print("stopped", flush=True)
"""

STARTING = """
import asyncio
from dehusk.streams.worker import run
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings

async def check_topics(settings):
    print("starting", flush=True)
    try:
        await asyncio.sleep(600)
    finally:
        print("closed", flush=True)

run.check_topics = check_topics
asyncio.run(run.run_worker(WorkerSettings(monitoring=MonitoringSettings(port=0))))
"""


def started(stuck: str, grace: float = 0.5) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-c", STUCK.format(stuck=stuck, grace=grace)], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "listening\n"
    return program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_a_worker_finish(number: signal.Signals) -> None:
    program = started("pass")
    program.send_signal(number)
    output, _ = program.communicate(timeout=30)
    assert (output, program.returncode) == ("stopping\nstopped\n", 0)


@pytest.mark.parametrize("stuck", ["await asyncio.sleep(600)", "time.sleep(600)"])
def test_nothing_that_is_stuck_holds_a_worker_beyond_its_grace(stuck: str) -> None:
    program = started(stuck)
    program.send_signal(signal.SIGTERM)
    output, _ = program.communicate(timeout=30)
    assert (output, program.returncode) == ("stopping\n", 0)


@pytest.mark.parametrize(
    ("stuck", "printed"),
    [
        ("await stop_with_kafka(stop, answers)", "stopping\nthe app\nstopped\n"),
        ("await stop_with_kafka(hang, is_unavailable)", "stopping\n"),
        ("await stop_with_kafka(hang, goes)", "stopping\nthe app\n"),
    ],
    ids=["there", "unavailable", "going"],
)
def test_without_kafka_a_worker_does_not_wait_out_its_grace(stuck: str, printed: str) -> None:
    program = started(stuck, grace=600)
    program.send_signal(signal.SIGTERM)
    output, _ = program.communicate(timeout=30)
    assert (output, program.returncode) == (printed, 0)


def test_a_second_signal_stops_at_once() -> None:
    program = started("await asyncio.sleep(600)")
    program.send_signal(signal.SIGINT)
    assert program.stdout is not None
    assert program.stdout.readline() == "stopping\n"
    program.send_signal(signal.SIGINT)
    assert program.wait(timeout=30) == 0
    program.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_that_still_starts(number: signal.Signals) -> None:
    program = subprocess.Popen([sys.executable, "-c", STARTING], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "starting\n"
    program.send_signal(number)
    output, _ = program.communicate(timeout=30)
    assert (output, program.returncode) == ("closed\n", 0)


BROKEN = """
import asyncio
from dehusk.streams.worker import run
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings

async def check_topics(settings):
    raise {error}

run.check_topics = check_topics
asyncio.run(run.run_worker(WorkerSettings(monitoring=MonitoringSettings(port=0))))
"""


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        ("KeyError('bug')", 70, "ending a worker that met a bug"),
        ("ModuleNotFoundError(name='nowhere')", 70, "ending a worker that met a bug"),
        ("ModuleNotFoundError(name='obstore')", 1, "ModuleNotFoundError"),
        ("run.DehuskError('refused')", 1, "DehuskError: refused"),
    ],
)
def test_a_bug_before_a_worker_works_has_the_status_of_a_bug(error: str, status: int, said: str) -> None:
    program = BROKEN.format(error=error)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, said in ended.stderr) == (status, True)


CANCELLED = """
import asyncio
from dehusk.streams.worker.process import running

async def lost():
    raise asyncio.CancelledError

async def main():
    async with running(lost):
        await asyncio.sleep(600)

asyncio.run(main())
"""


def test_a_loop_that_is_cancelled_from_elsewhere_ends_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CANCELLED], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 70
    assert "ending a worker that met a bug" in ended.stderr
    assert "lost" in ended.stderr


def test_what_a_worker_cannot_go_on_without_is_no_bug() -> None:
    failing = CANCELLED.replace("asyncio.CancelledError", "ConfigurationError('no process could be started')")
    program = f"from dehusk.schemas.errors import ConfigurationError\n{failing}"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 70
    assert "ending a worker that cannot go on, and what was in flight comes again: no process" in ended.stderr
