"""Records that are not taken, and the words for it."""

import pytest
from aiokafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    NotEnoughReplicasError,
    UnknownTopicOrPartitionError,
    for_code,
)
from aiokafka.protocol.metadata import MetadataResponse_v1
from aiokafka.structs import TopicPartition

from dehusk.streams.kafka.producer import UNNAMED, create_producer, describe_failure
from dehusk.streams.settings import KafkaSettings

_INVALID_RECORD = 87


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NotEnoughReplicasError(), "topic out has fewer replicas in sync than its min.insync.replicas"),
        (KafkaTimeoutError(), "no broker takes what is sent: KafkaTimeoutError"),
        (
            for_code(_INVALID_RECORD)(),
            f"topic out does not take what is sent: {UNNAMED}",
        ),
    ],
)
def test_a_record_that_is_not_taken_has_its_reason(error: KafkaError, words: str) -> None:
    assert describe_failure("out", error) == words


@pytest.mark.parametrize("topics_that_are_there", [["out"], []])
async def test_records_for_partitions_that_have_gone_fail(topics_that_are_there: list[str]) -> None:
    producer = create_producer(KafkaSettings())
    first, gone = [
        await producer._message_accumulator.add_message(TopicPartition("out", number), b"k", b"v", 1.0)
        for number in (0, 2)
    ]
    partitions = [(0, number, -1, [1], [1]) for number in (0, 1)]
    topics = [(0, each, False, partitions) for each in topics_that_are_there]
    producer.client.cluster.update_metadata(MetadataResponse_v1([(1, "k", 9, None)], 1, topics))
    assert not first.done()
    assert gone.done() == bool(topics_that_are_there), "those of a topic that is not there wait for it"
    if gone.done():
        assert isinstance(gone.exception(), UnknownTopicOrPartitionError)
    await producer.stop()
