"""Words for what brokers refuse."""

import pytest
from aiokafka.errors import KafkaError, KafkaTimeoutError, NotEnoughReplicasError, for_code

from dehusk.streams.kafka.producer import UNNAMED, describe_failure

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
