"""The order and the bounds of the flow, and what happens when it is disturbed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry

from dehusk.schemas.pages import Message
from dehusk.streams.availability import Dependency
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.preparation.steps import Postponed
from dehusk.streams.settings import FlowLimits
from dehusk.streams.worker.input.intake import Arrival
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.results import UNTRACED_MESSAGE, CleanedMessage, MessageTrace, Result
from dehusk.streams.worker.steps.flow import Flow
from tests.settling import settle

LIMITS = FlowLimits(batch_pages=1, batch_seconds=0.001, batches=2, waiting_pages=3)


class Steps:
    """Cleaning that takes as long as the test says, and what happened to each message."""

    def __init__(self, limits: FlowLimits = LIMITS) -> None:
        self.gates = [asyncio.Event() for _ in range(10)]
        self.alone_gate = asyncio.Event()
        self.begun: list[int] = []
        self.alone: list[int] = []
        self.delivered: list[int] = []
        self.acknowledged: list[int] = []
        self.abandoned: list[int] = []
        self.postponed: set[int] = set()
        self.trace: MessageTrace = UNTRACED_MESSAGE
        """Of the messages that are cleaned next."""
        self.registry = Dependency("schema-registry", "")
        metrics = Metrics(CollectorRegistry(), ())
        self.flow = Flow(limits, self, self, self.registry, metrics)
        self.running = asyncio.create_task(self.flow.run())

    async def clean(self, messages: Sequence[Message]) -> list[Result]:
        if messages[0].offset in self.postponed and messages[0].value != b"huge":
            return [Postponed("unavailable") for _ in messages]
        if len(messages) > 1:  # what was set aside is tried again together
            ordinary = list(takewhile(lambda message: message.value != b"huge", messages))
            return [CleanedMessage(message) for message in ordinary] or [Oversized()]
        (message,) = messages
        self.begun.append(message.offset)
        await self.gates[message.offset].wait()
        if message.value == b"huge":
            return [Oversized()]
        if message.value == b"bug":
            raise ZeroDivisionError("a bug")
        return [CleanedMessage(message, trace=self.trace)]

    async def clean_alone(self, message: Message) -> CleanedMessage | Postponed:
        self.alone.append(message.offset)
        await self.alone_gate.wait()
        if message.offset in self.postponed:
            return Postponed("unavailable")
        return CleanedMessage(message, trace=self.trace)

    async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
        self.delivered.extend(cleaned.message.offset for cleaned in batch)

    def give_up(self) -> None:
        """Send nothing more."""

    async def renew(self) -> None:
        """Nothing is left."""

    async def put(
        self, number: int, value: bytes = b"", *, key: bytes | None = None, partition: int = 0
    ) -> None:
        async def acknowledge() -> None:
            self.acknowledged.append(number)

        message = Message(key, value, partition=partition, offset=number)
        await self.flow.intake.put(Arrival(message, acknowledge, lambda: self.abandoned.append(number)))

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():  # noqa: ASYNC110 what it waits for sets no event
            await asyncio.sleep(0.01)

    def finish(self, *numbers: int) -> None:
        for number in numbers:
            self.gates[number].set()


@pytest.fixture
async def steps(request: pytest.FixtureRequest) -> AsyncIterator[Steps]:
    made = Steps(getattr(request, "param", LIMITS))
    yield made
    made.running.cancel()
    with suppress(asyncio.CancelledError, ExceptionGroup):
        await made.running


async def test_messages_are_acknowledged_in_order_however_long_each_takes(steps: Steps) -> None:
    await steps.put(0)
    await steps.put(1)
    await settle()
    assert steps.begun == [0, 1]
    steps.finish(1)
    await settle()
    assert steps.delivered == steps.acknowledged == []
    steps.finish(0)
    await settle()
    assert steps.delivered == steps.acknowledged == [0, 1]


async def test_a_batch_that_is_cleaned_in_portions_is_delivered_and_acknowledged_in_order() -> None:
    delivered: list[list[int]] = []
    acknowledged: list[int] = []

    class InPortions(Steps):
        async def clean(self, messages: Sequence[Message]) -> list[Result]:
            return [CleanedMessage(message) for message in messages[:2]]

        async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
            assert acknowledged == [offset for portion in delivered for offset in portion]
            delivered.append([cleaned.message.offset for cleaned in batch])

    async def acknowledge(number: int) -> None:
        acknowledged.append(number)

    metrics = Metrics(CollectorRegistry(), ())
    cleaner = InPortions()
    cleaner.running.cancel()
    flow = Flow(FlowLimits(batch_pages=5), cleaner, cleaner, Dependency("", ""), metrics)
    for number in range(5):
        message = Message(None, b"", offset=number)
        await flow.intake.put(Arrival(message, partial(acknowledge, number), lambda: None))
    running = asyncio.create_task(flow.run())
    await settle()
    assert delivered == [[0, 1], [2, 3], [4]]
    assert acknowledged == [0, 1, 2, 3, 4]
    assert len(flow) == 0
    running.cancel()


async def test_what_is_behind_a_message_that_is_cleaned_alone_is_delivered_meanwhile(steps: Steps) -> None:
    steps.finish(0, 1, 2)
    await steps.put(0, b"huge")
    await steps.put(1)
    await steps.put(2, partition=1)
    await settle()
    assert (steps.alone, steps.delivered, steps.acknowledged) == ([0], [1, 2], [2])
    assert len(steps.flow) == 2
    steps.alone_gate.set()
    await settle()
    assert (steps.delivered, steps.acknowledged) == ([1, 2, 0], [2, 0, 1])
    assert len(steps.flow) == 0


async def test_one_message_at_a_time_is_cleaned_alone(steps: Steps) -> None:
    steps.finish(0, 1)
    await steps.put(0, b"huge")
    await steps.put(1, b"huge")
    await settle()
    assert steps.alone == [0]
    steps.alone_gate.set()
    await settle()
    assert steps.alone == [0, 1]
    assert steps.delivered == steps.acknowledged == [0, 1]


async def test_later_versions_of_a_page_that_is_cleaned_alone_wait_behind_it(steps: Steps) -> None:
    steps.finish(*range(4))
    await steps.put(0, b"huge", key=b"a")
    await steps.put(1, key=b"a")
    await steps.put(2, key=b"b")
    await steps.put(3, key=b"a")
    await settle()
    assert steps.delivered == [2]
    steps.alone_gate.set()
    await settle()
    assert steps.alone == [0]
    assert (steps.delivered, steps.acknowledged) == ([2, 0, 1, 3], [0, 1, 2, 3])


async def test_neither_lane_waits_for_the_other(steps: Steps) -> None:
    steps.postponed = {0, 1}
    steps.finish(*range(4))
    await steps.put(0, b"huge")
    await steps.put(1)
    await steps.put(2, b"huge")
    await steps.until(lambda: steps.alone == [0])
    steps.postponed.remove(1)
    await steps.until(lambda: steps.delivered == [1])
    steps.alone_gate.set()
    await steps.until(lambda: steps.delivered == [1, 2])
    assert steps.registry.unavailable
    steps.postponed.clear()
    await steps.until(lambda: steps.acknowledged == [0, 1, 2])
    assert not steps.registry.unavailable


async def test_what_is_cleaned_alone_is_given_up_with_the_others(steps: Steps) -> None:
    steps.finish(*range(4))
    await steps.put(0, b"huge", key=b"a")
    await steps.put(1, key=b"a")
    await steps.put(2)
    await settle()
    steps.flow.finish_within(0)
    await settle()
    assert (steps.abandoned, steps.delivered, steps.acknowledged) == ([0, 1, 2], [2], [])
    assert len(steps.flow) == steps.flow.age == 0
    await steps.put(3, key=b"a")
    await settle()
    assert steps.acknowledged == [3]


@pytest.mark.parametrize("steps", [replace(LIMITS, in_flight_bytes=10)], indirect=True)
async def test_no_further_batch_is_begun_while_many_bytes_are_in_flight(steps: Steps) -> None:
    await steps.put(0, bytes(10))
    await steps.put(1, b"small")
    await settle()
    assert steps.begun == [0]
    steps.finish(0)
    await settle()
    assert steps.begun == [0, 1]


async def test_no_more_is_begun_than_may_be_in_flight(steps: Steps) -> None:
    putting = [asyncio.create_task(steps.put(number)) for number in range(6)]
    await settle()
    assert steps.begun == [0, 1]
    assert len(steps.flow) == 3  # one more waits in the open batch
    assert not putting[5].done()
    steps.finish(0)
    await settle()
    assert steps.begun == [0, 1, 2]
    steps.finish(*range(1, 6))
    await settle()
    assert steps.acknowledged == [0, 1, 2, 3, 4, 5]
    assert len(steps.flow) == 0


async def test_a_bug_ends_the_flow_and_acknowledges_nothing_behind(steps: Steps) -> None:
    await steps.put(0, b"bug")
    await steps.put(1)
    steps.finish(0, 1)
    with pytest.raises(ExceptionGroup) as caught:
        await steps.running
    assert caught.group_contains(ZeroDivisionError)
    assert steps.acknowledged == []


async def test_what_is_behind_a_postponed_message_is_delivered_and_waits_to_be_acknowledged(
    steps: Steps,
) -> None:
    steps.postponed = {0}
    steps.finish(0, 1, 2)
    for number in range(3):
        await steps.put(number)
    await settle()
    assert (steps.delivered, steps.acknowledged) == ([1, 2], [])
    assert len(steps.flow) == 3
    assert steps.registry.unavailable
    steps.postponed.clear()
    await steps.until(lambda: steps.acknowledged == [0, 1, 2])
    assert steps.delivered == [1, 2, 0]
    assert len(steps.flow) == 0
    assert not steps.registry.unavailable


async def test_a_partition_without_a_postponed_message_is_acknowledged(steps: Steps) -> None:
    steps.postponed = {0}
    steps.finish(0, 1, 2)
    await steps.put(0)
    await steps.put(1, partition=1)
    await steps.put(2)
    await settle()
    assert (steps.delivered, steps.acknowledged) == ([1, 2], [1])


async def test_a_later_version_of_a_postponed_page_waits_behind_it(steps: Steps) -> None:
    steps.postponed = {0}
    steps.finish(0, 1, 2)
    for number, key in enumerate([b"a", b"a", b"b"]):
        await steps.put(number, key=key)
    await settle()
    assert steps.delivered == [2]
    steps.postponed.clear()
    await steps.until(lambda: steps.acknowledged == [0, 1, 2])
    assert steps.delivered == [2, 0, 1]


async def test_no_more_waits_for_a_postponed_message_than_may(steps: Steps) -> None:
    steps.postponed = {0}
    steps.finish(*range(10))
    putting = [asyncio.create_task(steps.put(number)) for number in range(10)]
    await settle()
    assert steps.delivered == [1, 2, 3, 4]
    assert len(steps.flow) == 6  # one more waits in the open batch
    assert not putting[-1].done()
    steps.postponed.clear()
    await steps.until(lambda: steps.acknowledged == list(range(10)))


async def test_postponed_messages_are_given_up_with_the_others(steps: Steps) -> None:
    steps.postponed = {0}
    steps.finish(0, 1)
    await steps.put(0)
    await steps.put(1)
    await settle()
    steps.flow.finish_within(0)
    await settle()
    assert (steps.abandoned, steps.acknowledged) == ([0, 1], [])
    assert len(steps.flow) == 0
    assert not steps.registry.unavailable
    steps.postponed.clear()
    await settle()
    assert steps.delivered == [1]


async def test_what_is_given_up_is_never_acknowledged(steps: Steps) -> None:
    for number in range(3):
        await steps.put(number)
    await settle()
    steps.flow.finish_within(0)
    await settle()
    assert steps.abandoned == [2, 0, 1]
    steps.finish(0, 1, 2)
    await settle()
    assert steps.delivered == steps.acknowledged == []

    await steps.put(4)
    steps.finish(4)
    await settle()
    assert steps.acknowledged == [4]


async def test_what_is_given_up_ends_although_a_library_loses_its_cancellation(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deliver(_batch: Sequence[CleanedMessage]) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()  # as for a membership that is given up

    with monkeypatch.context() as losing:
        losing.setattr(steps, "deliver", deliver)
        await steps.put(0)
        steps.finish(0)
        await settle()
        steps.flow.give_up()
        await steps.until(lambda: len(steps.flow) == 0)
    await steps.put(4)
    steps.finish(4)
    await steps.until(lambda: steps.acknowledged == [4])


async def test_what_is_delivered_in_the_moment_it_is_given_up_is_acknowledged(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deliver(_batch: Sequence[CleanedMessage]) -> None:
        steps.flow.give_up()

    monkeypatch.setattr(steps, "deliver", deliver)
    await steps.put(0)
    steps.finish(0)
    await settle()
    assert steps.abandoned == steps.acknowledged == [0]
    assert len(steps.flow) == 0
    assert not steps.running.done()


async def test_a_deadline_that_is_lifted_gives_nothing_up(steps: Steps) -> None:
    await steps.put(0)
    steps.flow.finish_within(0.02)
    steps.flow.lift_deadline()
    await settle()
    steps.finish(0)
    await settle()
    assert steps.acknowledged == [0]
    assert steps.abandoned == []


@pytest.mark.parametrize(
    "deadlines",
    [
        [("end_within", 0), ("finish_within", 60), ("lift_deadline",)],
        [("end_within", 60), ("finish_within", 0)],
        [("finish_within", 0), ("end_within", 60)],
    ],
    ids=["the last one stays", "a rebalance's is sooner", "the last one postpones none"],
)
async def test_the_sooner_of_the_last_deadline_and_a_rebalance_counts(steps: Steps, deadlines) -> None:
    await steps.put(0)
    for name, *seconds in deadlines:
        getattr(steps.flow, name)(*seconds)
    await settle()
    assert steps.abandoned == [0]


async def test_the_age_is_that_of_the_oldest_batch_since_the_one_before_it(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("dehusk.streams.worker.steps.flow.time", SimpleNamespace(monotonic=lambda: now[0]))
    assert steps.flow.age == 0
    for number in range(2):
        await steps.put(number)
        await settle()
        now[0] += 10
    assert steps.flow.age == 20
    steps.finish(0)
    await settle()
    now[0] += 5
    assert steps.flow.age == 5
    steps.finish(1)
    await settle()
    assert steps.flow.age == 0


async def test_the_age_is_that_of_a_message_that_is_cleaned_alone_while_others_go_on(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("dehusk.streams.worker.steps.flow.time", SimpleNamespace(monotonic=lambda: now[0]))
    steps.finish(0, 1)
    await steps.put(0, b"huge")
    await settle()
    for _ in range(2):
        now[0] += 10
        await steps.put(1)
        await settle()
    assert steps.delivered == [1, 1]
    assert steps.flow.age == 20
    steps.alone_gate.set()
    await settle()
    assert steps.flow.age == 0


async def test_the_trace_of_a_batch_ends_once_it_is_delivered(
    steps: Steps, trace: MessageTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps.trace = trace
    gate = asyncio.Event()

    async def deliver(_batch: Sequence[CleanedMessage]) -> None:
        await gate.wait()

    monkeypatch.setattr(steps, "deliver", deliver)
    await steps.put(7)
    steps.finish(7)
    await settle()
    assert trace.told == ["begin deliver"]
    gate.set()
    await settle()
    assert trace.told == ["begin deliver", "deliver", 7, "end"]


async def test_the_trace_of_a_batch_whose_message_has_to_wait_for_its_key_ends_without_the_message(
    steps: Steps, trace: MessageTrace
) -> None:
    steps.trace = trace
    await steps.put(0, b"huge", key=b"a")
    await steps.put(1, key=b"a")
    steps.finish(0, 1)
    await settle()
    assert trace.told == ["end"]


async def test_the_trace_of_a_message_that_is_cleaned_alone_ends_with_its_delivery(
    steps: Steps, trace: MessageTrace
) -> None:
    steps.trace = trace
    await steps.put(0, b"huge")
    steps.finish(0)
    steps.alone_gate.set()
    await steps.until(lambda: steps.acknowledged == [0])
    assert trace.told == ["begin deliver", "deliver", 0, "end"]
