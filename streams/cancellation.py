"""Cancellation that is repeated until tasks end, as a library may lose one.

On Python 3.11 `asyncio.wait_for`, by which redis-py sends, returns its result if it is cancelled in the
moment when that is there, and its caller goes on (python/cpython#86296).
"""

import asyncio
from collections.abc import Awaitable, Collection, Coroutine, Generator
from contextvars import Context
from types import TracebackType
from typing import Any, TypeVar, cast

_AGAIN_SECONDS = 0.2
_Result = TypeVar("_Result")


async def cancel(tasks: Collection["asyncio.Task[Any]"]) -> None:
    """Cancel tasks until all have ended; return at once if they have."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=_AGAIN_SECONDS)


class TaskGroup(asyncio.TaskGroup):
    """Task group that cancels its tasks until they have ended, and fails if one ends by somebody else's.

    asyncio's cancels them once, and passes over a task that ends cancelled, as if its work were done.
    """

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
        work = _not_cancelled_by_others(cast("Awaitable[_Result]", coro))
        task = super().create_task(work, name=name, context=context)
        task.add_done_callback(lambda _: coro.close())  # it may have been cancelled before it began
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


async def _not_cancelled_by_others(work: Awaitable[_Result]) -> _Result:
    """Return what is awaited; a cancellation that nobody has asked this task for is an error.

    A library lets one out where it awaits a task of its own that it has cancelled.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("a cancellation came out of what was not cancelled") from error
