import logging

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.errors import (
    CorruptRecordException,
    KafkaConnectionError,
    SaslAuthenticationFailed,
    UnsupportedCodecError,
)
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka import client
from dehusk.streams.kafka.client import describe_topics
from dehusk.streams.kafka.errors import kafka_errors
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.settings import KafkaSettings


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            KafkaConnectionError("Unable to bootstrap from [('k', 9, 2)]"),
            "; is it running, and is --brokers right?",
        ),
        (KafkaConnectionError("Connection closed"), ": KafkaConnectionError: Connection closed"),
        (TimeoutError(), ": TimeoutError"),
    ],
)
def test_a_cluster_that_does_not_answer_is_told_with_the_cause_that_helps(error, told):
    with pytest.raises(UnavailableError) as raised, kafka_errors(KafkaSettings("k:9")):
        raise error
    assert str(raised.value) == f"Kafka at k:9 does not answer{told}"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UnsupportedCodecError("Libraries for lz4 compression codec not found"), "lz4"),
        (CorruptRecordException("Invalid CRC - TopicPartition(topic='t', partition=3)"), "partition=3"),
    ],
)
def test_records_that_cannot_be_read_are_no_fault_of_the_brokers(error, told):
    unreadable = pytest.raises(ConfigurationError, match=f"cannot be read: .*{told}")
    with unreadable, kafka_errors(KafkaSettings("k:9")):
        raise error


def records_of(batch, *, check_crcs=True):
    """The records of a partition that has one batch, of the offsets from 40 on."""
    batch[:8] = (40).to_bytes(8)
    tp, offset = TopicPartition("raw", 3), 41
    return PartitionRecords(
        tp, MemoryRecords(bytes(batch)), [], offset, None, None, check_crcs, READ_COMMITTED
    )


@pytest.fixture(params=[0, 1], ids=["plain", "gzip"])
def batch(request):
    builder = DefaultRecordBatchBuilder(2, request.param, 0, -1, -1, -1, 1 << 20)
    for offset in range(5):
        builder.append(offset, 0, b"key", b"value", [])
    return bytearray(builder.build())


def unreadable(records):
    with pytest.raises(ConfigurationError) as raised, kafka_errors(KafkaSettings("k:9")):
        list(records)
    return str(raised.value)


def test_a_batch_whose_checksum_is_wrong_is_named_with_its_offsets(batch):
    batch[-1] ^= 1
    assert unreadable(records_of(batch)) == (
        "partition 3 of topic raw cannot be read from offset 41 to 44: CorruptRecordException: "
        "[Error 2] CorruptRecordException: Invalid CRC - TopicPartition(topic='raw', partition=3)"
    )


def test_a_batch_whose_compression_is_wrong_is_named_with_its_offsets(batch):
    batch[61:] = b"x" * len(batch[61:])
    said = unreadable(records_of(batch, check_crcs=False))
    assert said.startswith("partition 3 of topic raw cannot be read from offset 41 to 44: ")


def test_records_that_can_be_read_raise_nothing(batch):
    with kafka_errors(KafkaSettings("k:9")):
        assert [record.offset for record in records_of(batch)] == [41, 42, 43, 44]


def test_what_is_no_error_of_kafka_stays_as_it_is():
    with pytest.raises(KeyError), kafka_errors(KafkaSettings("k:9")):
        raise KeyError


async def test_where_no_broker_is_reached_one_error_tells_why_of_each(caplog):
    brokers = [f"{LOOPBACK}:{port}" for port in free_ports(2)]
    with pytest.raises(UnavailableError) as raised:
        await describe_topics(KafkaSettings(",".join(brokers)), [])
    told = str(raised.value)
    assert told.startswith(
        f"Kafka at {','.join(brokers)} does not answer; is it running, and is --brokers right?"
    )
    assert all(f'"{broker}": [Errno ' in told for broker in brokers)
    assert caplog.records == []


class Starting(AIOKafkaAdminClient):
    """A client that logs what aiokafka logs of a broker, and then starts or fails as the test says."""

    cause: Exception = ConnectionRefusedError("refused")
    error: Exception | None = None

    async def start(self):
        logging.getLogger("aiokafka").error('Unable connect to "%s:%s": %s', "k", 9, self.cause)
        if self.error is not None:
            raise self.error

    async def describe_topics(self):
        return []


@pytest.fixture
def starting(monkeypatch):
    monkeypatch.setattr(client, "AIOKafkaAdminClient", Starting)
    return monkeypatch


async def test_where_another_broker_is_reached_the_log_tells_which_is_not(starting, caplog):
    assert await describe_topics(KafkaSettings("k:9,k:10"), []) == {}
    assert caplog.messages == ['Unable connect to "k:9": refused']


async def test_where_something_else_goes_wrong_the_log_tells_all(starting, caplog):
    starting.setattr(Starting, "error", ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await describe_topics(KafkaSettings("k:9"), [])
    assert caplog.messages == ['Unable connect to "k:9": refused']


async def test_a_user_whom_the_brokers_refuse_is_told_so(starting, caplog):
    starting.setattr(Starting, "cause", SaslAuthenticationFailed("wrong password"))
    starting.setattr(Starting, "error", KafkaConnectionError("Unable to bootstrap from [('k', 9, 2)]"))
    with pytest.raises(ConfigurationError, match=r"refuses: .*wrong password"):
        await describe_topics(KafkaSettings("k:9"), [])
    assert caplog.messages == []
