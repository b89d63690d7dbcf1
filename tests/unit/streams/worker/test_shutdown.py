"""The stopping of a process that will not stop by itself."""

import signal
import subprocess
import sys

import pytest

STUCK = """
import asyncio, time
from streams.worker.shutdown import Shutdown

async def main():
    shutdown = Shutdown(grace_seconds=0.5)
    shutdown.listen()
    print("listening", flush=True)
    await shutdown.requested()
    print("stopping", flush=True)
    {stuck}

asyncio.run(main())
print("stopped", flush=True)
"""


def started(stuck: str) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-c", STUCK.format(stuck=stuck)], stdout=subprocess.PIPE, text=True
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


def test_a_second_signal_stops_at_once() -> None:
    program = started("await asyncio.sleep(600)")
    program.send_signal(signal.SIGINT)
    assert program.stdout is not None
    assert program.stdout.readline() == "stopping\n"
    program.send_signal(signal.SIGINT)
    assert program.wait(timeout=30) == 0
    program.stdout.close()
