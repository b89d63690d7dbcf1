"""Transactions of partitions, whose producers fail in the ways Kafka's do."""

import asyncio
from collections.abc import Awaitable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    ProducerFenced,
    TransactionalIdAuthorizationFailed,
    UnknownError,
)
from aiokafka.producer.transaction_manager import TransactionResult
from aiokafka.structs import RecordMetadata

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.kafka.hanging import GroupOffsets
from dehusk.streams.kafka.producer import UNNAMED, serialized
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.input.membership import Membership, boot_time
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker.steps import transactions
from dehusk.streams.worker.steps.delivery import ResultWriter
from dehusk.streams.worker.steps.transactions import TransactionalDelivery
from tests.settling import settle

FIRST, SECOND = TopicPartition("raw", 0), TopicPartition("raw", 1)


class Kafka:
    """Transactions by their ids, what they committed, and the errors that come next."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.committed: list[tuple[str, list[bytes | None], Mapping[TopicPartition, int]]] = []
        self.offsets: dict[TopicPartition, int] = {}
        self.largest = 1000
        self.written = 0
        """Records written, also in transactions that are aborted: their offsets are taken."""
        self.start_errors: list[Exception] = []
        self.starts_in = 0.0
        """Seconds that the next start takes."""
        self.knows_committed = asyncio.Event()
        """Set while the group tells its offsets."""
        self.knows_committed.set()
        self.hangs: TransactionResult | None = None
        """Result of the transaction that hangs, as long as no producer was started after it."""
        self.tells_hanging = asyncio.Event()
        self.tells_hanging.set()
        self.ended: list[TransactionResult] = []
        self.send_errors: list[Exception] = []
        """Errors that are raised where a record waits for room; the transaction has failed then."""
        self.commit_errors: list[tuple[Exception, bool]] = []
        """Errors of commits, and whether they are committed nevertheless."""
        self.commits_in = 0.0
        """Seconds that the next commit takes."""
        self.may_close = asyncio.Event()
        self.may_close.set()
        self.closed = 0


class Offsets:
    """The offsets of the group, and the transaction that hangs."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    async def committed(self, partition: TopicPartition) -> int:
        await self._kafka.knows_committed.wait()
        if self._kafka.hangs is not None:
            raise UnavailableError("the offset is about to be committed")
        return self._kafka.offsets.get(partition, -1)

    async def hanging(self, _partition: TopicPartition, name: str) -> TransactionResult | None:
        await self._kafka.tells_hanging.wait()
        return None if name in self._kafka.started else self._kafka.hangs

    async def end_again(self, _producer: object, result: TransactionResult) -> None:
        self._kafka.ended.append(result)
        self._kafka.hangs = None


class Producer:
    """A producer with one transaction at a time."""

    def __init__(self, kafka: Kafka, transactional_id: str) -> None:
        self._kafka = kafka
        self._id = transactional_id
        self.client = SimpleNamespace(send=None, close=self._close)
        self._sender = SimpleNamespace(sender_task=None)
        self._txn_manager = SimpleNamespace(
            is_fatal_error=lambda: False,
            wait_for_transaction_end=lambda: None,
            is_in_transaction=lambda: self._is_in_transaction,
        )
        self._is_in_transaction = False
        self._message_accumulator = SimpleNamespace(_batches={})
        self._keys: list[bytes | None] = []
        self._offsets: Mapping[TopicPartition, int] = {}

    async def start(self) -> None:
        if self._kafka.start_errors:
            raise self._kafka.start_errors.pop(0)
        seconds, self._kafka.starts_in = self._kafka.starts_in, 0.0
        await asyncio.sleep(seconds)
        self._kafka.started.append(self._id)

    async def begin_transaction(self) -> None:
        self._keys = []
        self._is_in_transaction = True

    async def send(self, topic, value, key, partition, headers) -> Awaitable[RecordMetadata]:
        if self._kafka.send_errors:
            self._is_in_transaction = False
            raise self._kafka.send_errors.pop(0)
        return asyncio.ensure_future(self._take(topic, value, key))

    async def _take(self, topic: str, value: bytes, key: bytes | None) -> RecordMetadata:
        if len(cast("bytes", serialized(value)) or b"") > self._kafka.largest:
            raise MessageSizeTooLargeError
        self._keys.append(key)
        self._kafka.written += 1
        return RecordMetadata(topic, 0, TopicPartition(topic, 0), self._kafka.written, None, 0, 0)

    async def send_offsets_to_transaction(self, offsets: Mapping[TopicPartition, int], group: str) -> None:
        assert group == "g"
        self._offsets = offsets

    async def commit_transaction(self) -> None:
        seconds, self._kafka.commits_in = self._kafka.commits_in, 0.0
        await asyncio.sleep(seconds)
        error, is_committed = self._kafka.commit_errors.pop(0) if self._kafka.commit_errors else (None, True)
        if is_committed:
            self._kafka.committed.append((self._id, self._keys, self._offsets))
            self._kafka.offsets.update(self._offsets)
        if error is not None:
            raise error

    async def _close(self) -> None:
        await self._kafka.may_close.wait()
        self._kafka.closed += 1

    async def stop(self) -> None:
        """Close it."""


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    monkeypatch.setattr(transactions, "back_off", lambda _attempt: asyncio.sleep(0))
    return Kafka()


