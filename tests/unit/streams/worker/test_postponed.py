"""What waits for the schema registry, and what does not."""

import pytest

from schemas.pages import Message
from streams.preparation.preparation import Postponed
from streams.worker.acknowledging import Entry
from streams.worker.assembly import CleanedMessage
from streams.worker.availability import Dependency
from streams.worker.intake import Arrival
from streams.worker.postponed import Cleaned, PostponedMessages, Result

POSTPONED = Postponed("unavailable")


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
def postponed(registry: Dependency) -> PostponedMessages:
    return PostponedMessages(registry, at_once=2)


async def test_only_the_postponed_wait_and_are_tried_in_their_order(
    postponed: PostponedMessages, registry: Dependency
) -> None:
    entries = [entry(number) for number in range(5)]
    results: list[Result] = [POSTPONED, cleaned(entries[1]), POSTPONED, POSTPONED, cleaned(entries[4])]
    assert numbers(postponed.hold_back(entries, results)) == [1, 4]
    assert registry.unavailable
    due = await postponed.due()
    assert due == [entries[0], entries[2]]
    assert numbers(postponed.try_again(due, [cleaned(entries[0]), POSTPONED])) == [0]
    assert await postponed.due() == [entries[2], entries[3]]
    assert registry.unavailable
    assert numbers(postponed.try_again(entries[2:4], [cleaned(each) for each in entries[2:4]])) == [2, 3]
    assert not registry.unavailable


async def test_of_huge_pages_the_first_may_be_answered_alone(postponed: PostponedMessages) -> None:
    entries = [entry(number) for number in range(3)]
    assert postponed.hold_back(entries, [POSTPONED] * 2) == []
    assert numbers(postponed.try_again(entries[:2], [cleaned(entries[0])])) == [0]
    assert await postponed.due() == [entries[1]]


async def test_a_key_keeps_its_order(postponed: PostponedMessages) -> None:
    first, other, second, third = entry(0, b"a"), entry(1, b"b"), entry(2, b"a"), entry(3, b"a")
    results: list[Result] = [POSTPONED, cleaned(other), cleaned(second)]
    assert numbers(postponed.hold_back([first, other, second], results)) == [1]
    assert numbers(postponed.hold_back([third], [cleaned(third)])) == []
    assert numbers(postponed.try_again([first, second], [POSTPONED, cleaned(second)])) == []
    assert numbers(postponed.try_again([first, second], [cleaned(first), cleaned(second)])) == [0, 2]
    assert await postponed.due() == [third]


def test_messages_without_a_key_do_not_wait_for_each_other(postponed: PostponedMessages) -> None:
    entries = [entry(0), entry(1)]
    assert numbers(postponed.hold_back(entries, [POSTPONED, cleaned(entries[1])])) == [1]


def test_what_is_given_up_is_not_waited_for(postponed: PostponedMessages, registry: Dependency) -> None:
    postponed.hold_back([entry(0, b"a")], [POSTPONED])
    postponed.clear()
    assert not registry.unavailable
    later = entry(1, b"a")
    assert numbers(postponed.hold_back([later], [cleaned(later)])) == [1]
