"""Faust's consumer, where a partition goes or is made again while it is committed and read."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock
from uuid import UUID

import faust.streams
import pytest
from aiokafka.errors import (
    CommitFailedError,
    KafkaConnectionError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from aiokafka.structs import OffsetAndMetadata, TopicPartition
from aiokafka.util import commit_structure_validate
from faust.events import Event
from faust.tables.recovery import RebalanceAgain
from faust.types import TP, Message
from faust.types.tuples import ConsumerMessage

from dehusk.streams.kafka import consumer as consumer_module
from dehusk.streams.kafka.topic_ids import Identity
from dehusk.streams.settings import TopicSettings
from dehusk.streams.worker.input import made_again
from dehusk.streams.worker.input.app import FaustApp, agent
from dehusk.streams.worker.input.consumer import Consumer
from dehusk.streams.worker.input.intake import Arrival
from dehusk.streams.worker_settings import WorkerSettings
from tests.unit.streams.worker.input.apps import hooks_of, idle_app

FIRST, SECOND = TP("raw", 0), TP("raw", 1)


@dataclass(eq=False)
class State:
    """aiokafka's state of an assigned partition."""

    positions: dict[TopicPartition, int]
    partition: TopicPartition

    @property
    def has_valid_position(self) -> bool:
        return self.partition in self.positions

    @property
    def position(self) -> int:
        return self.positions[self.partition]


class Assignment(dict[TopicPartition, State]):
    """aiokafka's assignment."""

    def __init__(self, states: Mapping[TopicPartition, State]) -> None:
        super().__init__(states)
        self.unassign_future = asyncio.get_running_loop().create_future()

    @property
    def active(self) -> bool:
        return not self.unassign_future.done()

    tps = property(dict.keys)
    state_value = dict.__getitem__