@pytest.fixture
def membership() -> Membership:
    held = Membership(session_seconds=3600)
    held.confirm(boot_time())
    return held


@pytest.fixture
async def delivery(kafka: Kafka, membership: Membership) -> TransactionalDelivery:
    return TransactionalDelivery(
        lambda name: Producer(kafka, name),
        "g",
        ResultWriter(TopicSettings(), DropLog("k:1", "dead")),
        membership,
        cast("GroupOffsets", Offsets(kafka)),
        KafkaSettings("k:1"),
    )


def cleaned(partition: int, offset: int, size: int = 1) -> CleanedMessage:
    message = Message(b"key", b"value", topic="raw", partition=partition, offset=offset)
    return CleanedMessage(message, records=[WrittenDocument(b"%d" % offset, bytes(size))])


async def test_each_partition_has_a_transaction_with_the_offset_after_its_last_message(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    await delivery.deliver([cleaned(0, 4), cleaned(1, 9), cleaned(0, 5)])
    assert sorted(kafka.started) == ["g/raw/0", "g/raw/1"]
    assert sorted(kafka.committed) == [
        ("g/raw/0", [b"4", b"5"], {FIRST: 6}),
        ("g/raw/1", [b"9"], {SECOND: 10}),
    ]


async def test_unsure_documents_are_in_the_transaction_of_their_page(
    kafka: Kafka, membership: Membership
) -> None:
    topics = TopicSettings(unsure="unsure")
    writer = ResultWriter(topics, DropLog("k:1", "dead"), unsure_below=0.5)
    create = partial(Producer, kafka)
    delivery = TransactionalDelivery(
        create, "g", writer, membership, cast("GroupOffsets", Offsets(kafka)), KafkaSettings("k:1")
    )
    unsure = WrittenDocument(b"4", b"d", expected_f1=0.4)
    await delivery.deliver([CleanedMessage(cleaned(0, 4).message, records=[unsure])])
    assert kafka.committed == [("g/raw/0", [b"4", b"4"], {FIRST: 5})]


@pytest.mark.parametrize("error", [ProducerFenced(), KafkaTimeoutError(), KafkaConnectionError()])
async def test_a_transaction_that_fails_is_repeated_by_a_new_producer(
    delivery: TransactionalDelivery, kafka: Kafka, error: Exception
) -> None:
    kafka.commit_errors = [(error, False)]
    await delivery.deliver([cleaned(0, 4)])
    assert kafka.started == ["g/raw/0", "g/raw/0"]
    assert kafka.committed == [("g/raw/0", [b"4"], {FIRST: 5})]
    assert delivery.failure is None


async def test_a_transaction_that_fails_while_a_record_waits_for_room_is_repeated(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    kafka.send_errors = [AssertionError()]
    await delivery.deliver([cleaned(0, 4)])
    assert kafka.committed == [("g/raw/0", [b"4"], {FIRST: 5})]


async def test_a_transaction_that_was_committed_though_it_failed_is_not_repeated(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    kafka.commit_errors = [(ProducerFenced(), True)]
    await delivery.deliver([cleaned(0, 4)])
    assert kafka.committed == [("g/raw/0", [b"4"], {FIRST: 5})]


async def test_what_a_former_owner_has_committed_is_not_delivered_again(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    kafka.offsets[FIRST] = 5
    await delivery.deliver([cleaned(0, 4), cleaned(0, 5)])
    assert kafka.committed == [("g/raw/0", [b"5"], {FIRST: 6})]


async def test_a_worker_that_is_no_member_any_more_repeats_nothing(
    delivery: TransactionalDelivery, kafka: Kafka, membership: Membership
) -> None:
    membership.lose()
    delivering = asyncio.create_task(delivery.deliver([cleaned(0, 4)]))
    await asyncio.sleep(0.1)
    assert not delivering.done()
    delivering.cancel()
    await asyncio.wait([delivering])
    assert (kafka.started, kafka.committed) == ([], [])


async def test_a_document_that_is_too_large_becomes_a_dead_letter_in_the_next_transaction(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    batch = [cleaned(0, 4), cleaned(0, 5, size=2000)]
    await delivery.deliver(batch)
    assert kafka.committed == [("g/raw/0", [b"4", b"key"], {FIRST: 6})]
    assert batch[1].failure is not None
    assert batch[1].failure.broken.reason is BrokenReason.DOCUMENT_TOO_LARGE


async def test_an_audit_record_that_is_too_large_is_left_out_of_the_next_transaction(
    kafka: Kafka, membership: Membership, caplog: pytest.LogCaptureFixture
) -> None:
    writer = ResultWriter(TopicSettings(audit="audit"), DropLog("k:1", "dead"))
    delivery = TransactionalDelivery(
        partial(Producer, kafka),
        "g",
        writer,
        membership,
        cast("GroupOffsets", Offsets(kafka)),
        KafkaSettings("k:1"),
    )
    large = cleaned(0, 4)
    large.records = [WrittenDocument(b"http://x.test/" + bytes(2000).hex().encode(), b"d")]
    async with asyncio.timeout(10):
        await delivery.deliver([large, cleaned(0, 5)])
    ((_, keys, offsets),) = kafka.committed
    assert keys == [large.records[0].key, b"5", b"5"]
    assert offsets == {FIRST: 6}
    assert "topic audit refuses the audit record of raw/0/4 for its size" in caplog.text


async def test_a_producer_that_does_not_start_is_started_again(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    kafka.start_errors = [KafkaConnectionError(), KafkaConnectionError()]
    await delivery.deliver([cleaned(0, 4)])
    assert (kafka.started, kafka.closed) == (["g/raw/0"], 2)


async def test_an_error_that_aiokafka_has_no_name_for_leads_to_the_log_of_the_brokers(
    delivery: TransactionalDelivery, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = []

    async def back_off(_: int) -> None:
        failures.append(str(delivery.failure))

    monkeypatch.setattr(transactions, "back_off", back_off)
    kafka.commit_errors = [(UnknownError(), False)]
    await delivery.deliver([cleaned(0, 4)])
    assert failures == [f"a transaction failed: {UNNAMED}"]


@pytest.mark.parametrize("step", ["start", "commit"])
async def test_a_right_that_is_missing_is_named(
    delivery: TransactionalDelivery, kafka: Kafka, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = []

    async def back_off(_: int) -> None:
        failures.append(delivery.failure)

    monkeypatch.setattr(transactions, "back_off", back_off)
    denied = TransactionalIdAuthorizationFailed()
    if step == "commit":
        kafka.commit_errors = [(denied, False)]
    else:
        kafka.start_errors = [denied]
    await delivery.deliver([cleaned(0, 4)])
    assert kafka.committed == [("g/raw/0", [b"4"], {FIRST: 5})]
    (failure,) = failures
    assert isinstance(failure, ConfigurationError)
    assert "User:ANONYMOUS lacks Write on transactional-id g/raw/; an administrator grants" in str(failure)
    assert delivery.failure is None


async def test_nothing_is_committed_of_what_is_given_up(
    delivery: TransactionalDelivery, kafka: Kafka, membership: Membership
) -> None:
    await delivery.deliver([cleaned(0, 3), cleaned(1, 3)])
    delivery.give_up()
    assert membership.is_given_up
    await delivery.renew()
    assert (kafka.closed, membership.is_held) == (2, True)
    await delivery.deliver([cleaned(0, 4)])
    await delivery.close()
    assert (len(kafka.committed), kafka.closed) == (3, 3)


async def test_messages_without_results_commit_their_offsets(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    message = Message(b"key", b"value", topic="raw", partition=1, offset=7)
    await delivery.deliver([CleanedMessage(message, records=[Record(b"gone", None)]), cleaned(1, 8)])
    await delivery.deliver([CleanedMessage(Message(None, b"", topic="raw", partition=1, offset=9))])
    assert [offsets for _, _, offsets in kafka.committed] == [{SECOND: 9}, {SECOND: 10}]


async def test_a_partition_that_is_given_back_while_its_offset_is_read_is_started_again(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    kafka.knows_committed.clear()
    delivering = asyncio.create_task(delivery.deliver([cleaned(0, 4)]))
    await settle()
    delivery.release()
    kafka.knows_committed.set()
    await delivering
    assert kafka.started == ["g/raw/0", "g/raw/0"]
    assert kafka.committed == [("g/raw/0", [b"4"], {FIRST: 5})]


async def test_a_producer_is_started_once_those_that_were_given_back_have_ended(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    await delivery.deliver([cleaned(0, 4), cleaned(1, 4)])
    kafka.may_close.clear()
    delivery.release()
    delivering = asyncio.create_task(delivery.deliver([cleaned(0, 5)]))
    await settle()
    assert len(kafka.started) == 2
    kafka.may_close.set()
    await delivering
    assert (len(kafka.started), kafka.closed) == (3, 2)
    assert not delivery._closing  # a worker that is never given up would keep an end for each rebalance


async def test_nothing_is_committed_of_a_start_that_is_given_up(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    kafka.knows_committed.clear()
    delivering = asyncio.create_task(delivery.deliver([cleaned(0, 4)]))
    await settle()
    delivery.give_up()
    kafka.knows_committed.set()
    await settle()
    assert not delivering.done()
    delivering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await delivering
    assert kafka.committed == []


@pytest.mark.parametrize(
    ("slow", "reason"),
    [("starts_in", "no transaction could be begun"), ("commits_in", "a transaction was not committed")],
)
async def test_what_takes_too_long_is_named_and_begun_anew(
    delivery: TransactionalDelivery, kafka: Kafka, slow: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = []

    async def back_off(_: int) -> None:
        failures.append(delivery.failure)

    monkeypatch.setattr(transactions, "back_off", back_off)
    monkeypatch.setattr(transactions, "START_SECONDS", 0.5)  # in time the second time, also on a busy machine
    monkeypatch.setattr(transactions, "COMMIT_SECONDS", 0.5)
    setattr(kafka, slow, 600.0)
    await delivery.deliver([cleaned(0, 4)])
    assert kafka.committed == [("g/raw/0", [b"4"], {FIRST: 5})]
    (failure,) = failures
    assert isinstance(failure, UnavailableError)
    assert reason in str(failure)
    assert "check that the topics have min.insync.replicas" in str(failure)


async def test_producers_are_closed_also_if_they_are_given_up_twice(
    delivery: TransactionalDelivery, kafka: Kafka, membership: Membership
) -> None:
    await delivery.deliver([cleaned(0, 3), cleaned(1, 3)])
    kafka.may_close.clear()
    delivery.give_up()
    renewing = asyncio.create_task(delivery.renew())
    await settle()
    renewing.cancel()
    await asyncio.wait([renewing])
    delivery.give_up()
    assert (kafka.closed, membership.is_given_up) == (0, True)
    kafka.may_close.set()
    await delivery.renew()
    assert (kafka.closed, membership.is_given_up) == (2, False)


async def test_what_was_delivered_already_is_said(
    delivery: TransactionalDelivery, kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    kafka.offsets[FIRST] = 5
    await delivery.deliver([cleaned(0, 4), cleaned(0, 5)])
    assert "passed over 1 message of raw-0, delivered up to offset 4" in caplog.text


@pytest.mark.parametrize("result", TransactionResult)
async def test_a_transaction_that_hangs_is_ended_as_it_was_before_anything_is_delivered(
    delivery: TransactionalDelivery, kafka: Kafka, result: TransactionResult
) -> None:
    kafka.hangs = result
    kafka.offsets[FIRST] = 5
    await delivery.deliver([cleaned(0, 4), cleaned(0, 5)])
    assert (kafka.ended, kafka.started) == ([result], ["g/raw/0"])
    assert kafka.committed == [("g/raw/0", [b"5"], {FIRST: 6})]


async def test_a_partition_that_is_given_back_meanwhile_is_not_fenced(
    delivery: TransactionalDelivery, kafka: Kafka
) -> None:
    kafka.tells_hanging.clear()
    delivering = asyncio.create_task(delivery.deliver([cleaned(0, 4)]))
    await settle()
    delivery.give_up()
    kafka.tells_hanging.set()
    await settle()
    assert (kafka.started, delivering.done()) == ([], False)
    delivering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await delivering
