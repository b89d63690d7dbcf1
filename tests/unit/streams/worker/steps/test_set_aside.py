"""Messages that leave their batch for a lane, and those that do not."""

import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.availability import Dependency
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.preparation.steps import Postponed
from dehusk.streams.worker.input.intake import Arrival
from dehusk.streams.worker.results import CleanedMessage, Result
from dehusk.streams.worker.steps import set_aside as module
from dehusk.streams.worker.steps.set_aside import Cleaned, SetAside

POSTPONED = Postponed("unavailable")
OVERSIZED = Oversized()


async def acknowledge() -> None:
    raise AssertionError("nobody is to be told")


def arrival(number: int, key: bytes | None = None) -> Arrival:
    return Arrival(Message(key, b"", offset=number), acknowledge, lambda: None)


def cleaned(of: Arrival) -> CleanedMessage:
    return CleanedMessage(of.message)


def numbers(ready: Cleaned) -> list[int]:
    assert all(one.message is result.message for one, result in ready)
    return [one.message.offset for one, _ in ready]


@pytest.fixture
def registry() -> Dependency:
    return Dependency("schema-registry", "")


@pytest.fixture
def aside(registry: Dependency) -> SetAside:
    return SetAside(registry, at_once=2)


async def test_only_the_postponed_wait_and_are_tried_in_their_order(
    aside: SetAside, registry: Dependency
) -> None:
    arrivals = [arrival(number) for number in range(5)]
    results: list[Result] = [POSTPONED, cleaned(arrivals[1]), POSTPONED, POSTPONED, cleaned(arrivals[4])]
    assert numbers(aside.hold_back(arrivals, results)) == [1, 4]
    assert registry.unavailable
    due = await aside.postponed.due()
    assert due == [arrivals[0], arrivals[2]]
    assert numbers(aside.try_again(aside.postponed, due, [cleaned(arrivals[0]), POSTPONED])) == [0]
    due = await aside.postponed.due()
    assert due == [arrivals[2], arrivals[3]]
    assert registry.unavailable
    assert numbers(aside.try_again(aside.postponed, due, [cleaned(each) for each in due])) == [2, 3]
    assert not registry.unavailable


async def test_the_oversized_are_in_a_lane_of_their_own(aside: SetAside, registry: Dependency) -> None:
    arrivals = [arrival(number) for number in range(3)]
    assert numbers(aside.hold_back(arrivals, [POSTPONED, OVERSIZED, cleaned(arrivals[2])])) == [2]
    assert await aside.postponed.due() == arrivals[:1]
    assert await aside.oversized.due() == arrivals[1:2]
    assert numbers(aside.try_again(aside.oversized, arrivals[1:2], [cleaned(arrivals[1])])) == [1]
    assert registry.unavailable


async def test_results_may_be_fewer_than_arrivals(aside: SetAside) -> None:
    arrivals = [arrival(number) for number in range(3)]
    assert aside.hold_back(arrivals, [POSTPONED] * 2) == []
    assert numbers(aside.try_again(aside.postponed, arrivals[:2], [cleaned(arrivals[0])])) == [0]
    assert await aside.postponed.due() == [arrivals[1]]


async def test_a_key_keeps_its_order(aside: SetAside) -> None:
    first, other, second, third = arrival(0, b"a"), arrival(1, b"b"), arrival(2, b"a"), arrival(3, b"a")
    results: list[Result] = [POSTPONED, cleaned(other), cleaned(second)]
    assert numbers(aside.hold_back([first, other, second], results)) == [1]
    assert numbers(aside.hold_back([third], [OVERSIZED])) == []
    due = [first, second]
    assert numbers(aside.try_again(aside.postponed, due, [POSTPONED, cleaned(second)])) == []
    assert numbers(aside.try_again(aside.postponed, due, [cleaned(first), cleaned(second)])) == [0, 2]
    assert await aside.postponed.due() == [third]


