import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED, PartitionRecords
from aiokafka.errors import (
    CorruptRecordException,
    KafkaConnectionError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    UnsupportedCodecError,
)
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka.errors import kafka_errors, refusal_or
from dehusk.streams.kafka.rights import Operation
from dehusk.streams.settings import KafkaSettings


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            KafkaConnectionError("Unable to bootstrap from [('k', 9, 2)]"),
            "--brokers",
        ),
        (KafkaConnectionError("Connection closed"), "KafkaConnectionError: Connection closed"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_cluster_that_does_not_answer_is_told_with_the_cause_that_helps(error, told):
    with pytest.raises(UnavailableError, match=f"k:9.*{told}"), kafka_errors(KafkaSettings("k:9")):
        raise error


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


@pytest.mark.parametrize("error", [MessageSizeTooLargeError(), RecordListTooLargeError()])
def test_a_record_that_is_too_large_for_its_topic_says_what_to_raise(error):
    refused = refusal_or(error, KafkaSettings(), Operation.WRITE)
    assert isinstance(refused, ConfigurationError)
    assert "larger than its topic takes: raise the topic's max.message.bytes" in str(refused)
