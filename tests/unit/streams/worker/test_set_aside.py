"""What leaves its batch for a lane, and what does not."""

import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.preparation.preparation import Postponed
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.worker import set_aside as module
from dehusk.streams.worker.acknowledging import Entry
from dehusk.streams.worker.assembly import CleanedMessage
from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.cleaning import Result
from dehusk.streams.worker.intake import Arrival
from dehusk.streams.worker.set_aside import Cleaned, SetAside

POSTPONED = Postponed("unavailable")
OVERSIZED = Oversized()


async def acknowledge() -> None:
    raise AssertionError("nobody is to be told")


def entry(number: int, key: bytes | None = None) -> Entry:
    return Entry(Arrival(Message(key, b"", offset=number), acknowledge, lambda: None))


def cleaned(of: Entry) -> CleanedMessage:
    return CleanedMessage(of.arrival.message)


def numbers(ready: Cleaned) -> list[int]:
    assert all(one.arrival.message is result.message for one, result in ready)
    return [one.arrival.message.offset for one, _ in ready]


@pytest.fixture
def registry() -> Dependency:
    return Dependency("schema-registry", "")


@pytest.fixture
def aside(registry: Dependency) -> SetAside:
    return SetAside(registry, at_once=2)


async def test_only_the_postponed_wait_and_are_tried_in_their_order(
    aside: SetAside, registry: Dependency
) -> None:
    entries = [entry(number) for number in range(5)]
    results: list[Result] = [POSTPONED, cleaned(entries[1]), POSTPONED, POSTPONED, cleaned(entries[4])]
    assert numbers(aside.hold_back(entries, results)) == [1, 4]
    assert registry.unavailable
    due = await aside.postponed.due()
    assert due == [entries[0], entries[2]]
    assert numbers(aside.try_again(aside.postponed, due, [cleaned(entries[0]), POSTPONED])) == [0]
    due = await aside.postponed.due()
    assert due == [entries[2], entries[3]]
    assert registry.unavailable
    assert numbers(aside.try_again(aside.postponed, due, [cleaned(each) for each in due])) == [2, 3]
    assert not registry.unavailable


async def test_the_oversized_are_in_a_lane_of_their_own(aside: SetAside, registry: Dependency) -> None:
    entries = [entry(number) for number in range(3)]
    assert numbers(aside.hold_back(entries, [POSTPONED, OVERSIZED, cleaned(entries[2])])) == [2]
    assert await aside.postponed.due() == entries[:1]
    assert await aside.oversized.due() == entries[1:2]
    assert numbers(aside.try_again(aside.oversized, entries[1:2], [cleaned(entries[1])])) == [1]
    assert registry.unavailable


async def test_results_may_be_fewer_than_entries(aside: SetAside) -> None:
    entries = [entry(number) for number in range(3)]
    assert aside.hold_back(entries, [POSTPONED] * 2) == []
    assert numbers(aside.try_again(aside.postponed, entries[:2], [cleaned(entries[0])])) == [0]
    assert await aside.postponed.due() == [entries[1]]


async def test_a_key_keeps_its_order(aside: SetAside) -> None:
    first, other, second, third = entry(0, b"a"), entry(1, b"b"), entry(2, b"a"), entry(3, b"a")
    results: list[Result] = [POSTPONED, cleaned(other), cleaned(second)]
    assert numbers(aside.hold_back([first, other, second], results)) == [1]
    assert numbers(aside.hold_back([third], [OVERSIZED])) == []
    due = [first, second]
    assert numbers(aside.try_again(aside.postponed, due, [POSTPONED, cleaned(second)])) == []
    assert numbers(aside.try_again(aside.postponed, due, [cleaned(first), cleaned(second)])) == [0, 2]
    assert await aside.postponed.due() == [third]


async def test_a_key_changes_lanes_as_a_whole(aside: SetAside) -> None:
    entries = [entry(0, b"a"), entry(1, b"b"), entry(2, b"a")]
    aside.hold_back(entries, [OVERSIZED, OVERSIZED, cleaned(entries[2])])
    assert aside.try_again(aside.oversized, entries[:1], [POSTPONED]) == []
    assert await aside.postponed.due() == [entries[0], entries[2]]
    assert await aside.oversized.due() == [entries[1]]
    results: list[Result] = [OVERSIZED, cleaned(entries[2])]
    assert aside.try_again(aside.postponed, [entries[0], entries[2]], results) == []
    assert await aside.oversized.due() == [entries[1], entries[0]]


async def test_the_registry_is_there_once_a_message_that_missed_it_is_done_in_any_lane(
    aside: SetAside, registry: Dependency
) -> None:
    needs, other = entry(0), entry(1)
    aside.hold_back([needs, other], [POSTPONED, OVERSIZED])
    aside.try_again(aside.postponed, [needs], [OVERSIZED])
    aside.try_again(aside.oversized, [other], [cleaned(other)])
    assert registry.unavailable
    aside.try_again(aside.oversized, [needs], [cleaned(needs)])
    assert not registry.unavailable


async def test_a_lane_waits_for_longer_after_each_trial_in_vain(
    aside: SetAside, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[int] = []

    async def back_off(trial: int) -> None:
        pauses.append(trial)

    monkeypatch.setattr(module, "back_off", back_off)
    entries = [entry(0), entry(1)]
    aside.hold_back(entries, [POSTPONED] * 2)
    for _ in range(2):
        aside.try_again(aside.postponed, await aside.postponed.due(), [POSTPONED] * 2)
    aside.try_again(aside.postponed, await aside.postponed.due(), [cleaned(entries[0]), POSTPONED])
    await aside.postponed.due()
    assert pauses == [0, 1]


def test_messages_without_a_key_do_not_wait_for_each_other(aside: SetAside) -> None:
    entries = [entry(0), entry(1)]
    assert numbers(aside.hold_back(entries, [POSTPONED, cleaned(entries[1])])) == [1]


def test_what_is_given_up_is_not_waited_for(aside: SetAside, registry: Dependency) -> None:
    aside.hold_back([entry(0, b"a"), entry(1, b"b")], [POSTPONED, OVERSIZED])
    aside.clear()
    assert not registry.unavailable
    later = [entry(2, b"a"), entry(3, b"b")]
    assert numbers(aside.hold_back(later, [cleaned(each) for each in later])) == [2, 3]
