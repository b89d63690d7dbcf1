"""Waiting for what the event loop does, and for the ends of processes."""

import asyncio
import time
from collections.abc import Iterable

import psutil


async def settle() -> None:
    """Wait for 50 ms, and for 25 turns of the event loop, which busy machines may not reach in that time."""
    for _ in range(25):
        await asyncio.sleep(0.002)


def left_running(processes: Iterable[psutil.Process], seconds: float = 30) -> list[psutil.Process]:
    """Those that have not ended in time; one whose end its parent has not asked for yet, has ended."""
    until, left = time.monotonic() + seconds, list(processes)
    while (left := [each for each in left if _runs(each)]) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
