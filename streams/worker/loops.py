"""What a worker does beside its pages, for as long as it works."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from dehusk.streams.worker.exit import fail

_END_SECONDS = 5.0
Loop = Coroutine[None, None, None]


@asynccontextmanager
async def running(*loops: Loop) -> AsyncIterator[None]:
    """The loops at work; if one of them ends by itself, that is a bug. At the end they have some seconds."""
    tasks = [asyncio.create_task(loop) for loop in loops]
    for task in tasks:
        task.add_done_callback(_check)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=_END_SECONDS)


def _check(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        fail(error)
