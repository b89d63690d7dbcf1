"""Times of records, as readers of topics tell them, and topics made again while they are followed."""

import asyncio
from contextlib import aclosing
from datetime import UTC, datetime
from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock
from uuid import UUID

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError, OffsetOutOfRangeError

from dehusk.streams.kafka import reader as reader_module
from dehusk.streams.kafka.reader import Reader, record_time
from dehusk.streams.kafka.topic_ids import Identities, Identity
from dehusk.streams.settings import KafkaSettings


@pytest.mark.parametrize(
    ("milliseconds", "time"),
    [
        (1_764_000_000_000, datetime(2025, 11, 24, 16, tzinfo=UTC)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        (1_764_000_000_000_000_000, datetime.max.replace(tzinfo=UTC)),
        ((1 << 63) - 1, datetime.max.replace(tzinfo=UTC)),
    ],
)
def test_a_record_has_a_time_whatever_its_producer_counts(milliseconds: int, time: datetime) -> None:
    assert record_time(milliseconds) == time


async def test_following_goes_on_once_a_broker_answers_which_topic_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partition, old, new = TopicPartition("out", 0), Identity(UUID(int=1), 1), Identity(UUID(int=2), 2)
    record = SimpleNamespace(topic="out", partition=0, offset=9, key=None, value=b"", headers=(), timestamp=0)
    consumer = Mock(
        getmany=AsyncMock(side_effect=[{}, {partition: [record]}]),
        position=AsyncMock(return_value=9),
        assignment=Mock(return_value={partition}),
    )
    told = [KafkaConnectionError("gone"), KafkaConnectionError("gone"), {"out": new}]
    monkeypatch.setattr(reader_module, "ask_identities", AsyncMock(side_effect=told))
    monkeypatch.setattr(reader_module, "_LOOK_SECONDS", 0.001)
    known = Identities()
    known.note({"out": old})
    reader = Reader(KafkaSettings(), consumer, {partition: 9}, known)
    again: list[str] = []
    reader.on_made_again = again.append
    async with asyncio.timeout(30), aclosing(reader.follow()) as followed:
        assert (await anext(followed))[0].offset == 9
    assert again == ["out"]
    assert consumer.assign.call_args.args == ([partition, TopicPartition("out", 1)],)
    assert reader.id_of("out") == new.id


@pytest.mark.parametrize(
    ("rack", "position", "sought"),
    [("a", 100, []), ("a", 1001, [5]), ("a", 4, [5]), (None, 100, [5])],
    ids=["replica behind", "made again", "deleted", "no rack"],
)
async def test_a_position_that_a_replica_nearby_lacks_is_kept(
    rack: str | None, position: int, sought: list[int]
) -> None:
    partition = TopicPartition("out", 0)
    consumer = Mock(
        getmany=AsyncMock(side_effect=OffsetOutOfRangeError({partition: position})),
        position=AsyncMock(return_value=position),
        beginning_offsets=AsyncMock(return_value={partition: 5}),
        end_offsets=AsyncMock(return_value={partition: 1000}),
    )
    reader = Reader(KafkaSettings(rack=rack), consumer, {partition: 1000}, Identities())
    assert await reader._fetch(partition, timeout_ms=1) == {}
    assert [call.args for call in consumer.seek.call_args_list] == [(partition, each) for each in sought]
