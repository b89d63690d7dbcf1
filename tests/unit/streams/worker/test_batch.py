"""The way of a batch through the steps."""

from collections.abc import Sequence
from dataclasses import replace

import orjson
from prometheus_client import CollectorRegistry

from inference.cleaning import PreparedPage
from inference.rules import RulesLabeler
from schemas.outcomes import Skipped, SkipReason
from schemas.pages import Message
from streams.frequencies.memory import MemoryFrequencyStore
from streams.preparation.preparation import Outcomes, Postponed
from streams.worker.assembly import Assembler
from streams.worker.availability import Dependency
from streams.worker.batch import BatchCleaner
from streams.worker.labeling import DegradingLabeling, Labeling, WaitingLabeling
from streams.worker.metrics import Metrics
from streams.worker.observation import Observer


class Pool:
    """Preparation that answers what the test says, message by message, until it knows no more."""

    def __init__(self, *answers: Outcomes) -> None:
        self.answers = list(answers)

    async def prepare(self, messages: Sequence[Message], room: float = 0) -> list[Outcomes]:
        return [self.answers.pop(0) for _ in messages[: len(self.answers)]]


def cleaner(pool: Pool, *, redis: Dependency | None = None, labeling: Labeling | None = None) -> BatchCleaner:
    return BatchCleaner(
        pool,
        Observer(MemoryFrequencyStore(), redis or Dependency("redis", "")),
        labeling or WaitingLabeling(RulesLabeler(), Dependency("triton", "")),
        Assembler("document", with_blocks=False),
        Metrics(CollectorRegistry(), ()),
    )


async def test_messages_keep_their_order(message: Message, page: PreparedPage) -> None:
    skipped = Skipped(SkipReason.NO_BODY, "")
    cleaned = await cleaner(Pool((skipped,), (page,), (skipped,))).clean([message] * 3)
    assert [each.documents for each in cleaned] == [0, 1, 0]


async def test_a_batch_of_huge_pages_is_cleaned_as_far_as_it_was_prepared(
    message: Message, page: PreparedPage
) -> None:
    second = replace(message, offset=message.offset + 1)
    cleaned = await cleaner(Pool((page,), (page,))).clean([message, second, message])
    assert [each.message for each in cleaned] == [message, second]
    assert [each.documents for each in cleaned] == [1, 1]


async def test_a_batch_without_pages_asks_nobody(message: Message) -> None:
    (cleaned,) = await cleaner(Pool((Skipped(SkipReason.NO_BODY, ""),))).clean([message])
    assert len(cleaned.skipped) == 1


async def test_what_was_missing_is_said(message: Message, page: PreparedPage) -> None:
    redis, triton = Dependency("redis", ""), Dependency("triton", "")
    redis.missed(OSError())
    triton.missed(OSError())
    labeling = DegradingLabeling(RulesLabeler(), RulesLabeler(), triton)
    (cleaned,) = await cleaner(Pool((page,)), redis=redis, labeling=labeling).clean([message])
    document = orjson.loads(cleaned.records[0].value or b"")
    assert document["degraded"] == ["frequencies", "model"]
    assert document["template"] is None


async def test_a_postponed_message_does_not_hold_up_its_neighbors(
    message: Message, page: PreparedPage
) -> None:
    postponed = Postponed("unavailable")
    first, second, third = await cleaner(Pool((page,), postponed, (page,))).clean([message] * 3)
    assert second is postponed
    assert (first.documents, third.documents) == (1, 1)


async def test_nothing_is_cleaned_of_a_batch_that_is_postponed(message: Message) -> None:
    postponed = Postponed("unavailable")
    assert await cleaner(Pool(postponed, postponed)).clean([message] * 2) == [postponed] * 2
