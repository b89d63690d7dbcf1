"""Workers and services that are frozen, as by a paused container or a machine without memory."""

import asyncio
import signal
from contextlib import asynccontextmanager

FROZEN_SECONDS = 9.0
"""Longer than the session of the workers."""


def freeze(worker) -> None:
    for process in worker.processes():
        process.send_signal(signal.SIGSTOP)


def thaw(worker) -> None:
    for process in worker.processes():
        process.send_signal(signal.SIGCONT)


@asynccontextmanager
async def paused(service):
    """A service of the stack that answers nothing meanwhile."""
    await asyncio.to_thread(service.pause)
    try:
        yield
    finally:
        await asyncio.to_thread(service.resume)
