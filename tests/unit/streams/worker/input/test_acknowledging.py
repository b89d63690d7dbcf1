"""The order of acknowledgments, and how much may wait for one."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.settings import FlowLimits
from dehusk.streams.worker.input.intake import Acknowledgments, Arrival

LIMITS = FlowLimits(batches=1, batch_pages=1, batch_bytes=10, waiting_pages=1, waiting_bytes=10)


class Entered:
    """Arrivals in their order, and what was acknowledged of them."""

    def __init__(self, limits: FlowLimits = LIMITS) -> None:
        self.acknowledgments = Acknowledgments(limits)
        self.acknowledged: list[int] = []
        self.abandoned: list[int] = []

    def enter(self, number: int, partition: int = 0, size: int = 1) -> Arrival:
        async def acknowledge() -> None:
            self.acknowledged.append(number)

        message = Message(None, bytes(size), partition=partition, offset=number)
        abandon: Callable[[], object] = lambda: self.abandoned.append(number)  # noqa: E731
        arrival = Arrival(message, acknowledge, abandon)
        self.acknowledgments.add([arrival])
        return arrival


@pytest.fixture
def entered() -> Entered:
    return Entered()


async def test_what_is_done_waits_for_what_is_before_it(entered: Entered) -> None:
    entries = [entered.enter(number) for number in range(3)]
    await entered.acknowledgments.done(entries[1:])
    assert (entered.acknowledged, len(entered.acknowledgments)) == ([], 3)
    await entered.acknowledgments.done(entries[:1])
    assert (entered.acknowledged, len(entered.acknowledgments)) == ([0, 1, 2], 0)


async def test_partitions_do_not_wait_for_each_other(entered: Entered) -> None:
    entered.enter(0)
    await entered.acknowledgments.done([entered.enter(1, partition=1)])
    assert entered.acknowledged == [1]


async def test_what_is_given_up_is_not_acknowledged(entered: Entered) -> None:
    first, second = entered.enter(0), entered.enter(1)
    await entered.acknowledgments.done([first])
    entered.acknowledgments.abandon()
    entered.acknowledgments.clear()
    await entered.acknowledgments.done([second])
    assert (entered.acknowledged, entered.abandoned) == ([0], [1])


async def test_room_is_made_by_what_is_packed_or_done_before_it_is_acknowledged() -> None:
    entered = Entered(replace(LIMITS, waiting_pages=9, waiting_bytes=990))
    first, second = entered.enter(0, size=1000), entered.enter(1, size=1000)
    waiting = asyncio.create_task(entered.acknowledgments.wait_for_room())
    await entered.acknowledgments.pack(first)
    await asyncio.sleep(0)
    assert not waiting.done()
    await entered.acknowledgments.done([second])
    await waiting
    assert entered.acknowledged == []
    assert second.message.value is None


@pytest.mark.parametrize("value", [b"page " * 10, b"", None])
def test_what_is_packed_is_unpacked_unchanged(value: bytes | None) -> None:
    async def acknowledge() -> None:
        raise AssertionError("nobody is to be told")

    message = Message(b"key", value, offset=7)
    arrival = Arrival(message, acknowledge, lambda: None)
    arrival.pack()
    assert arrival.size != len(b"page " * 10)
    assert arrival.unpacked() == message


@pytest.mark.parametrize("sizes", [(1, 1), (20,)])
async def test_room_is_made_by_what_is_acknowledged(entered: Entered, sizes: tuple[int, ...]) -> None:
    await entered.acknowledgments.wait_for_room()
    entries = [entered.enter(number, size=size) for number, size in enumerate(sizes)]
    waiting = asyncio.create_task(entered.acknowledgments.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    await entered.acknowledgments.done(entries)
    await waiting
