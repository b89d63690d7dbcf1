"""Turns of those who want something inspected."""

import asyncio

import pytest

from dehusk.streams.worker.inspector.turns import MOST_WAITING, BusyError, Turns


async def test_turns_are_taken_one_by_one_in_order() -> None:
    turns, order = Turns(), []

    async def take(number: int) -> None:
        async with turns.turn():
            order.append(number)
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*map(take, range(3)))
    assert order == [0, 0, 1, 1, 2, 2]


async def test_one_more_than_may_wait_is_refused() -> None:
    turns, end = Turns(), asyncio.Event()

    async def take() -> None:
        async with turns.turn():
            await end.wait()

    waiting = [asyncio.create_task(take()) for _ in range(MOST_WAITING + 1)]
    await asyncio.sleep(0)
    with pytest.raises(BusyError):
        await take()
    assert turns.idle_seconds == 0
    end.set()
    await asyncio.gather(*waiting)
    await take()
    assert turns.idle_seconds >= 0
