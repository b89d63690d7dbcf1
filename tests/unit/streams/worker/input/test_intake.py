"""Micro-batches: their bounds, and what becomes of messages that are given up."""

import asyncio
import tracemalloc

import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.settings import KIB, MIB, FlowLimits
from dehusk.streams.worker.input.intake import Arrival, Intake
from tests.settling import settle


async def _acknowledge() -> None:
    raise AssertionError("an intake acknowledges nothing")


def arrival(size: int, abandoned: list[int] | None = None, number: int = 0) -> Arrival:
    given_up = abandoned if abandoned is not None else []
    return Arrival(Message(None, bytes(size)), _acknowledge, lambda: given_up.append(number))


def intake(*, seconds: float = 60.0) -> Intake:
    """Batches of three messages and a hundred bytes, which wait a minute, that is for ever."""
    return Intake(FlowLimits(batch_pages=3, batch_bytes=100, batch_seconds=seconds))


async def filled(intake: Intake, *sizes: int) -> asyncio.Task[None]:
    """Puts arrivals of these sizes, for as long as there is room."""

    async def put() -> None:
        for size in sizes:
            await intake.put(arrival(size))

    putting = asyncio.create_task(put())
    await asyncio.sleep(0)
    return putting


@pytest.mark.parametrize(
    ("sizes", "batch"),
    [
        ((10, 10, 10, 10), [10, 10, 10]),
        ((60, 30, 30), [60, 30]),
        ((500, 1), [500]),
        ((100, 1), [100]),
        ((0, 0, 0, 0), [0, 0, 0]),
    ],
)
async def test_a_full_batch_goes_at_once(sizes: tuple[int, ...], batch: list[int]) -> None:
    gathering = intake()
    putting = await filled(gathering, *sizes)
    async with asyncio.timeout(5):
        assert [each.size for each in await gathering.take()] == batch
    await putting


async def test_who_puts_waits_while_the_batch_is_full() -> None:
    gathering = intake()
    putting = await filled(gathering, 10, 10, 10, 10)
    await settle()
    assert not putting.done()
    assert len(gathering) == 3
    await gathering.take()
    await putting
    assert len(gathering) == 1


async def test_a_batch_that_does_not_fill_goes_after_its_time() -> None:
    gathering = intake(seconds=0.01)
    await filled(gathering, 10)
    assert len(await gathering.take()) == 1


async def test_without_arrivals_there_is_no_batch() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await intake(seconds=0.001).take()


async def test_giving_up_reaches_those_that_wait_for_room() -> None:
    gathering = intake()
    abandoned: list[int] = []
    for number in range(3):
        await gathering.put(arrival(1, abandoned, number))
    waiting = asyncio.create_task(gathering.put(arrival(1, abandoned, 3)))
    await asyncio.sleep(0)
    gathering.abandon()
    await waiting
    assert abandoned == [0, 1, 2, 3]
    assert len(gathering) == 0
    await gathering.put(arrival(1))
    assert len(gathering) == 1


def test_a_packed_message_takes_no_more_memory_than_its_compressed_value() -> None:
    packed = arrival(4 * MIB)
    tracemalloc.start()
    try:
        packed.pack()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert packed.unpacked().value == bytes(4 * MIB)
    assert packed.size < taken < 64 * KIB
