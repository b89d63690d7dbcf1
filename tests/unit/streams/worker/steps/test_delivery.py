"""Delivery through a producer that fails in the ways Kafka fails."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaTimeoutError, MessageSizeTooLargeError, NotLeaderForPartitionError
from aiokafka.structs import RecordMetadata

from dehusk.schemas.documents import origin_of
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.kafka.producer import serialized
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.settings import TopicSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.audit import PageOutcome, read_audit_record
from dehusk.streams.worker.input.membership import Membership, boot_time
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker.steps import delivery as module
from dehusk.streams.worker.steps.delivery import Delivery, ResultWriter
from tests.settling import settle

TOPICS = TopicSettings()
BROKEN = Broken(BrokenReason.MALFORMED_MESSAGE, "bad")


@dataclass
class Producer:
    """A producer that keeps what it took, and fails where the test says: at once, or when it is to tell."""

    largest: int = 1000
    fails_at_once: list[Exception] = field(default_factory=list)
    fails_later: list[Exception] = field(default_factory=list)
    taken: list[tuple[str, Record]] = field(default_factory=list)

    async def send(
        self,
        topic: str,
        value: object,
        key: bytes | None,
        partition: None,
        headers: list[tuple[str, bytes]],
    ) -> Awaitable[RecordMetadata]:
        assert value is not None or key is not None, "aiokafka's own rule"
        if self.fails_at_once:
            raise self.fails_at_once.pop(0)
        record = Record(key, cast("bytes | None", serialized(value)), tuple(headers))
        return asyncio.ensure_future(self._tell(topic, record))

    async def flush(self) -> None:
        """Nothing is kept."""

    async def _tell(self, topic: str, record: Record) -> RecordMetadata:
        if self.fails_later:
            raise self.fails_later.pop(0)
        size = len(record.value or b"") + len(record.key or b"") + sum(len(v) for _, v in record.headers)
        if size > self.largest:
            raise MessageSizeTooLargeError
        self.taken.append((topic, record))
        partition, offset = 0, sum(each == topic for each, _ in self.taken) - 1
        return RecordMetadata(topic, partition, TopicPartition(topic, partition), offset, None, 0, 0)


def cleaned(message: Message, *records: Record) -> CleanedMessage:
    return CleanedMessage(message, records=list(records))


def member() -> Membership:
    """Return a membership that lasts for the test."""
    held = Membership(session_seconds=3600)
    held.confirm(boot_time())
    return held


def delivery(producer: Producer, topics: TopicSettings = TOPICS) -> Delivery:
    return Delivery(producer, ResultWriter(topics, DropLog("k:1", "dead")), member())


async def test_records_arrive_in_order(message: Message) -> None:
    producer = Producer()
    records = [Record(b"%d" % number, b"document") for number in range(5)]
    await delivery(producer).deliver([cleaned(message, *records[:2]), cleaned(message, *records[2:])])
    assert producer.taken == [(TOPICS.output, record) for record in records]


UNSURE = [
    WrittenDocument(b"https://e.org/%d" % number, b"document", expected_f1=expected)
    for number, expected in enumerate([0.69, 0.7, None, 0.2])
]


async def test_unsure_documents_go_to_a_topic_of_their_own_too(message: Message) -> None:
    producer = Producer()
    topics = replace(TOPICS, unsure="unsure")
    await delivery(producer, topics).deliver([cleaned(message, *UNSURE, Record(b"gone", None))])
    assert [record.key for topic, record in producer.taken if topic == TOPICS.output][-1] == b"gone"
    assert [each for each in producer.taken if each[0] == "unsure"] == [
        ("unsure", Record(UNSURE[number].key, b"document")) for number in (0, 3)
    ]


async def test_without_that_topic_unsure_documents_are_written_once(message: Message) -> None:
    producer = Producer()
    await delivery(producer).deliver([cleaned(message, *UNSURE)])
    assert [topic for topic, _ in producer.taken] == [TOPICS.output] * len(UNSURE)


async def test_an_unsure_document_that_is_too_large_is_a_dead_letter_alone(
    message: Message,
) -> None:
    producer = Producer(largest=500)
    large = WrittenDocument(b"https://e.org/large", bytes(1000), expected_f1=0.1)
    batch = [cleaned(message, large)]
    await delivery(producer, replace(TOPICS, unsure="unsure")).deliver(batch)
    assert [topic for topic, _ in producer.taken] == [TOPICS.dead_letters]
    assert batch[0].failure is not None


@pytest.mark.parametrize("errors", [1, 9])
async def test_what_may_still_succeed_is_tried_until_it_does(message: Message, errors: int) -> None:
    failures = [KafkaTimeoutError(), NotLeaderForPartitionError()] * errors
    producer = Producer(fails_at_once=failures[:errors], fails_later=failures[errors:])
    records = [Record(b"1", b"document"), Record(b"2", b"document"), Record(b"3", None)]
    batch = [cleaned(message, *records)]
    trying = delivery(producer)
    await trying.deliver(batch)
    assert {record.key for _, record in producer.taken} == {b"1", b"2", b"3"}
    assert batch[0].failure is None
    assert trying.failure is None


async def test_what_followed_a_record_that_failed_is_sent_again_behind_it(message: Message) -> None:
    producer = Producer(fails_later=[KafkaTimeoutError()])
    older, newer, gone = Record(b"page", b"older"), Record(b"page", b"newer"), Record(b"page", None)
    await delivery(producer).deliver([cleaned(message, older), cleaned(message, newer, gone)])
    assert [record for _, record in producer.taken][-3:] == [older, newer, gone]


async def test_behind_a_record_that_failed_no_further_one_waits_for_room(message: Message) -> None:
    class Full(Producer):
        asked = 0

        async def send(self, *record: Any, **headers: Any) -> Awaitable[RecordMetadata]:
            self.asked += 1
            await settle()
            return await super().send(*record, **headers)

    producer = Full(fails_later=[KafkaTimeoutError()])
    records = [Record(b"%d" % number, b"d") for number in range(10)]
    await delivery(producer).deliver([cleaned(message, *records)])
    assert [record for _, record in producer.taken][-10:] == records
    assert producer.asked < 10 + 4


async def test_while_kafka_is_away_delivery_waits(message: Message) -> None:
    producer = Producer(fails_later=[KafkaTimeoutError() for _ in range(10_000)])
    waiting = delivery(producer)
    delivering = asyncio.create_task(waiting.deliver([cleaned(message, Record(b"1", b"d"))]))
    await settle()
    assert isinstance(waiting.failure, UnavailableError)
    assert not delivering.done()
    delivering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await delivering
    assert waiting.failure is None


async def test_what_is_given_up_is_no_failure_any_more() -> None:
    waiting = delivery(Producer(fails_later=[KafkaTimeoutError()] * 10_000))
    sending = asyncio.create_task(waiting.send("revisits", [Record(b"1", b"position")]))
    await settle()
    assert isinstance(waiting.failure, UnavailableError)
    sending.cancel()
    await asyncio.wait([sending])
    assert waiting.failure is None


async def test_a_document_that_is_too_large_becomes_a_dead_letter(message: Message) -> None:
    producer = Producer(largest=2000)
    large = WrittenDocument(b"https://e.org/large", bytes(3000), is_empty=True)
    small = WrittenDocument(b"https://e.org/small", b"document")
    batch = [cleaned(message, large, small)]
    await delivery(producer).deliver(batch)
    (_, document), (topic, letter) = producer.taken
    assert document == Record(small.key, small.value)
    assert topic == TOPICS.dead_letters
    assert (letter.key, letter.value) == (message.key, message.value)
    assert batch[0].records == [small]
    assert [each.is_empty for each in batch[0].documents] == [False]
    assert batch[0].failure is not None
    assert batch[0].failure.broken.reason is BrokenReason.DOCUMENT_TOO_LARGE
    assert batch[0].failure.broken.url == "https://e.org/large"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (Message(b"k", bytes(2000), (("h", b"v"),)), (b"k", None, True)),
        (Message(None, bytes(2000), (("h", b"v"),)), (None, None, True)),
        (Message(bytes(2000), b"v", (("h", b"v"),)), (None, None, False)),
        (Message(b"k", b"v", (("h", bytes(2000)),)), (None, None, False)),
        (Message(None, None), (None, None, False)),
    ],
    ids=["value", "value without key", "key", "header", "nothing at all"],
)
async def test_a_dead_letter_shrinks_until_the_topic_takes_it(
    message: Message, kept: tuple[bytes | None, bytes | None, bool]
) -> None:
    producer, failed = Producer(), CleanedMessage(message)
    failed.fail("prepare", BROKEN)
    await delivery(producer).deliver([failed])
    ((topic, letter),) = producer.taken
    assert topic == TOPICS.dead_letters
    headers = dict(letter.headers)
    assert (letter.key, letter.value, "h" in headers) == kept
    assert headers["dehusk.reason"] == b"malformed-message"
    assert {"__connect.errors.topic", "__connect.errors.partition", "__connect.errors.offset"} <= set(headers)


async def test_a_topic_that_takes_nothing_is_no_reason_to_lose_a_message(
    message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = []

    async def back_off(_: int) -> None:
        failures.append(waiting.failure)
        await asyncio.sleep(0.01)

    monkeypatch.setattr(module, "back_off", back_off)
    failed = CleanedMessage(message)
    failed.fail("prepare", BROKEN)
    producer = Producer(largest=10)
    waiting = delivery(producer)
    delivering = asyncio.create_task(waiting.deliver([failed]))
    await settle()
    assert isinstance(failures[-1], ConfigurationError)
    assert "dead-letters" in str(failures[-1])
    assert not delivering.done()
    producer.largest = 1000
    await delivering
    assert [topic for topic, _ in producer.taken] == [TOPICS.dead_letters]
    assert waiting.failure is None


async def test_the_log_tells_of_a_dead_letter_that_was_delivered(
    message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    failed = CleanedMessage(message)
    failed.fail("prepare", BROKEN)
    await delivery(Producer()).deliver([failed])
    assert "dead letter: malformed-message: bad (raw/3/41)" in caplog.text


AUDITED = replace(TOPICS, audit="audit")


async def test_what_became_of_each_message_is_told_behind_its_documents(message: Message) -> None:
    producer = Producer()
    skipped = CleanedMessage(message, skipped=[Skipped(SkipReason.NOT_HTML, "a PDF", "https://e.org/b")])
    failed = CleanedMessage(message)
    failed.fail("label", BROKEN)
    batch = [cleaned(message, WrittenDocument(b"https://e.org/a", b"document")), skipped, failed]
    await delivery(producer, AUDITED).deliver(batch)
    assert [topic for topic, _ in producer.taken] == [TOPICS.output, TOPICS.dead_letters, *["audit"] * 3]
    told = [read_audit_record(Message(None, record.value)) for _, record in producer.taken[-3:]]
    assert [page.outcome for record in told if record for page in record.pages] == [
        PageOutcome.DOCUMENT,
        PageOutcome.SKIPPED,
        PageOutcome.DEAD_LETTER,
    ]


async def test_an_audit_record_that_its_topic_refuses_holds_nothing_up(
    message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    producer = Producer(largest=100)
    await delivery(producer, AUDITED).deliver([cleaned(message, Record(b"1", b"d"))])
    assert [topic for topic, _ in producer.taken] == [TOPICS.output]
    assert "topic audit refuses the audit record of " in caplog.text


async def test_of_the_audit_records_that_a_topic_refuses_the_first_is_logged(
    message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    refusing = delivery(Producer(largest=100), AUDITED)
    later = [replace(message, offset=message.offset + 1 + number) for number in range(3)]
    await refusing.deliver([cleaned(each, Record(b"1", b"d")) for each in (message, later[0])])
    await refusing.deliver([cleaned(each, Record(b"1", b"d")) for each in later[1:]])
    (logged,) = [each.getMessage() for each in caplog.records if "refuses" in each.getMessage()]
    assert f"the audit record of {origin_of(message)} for its size" in logged


async def test_nothing_is_sent_until_the_membership_is_confirmed(message: Message) -> None:
    producer, membership = Producer(), Membership(session_seconds=3600)
    waiting = Delivery(producer, ResultWriter(TOPICS, DropLog("k:1", "dead")), membership)
    delivering = asyncio.create_task(waiting.deliver([cleaned(message, Record(b"1", b"d"))]))
    await settle()
    assert producer.taken == []
    membership.confirm(boot_time())
    await delivering
    assert len(producer.taken) == 1


async def test_nothing_is_sent_of_what_is_given_up_until_it_is_renewed(message: Message) -> None:
    producer, membership = Producer(), member()
    waiting = Delivery(producer, ResultWriter(TOPICS, DropLog("k:1", "dead")), membership)
    waiting.give_up()
    assert not membership.is_held
    await waiting.renew()
    await waiting.deliver([cleaned(message, Record(b"1", b"d"))])
    assert len(producer.taken) == 1
