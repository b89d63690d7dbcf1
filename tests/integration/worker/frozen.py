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
async def away(service, go: str):
    """A service of the stack that is ended by a `stop` or `kill`, or answers nothing in a `pause`."""
    await asyncio.to_thread(getattr(service, go))
    try:
        yield
    finally:
        await asyncio.to_thread(service.resume if go == "pause" else service.start)


def paused(service):
    """A service of the stack that answers nothing meanwhile."""
    return away(service, "pause")
