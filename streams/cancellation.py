"""Cancellation that is repeated until tasks end, as a library may lose one.

On Python 3.11 `asyncio.wait_for`, by which redis-py sends, returns its result if it is cancelled in the
moment when that is there, and its caller goes on (python/cpython#86296).
"""

import asyncio
from collections.abc import Collection, Coroutine, Generator
from contextvars import Context
from types import TracebackType
from typing import Any, TypeVar

_AGAIN_SECONDS = 0.2
_Result = TypeVar("_Result")


async def cancel(tasks: Collection["asyncio.Task[Any]"]) -> None:
    """Cancel tasks until all have ended; return at once if they have."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=_AGAIN_SECONDS)


class TaskGroup(asyncio.TaskGroup):
    """Task group that cancels its tasks until they have ended, where asyncio's does so once."""

    def __init__(self) -> None:
        super().__init__()
        self._begun: set[asyncio.Task[Any]] = set()

    def create_task(
        self,
        coro: Generator[Any, None, _Result] | Coroutine[Any, Any, _Result],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> "asyncio.Task[_Result]":
        """Begin a task of the group."""
        task = super().create_task(coro, name=name, context=context)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        return task

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        again = None if kind is None else asyncio.create_task(self._cancel_again())
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            if again is not None:
                again.cancel()

    async def _cancel_again(self) -> None:
        await asyncio.sleep(_AGAIN_SECONDS)
        await cancel(self._begun)
