"""Cancellations that hold although what is cancelled, or a library in it, loses the first ones."""

import asyncio

import pytest

from dehusk.streams.cancellation import TaskGroup, cancel


class Loser:
    """Work that loses its first cancellations."""

    def __init__(self, losses: int) -> None:
        self.losses = losses
        self.cancellations = 0

    async def work(self) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancellations += 1
                if self.cancellations > self.losses:
                    raise


@pytest.mark.parametrize("losses", [0, 1, 2])
async def test_tasks_are_cancelled_until_they_end(losses: int) -> None:
    losers = [Loser(0), Loser(losses)]
    tasks = [asyncio.create_task(loser.work()) for loser in losers]
    await asyncio.sleep(0)
    await cancel(tasks)
    assert all(task.cancelled() for task in tasks)
    assert [loser.cancellations for loser in losers] == [1, losses + 1]


async def test_tasks_that_have_ended_are_left_alone() -> None:
    ended = asyncio.create_task(asyncio.sleep(0))
    await ended
    await cancel([ended])
    assert not ended.cancelled()


@pytest.mark.parametrize("losses", [0, 1, 2])
async def test_a_cancelled_group_ends_its_tasks(losses: int) -> None:
    loser = Loser(losses)

    async def run() -> None:
        async with TaskGroup() as group:
            group.create_task(loser.work())
            await asyncio.Event().wait()

    running = asyncio.create_task(run())
    await asyncio.sleep(0.01)
    running.cancel()
    async with asyncio.timeout(30):
        await asyncio.wait([running])
    assert running.cancelled()
    assert loser.cancellations == losses + 1


async def test_an_error_of_a_task_ends_the_group_and_is_raised() -> None:
    loser = Loser(1)

    async def fail() -> None:
        raise ZeroDivisionError

    async def run() -> None:
        async with TaskGroup() as group:
            group.create_task(loser.work())
            await asyncio.sleep(0)
            group.create_task(fail())
            await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup) as raised:
        await run()
    assert [type(each) for each in raised.value.exceptions] == [ZeroDivisionError]
    assert loser.cancellations == 2


async def test_a_group_waits_for_its_tasks() -> None:
    async with TaskGroup() as group:
        answer = group.create_task(asyncio.sleep(0.01, "answer"))
    assert answer.result() == "answer"


async def test_a_cancellation_that_comes_out_of_a_library_ends_the_group() -> None:
    async def work() -> None:
        own = asyncio.create_task(asyncio.sleep(60))
        own.cancel()
        await own

    async def run() -> None:
        async with TaskGroup() as group:
            group.create_task(work())
            await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup) as raised:
        await run()
    assert [type(each) for each in raised.value.exceptions] == [RuntimeError]
