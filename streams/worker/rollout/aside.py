"""What is asked of a version beside the flow, after its pages went on without it."""

import asyncio
from collections.abc import Awaitable, Callable

from dehusk.streams.worker.rollout.plan import Plan

_MOST = 2
"""Batches that are asked about at once; what else is left meanwhile is not counted."""


class Aside:
    """Tasks that no page waits for; each holds the versions of its plan."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_full(self) -> bool:
        """Whether nothing more may be asked now."""
        return len(self._tasks) >= _MOST

    def begin(self, plan: Plan, ask: Callable[[], Awaitable[None]]) -> None:
        """Have something asked, with the versions of a plan open until it ends."""
        plan.hold()
        task = asyncio.create_task(_held(plan, ask))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Ask nothing more."""
        await asyncio.sleep(0)  # a task that is cancelled before it begins would not let its plan go
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def finish(self) -> None:
        """Wait for all that is asked."""
        await asyncio.gather(*self._tasks)


async def _held(plan: Plan, ask: Callable[[], Awaitable[None]]) -> None:
    try:
        await ask()
    finally:
        await plan.release()
