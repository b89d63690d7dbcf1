"""The committed offset of a group, as far as its coordinator knows it."""

from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    KafkaError,
    NotCoordinatorForGroupError,
    UnknownTopicOrPartitionError,
)

from dehusk.streams.kafka.offsets import UnstableOffset, ask_committed_offset

PARTITION = TopicPartition("raw", 3)


class Client:
    """A client of a coordinator that answers with an error code, and so many partitions."""

    def __init__(self, *partitions: tuple[int, int, int], error_code: int = 0) -> None:
        topics = [("raw", [(number, offset, -1, "", code, {}) for number, offset, code in partitions], {})]
        self.response = SimpleNamespace(topics=topics, error_code=error_code)

        self.is_refused = False

    async def coordinator_lookup(self, kind: int, group: str) -> int:
        if self.is_refused:
            raise GroupAuthorizationFailedError
        return 1

    async def send(self, node: int, request: object, *, group: object) -> SimpleNamespace:
        return self.response


@pytest.mark.parametrize("offset", [-1, 0, 42])
async def test_an_offset_is_that_of_the_partition(offset: int) -> None:
    assert await ask_committed_offset(Client((2, 7, 0), (3, offset, 0)), "g", PARTITION) == offset


@pytest.mark.parametrize(
    ("client", "error"),
    [
        (Client(error_code=14), GroupLoadInProgressError),
        (Client(error_code=15), GroupCoordinatorNotAvailableError),
        (Client(error_code=16), NotCoordinatorForGroupError),
        (Client(error_code=30), GroupAuthorizationFailedError),
        (Client((3, -1, 88)), UnstableOffset),
        (Client((3, -1, 3)), UnknownTopicOrPartitionError),
        (Client((2, 7, 0)), UnknownTopicOrPartitionError),
        (Client(), UnknownTopicOrPartitionError),
    ],
)
async def test_a_coordinator_that_does_not_know_it_is_not_taken_for_one_of_a_group_without_offsets(
    client: Client, error: type[KafkaError]
) -> None:
    with pytest.raises(error):
        await ask_committed_offset(client, "g", PARTITION)


async def test_a_group_that_may_not_be_described_is_named() -> None:
    client = Client((3, 1, 0))
    client.is_refused = True
    with pytest.raises(GroupAuthorizationFailedError) as caught:
        await ask_committed_offset(client, "g", PARTITION)
    assert caught.value.args == ("g",)


@pytest.mark.parametrize("error", [GroupLoadInProgressError, NotCoordinatorForGroupError, UnstableOffset])
def test_it_is_asked_again(error: type[KafkaError]) -> None:
    assert error.retriable
