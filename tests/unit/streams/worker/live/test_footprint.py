"""The memory of a process and those below it."""

import subprocess
import sys
from pathlib import Path

import pytest

from dehusk.streams.worker.live.footprint import footprint

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="this is no Linux")


def test_processes_below_are_counted() -> None:
    alone = footprint()
    code = "data = b'x' * (32 << 20); print(flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        both, below = footprint(), footprint(child.pid)
        child.communicate(b"\n")
    assert alone is not None
    assert both is not None
    assert below is not None
    assert both.processes == alone.processes + 1
    assert below.processes == 1
    assert both.bytes > below.bytes > 32 << 20


def test_of_a_process_that_has_ended_nothing_is_known() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert footprint(child.pid) is None