async def test_a_key_changes_lanes_as_a_whole(aside: SetAside) -> None:
    arrivals = [arrival(0, b"a"), arrival(1, b"b"), arrival(2, b"a")]
    aside.hold_back(arrivals, [OVERSIZED, OVERSIZED, cleaned(arrivals[2])])
    assert aside.try_again(aside.oversized, arrivals[:1], [POSTPONED]) == []
    assert await aside.postponed.due() == [arrivals[0], arrivals[2]]
    assert await aside.oversized.due() == [arrivals[1]]
    results: list[Result] = [OVERSIZED, cleaned(arrivals[2])]
    assert aside.try_again(aside.postponed, [arrivals[0], arrivals[2]], results) == []
    assert await aside.oversized.due() == [arrivals[1], arrivals[0]]


async def test_the_registry_is_there_once_a_message_that_missed_it_is_done_in_any_lane(
    aside: SetAside, registry: Dependency
) -> None:
    needs, other = arrival(0), arrival(1)
    aside.hold_back([needs, other], [POSTPONED, OVERSIZED])
    aside.try_again(aside.postponed, [needs], [OVERSIZED])
    aside.try_again(aside.oversized, [other], [cleaned(other)])
    assert registry.unavailable
    aside.try_again(aside.oversized, [needs], [cleaned(needs)])
    assert not registry.unavailable


async def test_a_lane_waits_for_longer_after_each_failed_attempt(
    aside: SetAside, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[int] = []

    async def back_off(attempt: int) -> None:
        pauses.append(attempt)

    monkeypatch.setattr(module, "back_off", back_off)
    arrivals = [arrival(0), arrival(1)]
    aside.hold_back(arrivals, [POSTPONED] * 2)
    for _ in range(2):
        aside.try_again(aside.postponed, await aside.postponed.due(), [POSTPONED] * 2)
    aside.try_again(aside.postponed, await aside.postponed.due(), [cleaned(arrivals[0]), POSTPONED])
    await aside.postponed.due()
    assert pauses == [0, 1]


def test_messages_without_a_key_do_not_wait_for_each_other(aside: SetAside) -> None:
    arrivals = [arrival(0), arrival(1)]
    assert numbers(aside.hold_back(arrivals, [POSTPONED, cleaned(arrivals[1])])) == [1]


def test_what_is_given_up_is_not_waited_for(aside: SetAside, registry: Dependency) -> None:
    aside.hold_back([arrival(0, b"a"), arrival(1, b"b")], [POSTPONED, OVERSIZED])
    aside.clear()
    assert not registry.unavailable
    later = [arrival(2, b"a"), arrival(3, b"b")]
    assert numbers(aside.hold_back(later, [cleaned(each) for each in later])) == [2, 3]


async def test_those_that_wait_for_one_schema_leave_room_for_others(registry: Dependency) -> None:
    aside = SetAside(registry, at_once=4)
    refused, unavailable = Postponed("answers 500", "ids/1"), Postponed("away")
    arrivals = [arrival(number) for number in range(12)]
    aside.hold_back(arrivals, [refused] * 9 + [unavailable] * 3)
    due = await aside.postponed.due()
    assert due == [*arrivals[:2], *arrivals[9:11]]
    results: list[Result] = [refused, refused, cleaned(due[2]), Postponed("answers 500", "ids/2")]
    assert numbers(aside.try_again(aside.postponed, due, results)) == [9]
    assert await aside.postponed.due() == [arrivals[10], arrivals[11], arrivals[0]]


async def test_each_schema_is_the_first_in_its_turn(registry: Dependency) -> None:
    aside = SetAside(registry, at_once=8)
    arrivals = [arrival(number) for number in range(3)]
    aside.hold_back(arrivals, [Postponed("away", f"ids/{number}") for number in range(3)])
    assert [(await aside.postponed.due())[0] for _ in range(4)] == [*arrivals, arrivals[0]]


async def test_the_turn_of_each_schema_comes_however_many_there_are(registry: Dependency) -> None:
    aside = SetAside(registry, at_once=2)
    arrivals = [arrival(number) for number in range(5)]
    results: list[Result] = [Postponed("answers 500", f"ids/{number}") for number in range(5)]
    aside.hold_back(arrivals, results)
    tried = set()
    for _ in range(3):
        tried |= set(await aside.postponed.due())
    assert tried == set(arrivals)