class Kafka:
    """aiokafka's consumer, as far as it is asked here."""

    def __init__(self) -> None:
        self.topics = {"raw"}
        self.beginnings = {TopicPartition("raw", 0): 0}
        self.ends = {TopicPartition("raw", 0): 1000}
        self.positions = {TopicPartition("raw", 0): 100}
        self.offsets: dict[TopicPartition, int] = {}
        """Offsets that are committed when partitions are assigned."""
        self.commits: list[Mapping[TopicPartition, OffsetAndMetadata]] = []
        self.assign(TopicPartition("raw", 0))

    def assign(self, *partitions: TopicPartition) -> None:
        """Assign partitions; of those that this worker had, the positions stay."""
        if hasattr(self, "_subscription"):
            self._subscription.subscription.assignment.unassign_future.set_result(None)
        assignment = Assignment({each: State(self.positions, each) for each in partitions})
        self._subscription = SimpleNamespace(subscription=SimpleNamespace(assignment=assignment))

    def assignment(self) -> set[TopicPartition]:
        return set(self._subscription.subscription.assignment)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return {0, 1} if topic in self.topics else None

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.commits.append(commit_structure_validate(offsets))

    async def beginning_offsets(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {each: self.beginnings[each] for each in partitions}

    async def end_offsets(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {each: self.ends[each] for each in partitions}

    async def committed(self, partition: TopicPartition) -> int | None:
        return self.offsets.get(partition)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition] = offset

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self.positions.update({each: self.beginnings[each] for each in partitions or self.assignment()})


def committed(kafka: Kafka) -> list[int]:
    """Return the offsets that were committed, in order."""
    return [offset.offset for each in kafka.commits for offset in each.values()]


@pytest.fixture
def removed() -> list[int]:
    """Return the removals that the app was told of."""
    return []


@pytest.fixture
async def app(removed: list[int]) -> AsyncIterator[FaustApp]:
    made = idle_app(WorkerSettings(topics=TopicSettings(input="raw")), hooks_of(removed.append))
    yield made
    made.consumer._thread.thread_loop.close()


@pytest.fixture
async def kafka() -> Kafka:
    return Kafka()


async def called(function, *args, **options):
    return await function(*args, **options)


@pytest.fixture
def consumer(app: FaustApp, kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> Consumer:
    """The app's consumer, whose thread is this one."""
    consumer = app.consumer
    consumer._thread._consumer = kafka
    monkeypatch.setattr(consumer._thread, "call_thread", called)
    monkeypatch.setattr(consumer._thread, "ask", lambda request: request(kafka))
    monkeypatch.setattr(app.topics, "acks_enabled_for", lambda topic: topic == "raw")
    return consumer


async def test_nothing_is_committed_of_partitions_that_were_taken_away_meanwhile(
    consumer: Consumer, kafka: Kafka
) -> None:
    assert not await consumer._commit({SECOND: 7})
    assert consumer._thread.crash_reason is None
    assert await consumer._commit({FIRST: 5, SECOND: 7})
    assert kafka.commits == [{TopicPartition("raw", 0): OffsetAndMetadata(5, "")}]


@pytest.mark.parametrize("partition", [FIRST, TP("raw", 2)], ids=["with its topic", "alone"])
async def test_a_commit_does_not_wait_for_a_partition_that_has_gone(
    consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch, partition: TP
) -> None:
    async def try_for_ever(offsets: object) -> None:
        if partition == FIRST:
            kafka.topics.clear()
        await asyncio.sleep(600)

    monkeypatch.setattr(consumer_module, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(kafka, "commit", try_for_ever)
    kafka.assign(TopicPartition(*partition))
    async with asyncio.timeout(30):
        assert not await consumer._commit({partition: 5})


async def test_a_commit_ends_with_the_assignment_that_it_is_of(
    consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, is_back, commit = asyncio.Event(), asyncio.Event(), kafka.commit

    async def try_again(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        begun.set()
        await is_back.wait()
        await commit(offsets)

    monkeypatch.setattr(consumer_module, "CHECK_SECONDS", 3600.0)
    monkeypatch.setattr(kafka, "commit", try_again)
    committing = asyncio.create_task(consumer._commit({FIRST: 5}))
    await begun.wait()
    kafka.assign(TopicPartition(*FIRST))
    async with asyncio.timeout(30):
        assert not await committing
    is_back.set()
    await asyncio.sleep(0.01)
    assert not kafka.commits


@pytest.fixture
def fetch(consumer: Consumer, monkeypatch: pytest.MonkeyPatch):
    """Reads once, and meets an error."""

    async def failing(error: Exception) -> None:
        monkeypatch.setattr(consumer._thread, "getmany", AsyncMock(side_effect=error))
        assert await consumer._getmany({FIRST}, 1.0) == {}

    return failing


@pytest.fixture
def returning(consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch):
    """Return what reads once and gets messages of these offsets; up to the position, no more follow."""
    monkeypatch.setattr(consumer, "pass_seconds", 0.0)

    async def fetching(*offsets: int, position: int) -> None:
        records = {FIRST: [SimpleNamespace(offset=each) for each in offsets]} if offsets else {}
        monkeypatch.setattr(consumer._thread, "getmany", AsyncMock(return_value=records))
        assert await consumer._getmany({FIRST}, 1.0) == records
        kafka.positions[TopicPartition("raw", 0)] = position

    return fetching


@pytest.mark.parametrize("is_transactional", [False, True])
async def test_offsets_without_a_message_are_committed_once_all_before_them_are(
    returning, consumer: Consumer, kafka: Kafka, is_transactional
) -> None:
    consumer.transport.hooks = replace(consumer.transport.hooks, is_transactional=is_transactional)
    await returning(99, 100, position=101)
    await returning(position=120)
    consumer._committed_offset[FIRST] = 100
    await returning(position=120)
    assert not kafka.commits, "message 100 is outstanding"
    consumer._committed_offset[FIRST] = 101
    await returning(position=120)
    assert committed(kafka) == [120]
    await returning(130, position=131)
    await returning(position=131)
    assert committed(kafka) == [120], "message 130 is outstanding"


@pytest.mark.parametrize("offset", [0, 90])
async def test_offsets_without_a_message_behind_a_seek_are_committed(
    returning, consumer: Consumer, kafka: Kafka, offset: int
) -> None:
    kafka.offsets[TopicPartition("raw", 0)] = offset
    await consumer.perform_seek()
    await returning(position=95)
    assert not kafka.commits
    await returning(position=95)
    await returning(position=95)
    assert committed(kafka) == [95]


async def test_reading_goes_on_though_offsets_without_a_message_cannot_be_committed(
    returning, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    await returning(99, position=120)
    consumer._committed_offset[FIRST] = 100
    with monkeypatch.context() as patch:
        patch.setattr(kafka, "commit", AsyncMock(side_effect=KafkaConnectionError("gone")))
        await returning(position=120)
    assert not kafka.commits
    await returning(position=120)
    assert committed(kafka) == [120]


@pytest.fixture
async def away(consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch):
    """A coordinator that is away, until it is set, while offsets without a message are committed.

    The second partition has them; `read` notes the partitions that are read.
    """
    second, back, read = TopicPartition("raw", 1), asyncio.Event(), []
    commit = kafka.commit

    async def waiting(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        await back.wait()
        await commit(offsets)

    async def getmany(active: set[TP], _: float) -> Mapping[TP, list[SimpleNamespace]]:
        read.append(set(active))
        return {each: [SimpleNamespace(offset=50)] for each in active}

    kafka.assign(TopicPartition("raw", 0), second)
    kafka.positions[second] = 60
    consumer._committed_offset[SECOND] = consumer._fetched[SECOND] = 51
    monkeypatch.setattr(consumer, "pass_patience_seconds", 0.001)
    monkeypatch.setattr(kafka, "commit", waiting)
    monkeypatch.setattr(consumer._thread, "getmany", getmany)
    yield SimpleNamespace(back=back, read=read)
    consumer._stop_passing()


async def until_committed(consumer: Consumer) -> None:
    """Wait for the commit of offsets without a message."""
    async with asyncio.timeout(30):
        await asyncio.gather(consumer._passing_task, return_exceptions=True)


async def test_partitions_are_read_while_offsets_without_a_message_of_others_are_committed(
    away, consumer: Consumer, kafka: Kafka
) -> None:
    for _ in range(2):
        async with asyncio.timeout(30):
            assert await consumer._getmany({FIRST, SECOND}, 1.0)
            assert await consumer._getmany({SECOND}, 1.0) == {}
    assert (away.read, kafka.commits) == ([{FIRST}, {FIRST}], [])
    away.back.set()
    await until_committed(consumer)
    await consumer._getmany({FIRST, SECOND}, 1.0)
    assert (away.read[-1], committed(kafka)) == ({FIRST, SECOND}, [60])
    assert consumer._committed_offset[SECOND] == 60


@pytest.mark.parametrize("ending", ["revoked", "stopped"])
async def test_offsets_without_a_message_are_given_up_with_their_partitions(
    away, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(consumer, "_on_partitions_revoked", AsyncMock())
    await consumer._getmany({FIRST, SECOND}, 1.0)
    await (consumer.on_stop() if ending == "stopped" else consumer.on_partitions_revoked({SECOND}))
    away.back.set()
    await until_committed(consumer)
    assert (kafka.commits, consumer._passing) == ([], {})
    assert consumer._committed_offset[SECOND] != 60


async def test_the_states_of_partitions_are_read_once_a_second_at_most(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer._thread, "getmany", AsyncMock(return_value={}))
    monkeypatch.setattr(consumer, "pass_seconds", 3600.0)
    states = Mock(return_value={})
    monkeypatch.setattr(consumer._thread, "read_states", states)
    for _ in range(3):
        await consumer._getmany({FIRST}, 1.0)
    assert states.call_count == 1


async def test_a_group_without_offsets_commits_none_before_the_first_message(
    returning, consumer: Consumer, kafka: Kafka
) -> None:
    await consumer.perform_seek()
    await returning(position=95)
    await returning(position=95)
    assert not kafka.commits


async def test_nothing_behind_a_message_that_a_lost_partition_had_is_committed(
    returning, consumer: Consumer, kafka: Kafka
) -> None:
    await returning(99, position=120)
    consumer._committed_offset[FIRST] = 100
    consumer._forget(FIRST)
    await returning(position=120)
    assert not kafka.commits


async def test_a_group_without_offsets_reads_from_the_beginning(fetch, kafka: Kafka) -> None:
    kafka.beginnings[TopicPartition("raw", 0)] = 3
    await fetch(NoOffsetForPartitionError(TopicPartition("raw", 0)))
    assert kafka.positions == {TopicPartition("raw", 0): 3}


@pytest.mark.parametrize("is_transactional", [False, True])
async def test_messages_that_were_removed_unread_are_counted_and_committed(
    fetch,
    returning,
    consumer: Consumer,
    kafka: Kafka,
    *,
    removed: list[int],
    caplog: pytest.LogCaptureFixture,
    is_transactional: bool,
) -> None:
    """Kafka drops the offsets of a transaction during which others are committed."""
    consumer.transport.hooks = replace(consumer.transport.hooks, is_transactional=is_transactional)
    partition, in_flight = TopicPartition("raw", 0), message(99)
    consumer.track_message(in_flight)
    await returning(99, position=100)
    kafka.beginnings[partition] = 140
    for _ in range(2):
        await fetch(OffsetOutOfRangeError({partition: 100}))
    assert removed == [40]
    assert kafka.positions == {partition: 140}
    assert "partition 0 of topic raw: Kafka removed 40 messages, from offset 100 on" in caplog.text
    await returning(position=140)
    assert not kafka.commits, "there is one in flight before them"
    consumer.ack(in_flight)
    await consumer.commit()
    await returning(position=140)
    assert committed(kafka) == ([140] if is_transactional else [100, 140])


@pytest.mark.parametrize("read_between", [True, False])
async def test_messages_that_are_removed_twice_before_anything_is_committed_hold_nothing_up(
    fetch, returning, consumer: Consumer, kafka: Kafka, *, read_between: bool
) -> None:
    partition = TopicPartition("raw", 0)
    consumer._committed_offset[FIRST] = 90
    await returning(*range(90, 100), position=100)
    kafka.beginnings[partition] = 140
    await fetch(OffsetOutOfRangeError({partition: 100}))
    if read_between:
        await returning(*range(140, 150), position=150)
    position, kafka.beginnings[partition] = kafka.positions[partition], 200
    await fetch(OffsetOutOfRangeError({partition: position}))
    await returning(position=200)
    assert not kafka.commits, "there are some in flight before them"
    for offset in (*range(90, 100), *(range(140, 150) if read_between else ())):
        consumer.ack(message(offset))
    await consumer.commit()
    await returning(position=200)
    assert committed(kafka)[-1] == 200
    consumer.ack(message(200))
    await consumer.commit()
    assert committed(kafka)[-1] == 201
    assert not consumer._acked_index


async def test_offsets_that_no_message_has_are_committed_without_a_list_of_them(
    consumer: Consumer, kafka: Kafka
) -> None:
    for offset in (3, 10**9):
        await consumer._add_gap(FIRST, offset - 2, offset)
        consumer.ack(message(offset))
        await consumer.commit()
    assert committed(kafka) == [4, 10**9 + 1]


async def test_all_partitions_are_looked_after_at_once(
    fetch, consumer: Consumer, kafka: Kafka, removed: list[int]
) -> None:
    first, second = TopicPartition("raw", 0), TopicPartition("raw", 1)
    kafka.assign(first, second)
    kafka.beginnings |= {first: 140, second: 60}
    kafka.ends[second] = 1000
    kafka.positions[second] = 55
    consumer._read_offset[SECOND] = 54
    await fetch(OffsetOutOfRangeError({first: 100}))
    assert sorted(removed) == [5, 40]
    assert kafka.positions == {first: 140, second: 60}


async def test_what_was_read_of_a_topic_that_was_made_again_is_not_committed_any_more(
    fetch, consumer: Consumer, kafka: Kafka, removed: list[int]
) -> None:
    old = message(99)
    consumer.track_message(old)
    consumer._read_offset[FIRST] = consumer._committed_offset[FIRST] = 99
    await fetch(OffsetOutOfRangeError({TopicPartition("raw", 0): 100}))
    assert kafka.positions == {TopicPartition("raw", 0): 0}
    assert not removed
    consumer.ack(old)
    await consumer.commit()
    new = message(0)
    consumer.track_message(new)
    consumer.ack(new)
    await consumer.commit()
    assert committed(kafka) == [0, 1]


async def test_a_position_that_a_replica_nearby_lacks_is_kept(
    fetch, consumer: Consumer, kafka: Kafka
) -> None:
    partition = TopicPartition("raw", 0)
    consumer.transport.hooks = replace(consumer.transport.hooks, rack="near")
    await fetch(OffsetOutOfRangeError({partition: 100}))
    assert (kafka.positions, kafka.commits) == ({partition: 100}, [])
    kafka.ends[partition] = 50
    await fetch(OffsetOutOfRangeError({partition: 100}))
    assert (kafka.positions, committed(kafka)) == ({partition: 0}, [0])


async def test_a_commit_in_flight_ends_before_a_topic_that_was_made_again_is_read(
    identify, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end, commit = asyncio.Event(), asyncio.Event(), kafka.commit

    async def try_again(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        begun.set()
        await may_end.wait()
        await commit(offsets)

    await consumer._made_again.find()
    consumer.ack(message(99))
    monkeypatch.setattr(kafka, "commit", try_again)
    committing = asyncio.create_task(consumer.commit())
    await begun.wait()
    identify(2)
    await consumer._made_again.find()
    monkeypatch.setattr(kafka, "commit", commit)
    restarting = asyncio.create_task(consumer._restart_topics_made_again())
    await asyncio.sleep(0.01)
    may_end.set()
    await asyncio.gather(committing, restarting)
    assert committed(kafka) == [100, 0]
    assert consumer._committed_offset[FIRST] is None


async def test_a_topic_that_was_made_again_is_not_read_while_the_offset_of_the_old_one_stands(
    fetch, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(offsets: object) -> None:
        raise CommitFailedError

    partition, commit = TopicPartition("raw", 0), kafka.commit
    monkeypatch.setattr(kafka, "commit", fail)
    await fetch(OffsetOutOfRangeError({partition: 100}))
    assert kafka.positions == {partition: 100}
    monkeypatch.setattr(kafka, "commit", commit)
    await fetch(OffsetOutOfRangeError({partition: 100}))
    assert kafka.positions == {partition: 0}
    assert kafka.commits == [{partition: OffsetAndMetadata(0, "")}]


@pytest.fixture(autouse=True)
def identify(monkeypatch: pytest.MonkeyPatch):
    """Make the topic another one, by its number."""
    numbers = {"raw": 1}

    async def ask(_consumer, topics) -> dict[str, Identity]:
        return {each: Identity(UUID(int=numbers[each]), 2) for each in topics if numbers[each]}

    monkeypatch.setattr(made_again, "ask_identities", ask)
    return lambda number: numbers.update(raw=number)


@pytest.mark.parametrize("is_transactional", [False, True])
async def test_a_topic_that_is_made_again_and_holds_more_is_read_from_its_beginning(
    returning, identify, consumer: Consumer, kafka: Kafka, is_transactional
) -> None:
    consumer.transport.hooks = replace(consumer.transport.hooks, is_transactional=is_transactional)
    await consumer._made_again.find()
    consumer._committed_offset[FIRST] = 99
    old = message(99)
    consumer.track_message(old)
    identify(0)  # none of its name
    await consumer._made_again.find()
    await returning(100, position=101)
    identify(2)
    await consumer._made_again.find()
    if is_transactional:
        assert await consumer._getmany({FIRST}, 0.001) == {}
        assert kafka.positions == {TopicPartition("raw", 0): 101}, "a transaction is in flight"
        consumer.ack(old)
    assert await consumer._getmany({FIRST}, 1.0)
    assert kafka.positions == {TopicPartition("raw", 0): 0}
    assert kafka.commits == [{TopicPartition("raw", 0): OffsetAndMetadata(0, "")}]
    consumer.ack(old)
    await consumer.commit()
    assert len(kafka.commits) == 1, "that of the topic before counts no more"
    await consumer._made_again.find()
    assert not consumer._made_again.partitions


async def test_all_partitions_of_a_topic_that_is_made_again_are_read_from_their_beginning_once(
    fetch, identify, consumer: Consumer, kafka: Kafka
) -> None:
    first, second = TopicPartition("raw", 0), TopicPartition("raw", 1)
    kafka.assign(first, second)
    kafka.positions[second] = kafka.beginnings[second] = 0
    kafka.positions |= {first: 2000, second: 500}
    kafka.ends[second] = 1000
    await consumer._made_again.find()
    identify(2)
    await fetch(OffsetOutOfRangeError({first: 2000}))
    await consumer._restart_topics_made_again()
    assert kafka.positions == {first: 0, second: 0}
    await consumer._made_again.find()
    await consumer._restart_topics_made_again()
    assert committed(kafka) == [0, 0]


async def test_a_topic_that_is_made_again_is_restarted_once_though_no_broker_tells_so_at_first(
    fetch, identify, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    await consumer._made_again.find()
    identify(2)
    with monkeypatch.context() as patch:
        patch.setattr(made_again, "ask_identities", AsyncMock(side_effect=KafkaConnectionError("gone")))
        await fetch(OffsetOutOfRangeError({TopicPartition("raw", 0): 100}))
    await consumer._made_again.find()
    await consumer._restart_topics_made_again()
    assert committed(kafka) == [0]


async def test_a_partition_is_restarted_once_though_it_is_taken_away_from_a_worker_that_stops(
    identify, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = kafka.commit

    async def commit_late(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        await asyncio.sleep(0.01)
        await commit(offsets)

    monkeypatch.setattr(consumer, "_on_partitions_revoked", AsyncMock())
    monkeypatch.setattr(kafka, "commit", commit_late)
    await consumer._made_again.find()
    identify(2)
    consumer.app._stopped.set()
    await asyncio.gather(consumer.on_stop(), consumer.on_partitions_revoked({FIRST}))
    assert committed(kafka) == [0]


async def test_positions_that_were_sought_meanwhile_are_left_alone(
    fetch, kafka: Kafka, removed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = TopicPartition("raw", 0)
    kafka.beginnings[partition] = 140

    async def seek_meanwhile(partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        kafka.positions[partition] = 0
        return {each: kafka.ends[each] for each in partitions}

    monkeypatch.setattr(kafka, "end_offsets", seek_meanwhile)
    await fetch(OffsetOutOfRangeError({partition: 100}))
    assert (kafka.positions, removed) == ({partition: 0}, [])


async def test_a_topic_that_is_made_again_is_read_from_its_beginning_though_it_has_no_leader_yet(
    identify, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.assign(TopicPartition("raw", 0), TopicPartition("raw", 2))
    await consumer._made_again.find()
    identify(2)
    await consumer._made_again.find()
    for ask in ("beginning_offsets", "end_offsets"):
        monkeypatch.setattr(kafka, ask, AsyncMock(side_effect=AssertionError("nobody answers")))
    await consumer._restart_topics_made_again()
    assert (kafka.positions, committed(kafka)) == ({TopicPartition("raw", 0): 0}, [0])
    assert consumer._made_again.partitions == {TP("raw", 2)}, "which the new topic does not have"


async def test_a_topic_whose_partitions_are_assigned_anew_is_the_one_that_is_there(
    identify, consumer: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "_on_partitions_assigned", AsyncMock())
    await consumer._made_again.find()
    identify(2)
    await consumer._made_again.find()
    assert consumer._made_again.partitions == {FIRST}
    await consumer.on_partitions_assigned({FIRST})
    await consumer._made_again.find()
    assert not consumer._made_again.partitions


async def test_an_answer_from_before_partitions_are_assigned_anew_says_nothing_of_their_topic(
    identify, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tell_late(*_: object, **__: object) -> dict[str, Identity]:
        kafka.assign(TopicPartition("raw", 0))
        return {"raw": Identity(UUID(int=1), 2)}

    with monkeypatch.context() as patch:
        patch.setattr(made_again, "ask_identities", tell_late)
        await consumer._made_again.find()
    identify(2)
    await consumer._made_again.find()
    assert not consumer._made_again.partitions


@pytest.mark.parametrize("ending", ["revoked", "revoked as it stops", "stopped"])
async def test_no_offset_of_a_topic_that_was_made_again_is_left_to_who_reads_it_next(
    identify, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(consumer, "_on_partitions_revoked", AsyncMock())
    await consumer._made_again.find()
    consumer.ack(message(99))
    identify(2)
    if ending != "revoked":
        consumer.app._stopped.set()
    await (consumer.on_stop() if ending == "stopped" else consumer.on_partitions_revoked({FIRST}))
    assert committed(kafka)[-1] == 0
    assert not consumer._made_again.partitions


async def test_a_rebalance_goes_on_though_no_broker_tells_which_topics_are_there(
    consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "_on_partitions_revoked", AsyncMock())
    monkeypatch.setattr(consumer, "identify_seconds", 0.01)

    async def wait(*_: object, **__: object) -> None:
        await asyncio.sleep(600)

    for ask in (AsyncMock(side_effect=KafkaConnectionError("gone")), wait):
        monkeypatch.setattr(made_again, "ask_identities", ask)
        async with asyncio.timeout(30):
            await consumer.on_partitions_revoked({FIRST})


async def test_transactions_of_the_old_topic_end_before_the_new_one_is_read(
    fetch, consumer: Consumer, kafka: Kafka
) -> None:
    partition, old = TopicPartition("raw", 0), message(99)
    consumer.transport.hooks = replace(consumer.transport.hooks, is_transactional=True)
    consumer.track_message(old)
    await fetch(OffsetOutOfRangeError({partition: 100}))
    assert (kafka.positions, kafka.commits) == ({partition: 100}, [])
    consumer.ack(old)
    await fetch(OffsetOutOfRangeError({partition: 100}))
    assert kafka.positions == {partition: 0}


async def test_what_was_known_of_partitions_is_forgotten_when_they_are_assigned(
    consumer: Consumer, kafka: Kafka, app: FaustApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "_on_partitions_assigned", AsyncMock())
    consumer._committed_offset[FIRST] = 76
    await consumer.on_partitions_assigned({FIRST})
    consumer.ack(message(0))
    await consumer.commit()
    assert kafka.commits == [{TopicPartition("raw", 0): OffsetAndMetadata(1, "")}]


@pytest.mark.parametrize("assigned", [set(), {FIRST}], ids=["none", "some"])
async def test_nothing_is_read_from_when_partitions_are_taken_away_until_others_are_assigned(
    consumer: Consumer, kafka: Kafka, app: FaustApp, assigned: set[TP], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "_on_partitions_revoked", AsyncMock())
    kafka.assign(*(TopicPartition(*each) for each in assigned))
    consumer.resume_flow()
    app.flow_control.resume()
    await consumer.on_partitions_revoked({FIRST})
    assert (consumer.flow_active, app.flow_control.is_active()) == (False, False)
    assert consumer.suspend_flow.is_set()


async def test_offsets_that_come_when_the_next_rebalance_has_begun_are_not_sought(
    consumer: Consumer, app: FaustApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tell_late() -> Mapping[TP, int]:
        app.rebalancing_count += 1
        return {FIRST: 5}

    monkeypatch.setattr(consumer._thread, "seek_back", tell_late)
    app.rebalancing_count = 1
    with pytest.raises(RebalanceAgain):
        await consumer.perform_seek()
    assert consumer._read_offset[FIRST] is None


async def test_the_flow_is_resumed_by_the_rebalance_alone_that_has_sought(
    consumer: Consumer, app: FaustApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer._thread, "seek_back", AsyncMock(return_value={FIRST: 5}))
    app.rebalancing_count = 1
    await consumer.perform_seek()
    app.rebalancing_count = 2
    consumer.stop_flow()
    consumer.resume_flow()  # as Faust does for the first one
    assert not consumer.flow_active
    await consumer.perform_seek()
    consumer.resume_flow()
    assert consumer.flow_active


@dataclass
class Reading:
    """Messages that the agent reads of its stream, and acknowledges."""

    app: FaustApp
    stream: faust.streams.Stream
    read: list[int] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def buffer(self, offset: int) -> None:
        """Put a message into the buffer before the agent."""
        of = message(offset, ConsumerMessage)
        of.generation_id = self.app.consumer_generation_id
        of.incref()
        self.stream.channel.queue.force_put_nowait(Event(self.app, b"", b"", {}, of))

    async def put(self, arrival: Arrival) -> None:
        self.read.append(arrival.message.offset)
        await arrival.acknowledge()
        self.done.set()

    async def run(self) -> None:
        """Read one message, at least."""
        self.reading = asyncio.create_task(agent(self.app, self.put)(self.stream))
        async with asyncio.timeout(30):
            await self.done.wait()
        await asyncio.sleep(0.01)


@pytest.fixture(params=[faust.streams._CStreamIterator, None], ids=["compiled", "in Python"])
async def reading(
    app: FaustApp, consumer: Consumer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Reading]:
    monkeypatch.setattr(faust.streams, "_CStreamIterator", request.param)
    app.topics._acking_topics.add("raw")
    stream = app.topic("raw", key_type=bytes, value_type=bytes).stream()
    app.flow_control.resume()
    made = Reading(app, stream)
    yield made
    made.reading.cancel()


async def test_a_message_that_comes_to_the_stream_in_a_rebalance_is_not_committed(
    consumer: Consumer, kafka: Kafka, app: FaustApp, reading: Reading
) -> None:
    """As one that waited for room in the buffer at its begin, though the buffer is cleared then."""
    reading.buffer(3)
    await reading.run()
    app.flow_control.suspend()
    reading.buffer(7)
    await asyncio.sleep(0.01)
    await consumer.commit()
    assert reading.stream.channel.queue.empty()
    assert (reading.read, committed(kafka)) == ([3], [4])


async def test_a_message_in_the_buffer_of_a_topic_that_was_made_again_is_not_committed(
    identify, consumer: Consumer, kafka: Kafka, reading: Reading
) -> None:
    await consumer._made_again.find()
    reading.buffer(99)
    identify(2)
    await consumer._made_again.find()
    await consumer._restart_topics_made_again()
    await reading.run()
    await consumer.commit()
    assert (reading.read, committed(kafka)) == ([99], [0])
    assert not consumer.unacked


async def test_a_topic_made_again_is_not_read_while_transactions_of_its_buffered_messages_may_come(
    identify, consumer: Consumer, kafka: Kafka, reading: Reading
) -> None:
    consumer.transport.hooks = replace(consumer.transport.hooks, is_transactional=True)
    await consumer._made_again.find()
    reading.buffer(99)
    identify(2)
    await consumer._made_again.find()
    await consumer._restart_topics_made_again()
    assert not kafka.commits
    await reading.run()
    await consumer._restart_topics_made_again()
    assert committed(kafka) == [0]


async def test_partitions_that_are_assigned_anew_during_a_commit_are_not_restarted(
    identify, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, commit = asyncio.Event(), kafka.commit

    async def try_for_ever(_: object) -> None:
        begun.set()
        await asyncio.sleep(600)

    monkeypatch.setattr(consumer, "_on_partitions_assigned", AsyncMock())
    await consumer._made_again.find()
    consumer.ack(message(99))
    monkeypatch.setattr(kafka, "commit", try_for_ever)
    committing = asyncio.create_task(consumer.commit())
    await begun.wait()
    identify(2)
    await consumer._made_again.find()
    monkeypatch.setattr(kafka, "commit", commit)
    restarting = asyncio.create_task(consumer._restart_topics_made_again())
    await asyncio.sleep(0.01)
    kafka.assign(TopicPartition("raw", 0))
    await consumer.on_partitions_assigned({FIRST})
    await asyncio.gather(committing, restarting)
    assert not kafka.commits


async def test_removed_messages_at_the_beginning_of_a_topic_that_was_made_again_are_passed(
    identify, fetch, returning, consumer: Consumer, kafka: Kafka
) -> None:
    await consumer._made_again.find()
    identify(2)
    await consumer._made_again.find()
    await consumer._restart_topics_made_again()
    kafka.beginnings[TopicPartition("raw", 0)] = 40
    await fetch(OffsetOutOfRangeError({TopicPartition("raw", 0): 0}))
    await returning(position=40)
    await returning(position=40)
    assert committed(kafka) == [0, 40]


async def test_what_was_acknowledged_is_committed_when_partitions_are_taken_away(
    consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "_on_partitions_revoked", AsyncMock())
    consumer.ack(message(0))
    await consumer.on_partitions_revoked({FIRST})
    assert kafka.commits == [{TopicPartition("raw", 0): OffsetAndMetadata(1, "")}]
    consumer.ack(message(1))
    consumer.transport.membership.lose()
    await consumer.on_partitions_revoked({FIRST})
    assert len(kafka.commits) == 1


@pytest.mark.parametrize("offset", [0, 17])
async def test_a_worker_goes_back_to_the_offsets_that_are_committed(
    consumer: Consumer, kafka: Kafka, offset: int
) -> None:
    kafka.offsets = {TopicPartition("raw", 0): offset}
    await consumer.perform_seek()
    assert kafka.positions == {TopicPartition("raw", 0): offset}
    assert consumer._read_offset == {FIRST: offset}


async def test_without_partitions_there_is_nothing_to_go_back_to(consumer: Consumer, kafka: Kafka) -> None:
    kafka.assign()
    await consumer.perform_seek()
    assert kafka.positions == {TopicPartition("raw", 0): 100}


async def test_offsets_of_partitions_that_are_assigned_anew_meanwhile_are_not_gone_back_to(
    consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = TopicPartition("raw", 0)

    async def committed_of_a_topic_that_is_deleted(_: TopicPartition) -> int:
        kafka.assign(partition)
        kafka.positions.clear()
        return 145

    monkeypatch.setattr(kafka, "committed", committed_of_a_topic_that_is_deleted)
    await consumer.perform_seek()
    assert (kafka.positions, consumer._read_offset) == ({}, {})


async def test_nothing_stays_known_of_a_partition_without_a_committed_offset(
    consumer: Consumer, kafka: Kafka
) -> None:
    consumer._read_offset[FIRST] = consumer._committed_offset[FIRST] = 145
    await consumer.perform_seek()
    assert consumer._read_offset[FIRST] is None
    assert consumer._committed_offset[FIRST] is None


async def test_positions_of_partitions_that_are_assigned_anew_meanwhile_are_left_alone(
    fetch, consumer: Consumer, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = TopicPartition("raw", 0)
    end_offsets = kafka.end_offsets

    async def end_offsets_before_others_are_assigned(
        partitions: list[TopicPartition],
    ) -> Mapping[TopicPartition, int]:
        kafka.assign(partition)
        kafka.positions.clear()
        return await end_offsets(partitions)

    monkeypatch.setattr(kafka, "end_offsets", end_offsets_before_others_are_assigned)
    await fetch(OffsetOutOfRangeError({partition: 100}))
    assert (kafka.positions, kafka.commits) == ({}, [])
    await fetch(NoOffsetForPartitionError(partition))
    assert kafka.positions == {partition: 0}


@pytest.mark.parametrize(
    ("without_position", "position", "read"), [(0, 0, None), (1, 100, 99)], ids=["assigned", "taken away"]
)
async def test_a_partition_without_a_position_is_read_from_its_beginning_and_no_other(
    fetch, consumer: Consumer, kafka: Kafka, *, without_position: int, position: int, read: int | None
) -> None:
    consumer._read_offset[FIRST] = 99
    await fetch(NoOffsetForPartitionError(TopicPartition("raw", without_position)))
    assert kafka.positions == {TopicPartition("raw", 0): position}
    assert consumer._read_offset[FIRST] == read


async def test_a_kafka_that_does_not_answer_is_asked_again(
    fetch, kafka: Kafka, removed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(partitions: object) -> None:
        raise UnknownTopicOrPartitionError

    monkeypatch.setattr(kafka, "beginning_offsets", fail)
    await fetch(OffsetOutOfRangeError({TopicPartition("raw", 0): 100}))
    assert kafka.positions == {TopicPartition("raw", 0): 100}
    assert not removed


def message(offset: int, kind: type[Message] = Message) -> Message:
    return kind(
        topic="raw",
        partition=0,
        offset=offset,
        timestamp=0.0,
        timestamp_type=0,
        headers=(),
        key=None,
        value=b"",
        checksum=None,
        tp=FIRST,
    )
