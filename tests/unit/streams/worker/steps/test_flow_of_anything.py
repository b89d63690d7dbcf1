"""The flow's promises, whatever has to wait, to be cleaned alone, or is given up."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from dehusk.schemas.pages import Message
from dehusk.streams.availability import Dependency
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.preparation.steps import Postponed
from dehusk.streams.settings import FlowLimits
from dehusk.streams.worker.input.intake import Arrival
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.results import CleanedMessage, Result
from dehusk.streams.worker.steps import set_aside
from dehusk.streams.worker.steps.flow import Flow

LIMITS = FlowLimits(batch_pages=3, batch_seconds=0, batches=2, waiting_pages=2)


@dataclass
class Page:
    """A message, and what becomes of it."""

    key: bytes | None
    partition: int
    value: bytes | None
    is_huge: bool
    postponed: int
    """Number of times that it is postponed, until it is cleaned."""
    turns: int
    """Turns of the event loop that its cleaning takes."""


@dataclass
class World:
    """Steps that do with each page what it says; the offset of a message is its page's number."""

    pages: list[Page]
    portion: int
    alone: int = 0
    events: list[tuple[str, int]] = field(default_factory=list)

    async def clean(self, messages: Sequence[Message]) -> list[Result]:
        results: list[Result] = []
        for message in messages[: self.portion]:
            if self.pages[message.offset].is_huge:
                return results or [Oversized()]
            results.append(await self._clean(message))
        return results

    async def clean_alone(self, message: Message) -> CleanedMessage | Postponed:
        self.alone += 1
        assert self.alone == 1, "another has the large share"
        try:
            return await self._clean(message)
        finally:
            self.alone -= 1

    async def _clean(self, message: Message) -> CleanedMessage | Postponed:
        page = self.pages[message.offset]
        assert message.value == page.value
        for _ in range(page.turns):
            await asyncio.sleep(0)
        if page.postponed:
            page.postponed -= 1
            return Postponed("unavailable")
        return CleanedMessage(message)

    async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
        await asyncio.sleep(0)
        self.events += [("delivered", cleaned.message.offset) for cleaned in batch]

    def give_up(self) -> None:
        """Send nothing more."""

    async def renew(self) -> None:
        """Nothing is left."""

    def arrival(self, number: int) -> Arrival:
        async def acknowledge() -> None:
            self.events.append(("acknowledged", number))

        page = self.pages[number]
        message = Message(page.key, page.value, partition=page.partition, offset=number)
        return Arrival(message, acknowledge, lambda: self.events.append(("abandoned", number)))

    def numbers(self, event: str) -> list[int]:
        return [number for name, number in self.events if name == event]


PAGES = st.builds(
    Page,
    key=st.sampled_from([None, b"a", b"b"]),
    partition=st.integers(0, 1),
    value=st.sampled_from([None, b"", b"page"]),
    is_huge=st.booleans(),
    postponed=st.integers(0, 3),
    turns=st.integers(0, 5),
)
WORLDS = st.builds(World, st.lists(PAGES, min_size=1, max_size=20), portion=st.integers(1, 3))


@given(WORLDS)
def test_each_message_is_delivered_once_in_the_order_of_its_key_and_then_acknowledged(world: World) -> None:
    registry = asyncio.run(_run(world, given_up_after=None))
    _check_acknowledgments(world)
    delivered = world.numbers("delivered")
    assert sorted(delivered) == list(range(len(world.pages)))
    for key in (b"a", b"b"):
        versions = [number for number in delivered if world.pages[number].key == key]
        assert versions == sorted(versions)
    assert sorted(world.numbers("acknowledged")) == list(range(len(world.pages)))
    assert not registry.unavailable


@given(WORLDS, st.integers(0, 60))
def test_what_is_given_up_is_given_back_and_nothing_is_acknowledged_early(world: World, turns: int) -> None:
    registry = asyncio.run(_run(world, given_up_after=turns))
    _check_acknowledgments(world)
    finished = {*world.numbers("acknowledged"), *world.numbers("abandoned")}
    assert finished == set(range(len(world.pages)))
    assert not registry.unavailable


def _check_acknowledgments(world: World) -> None:
    """Check that each is acknowledged after it was delivered, in the order of its partition."""
    delivered: set[int] = set()
    for event, number in world.events:
        if event == "delivered":
            delivered.add(number)
        assert event != "acknowledged" or number in delivered
    for partition in (0, 1):
        numbers = [each for each in world.numbers("acknowledged") if world.pages[each].partition == partition]
        assert numbers == sorted(numbers)


async def _run(world: World, given_up_after: int | None) -> Dependency:
    """Send the pages through a flow, which gives up what is in flight after so many turns, and goes on."""
    registry = Dependency("schema-registry", "")
    flow = Flow(LIMITS, world, world, registry, Metrics(CollectorRegistry(), ()))
    with patch.object(set_aside, "back_off", lambda _trial: asyncio.sleep(0)):
        running = asyncio.create_task(flow.run())
        sending = asyncio.create_task(_send(world, flow))
        if given_up_after is not None:
            for _ in range(given_up_after):
                await asyncio.sleep(0)
            flow.finish_within(0)
        await sending
        async with asyncio.timeout(10):
            while len(flow):  # noqa: ASYNC110 what it waits for sets no event
                await asyncio.sleep(0)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    return registry


async def _send(world: World, flow: Flow) -> None:
    for number in range(len(world.pages)):
        await flow.intake.put(world.arrival(number))
