"""Offsets that a consumer group has committed."""

from contextlib import suppress

from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError, UnknownTopicOrPartitionError, for_code
from aiokafka.protocol.api import Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.availability import back_off
from dehusk.streams.kafka.client import open_client
from dehusk.streams.kafka.protocol import OneVersion
from dehusk.streams.settings import KafkaSettings

_ATTEMPTS = 8
"""Requests until an error that may pass is raised: six seconds."""


class UnstableOffset(KafkaError):  # type: ignore[misc]  # noqa: N818 aiokafka has no types; named as a state
    """A transaction is about to commit or to abort the offset."""

    errno = 88
    retriable = True


async def committed_offset(settings: KafkaSettings, group: str, partition: TopicPartition) -> int:
    """Return the offset that a group has committed of a partition; -1 for none.

    Raises:
        UnavailableError: the brokers do not answer, or do not know it now.
        ConfigurationError: the brokers refuse the user, or are older than Kafka 2.5.
    """
    async with open_client(settings) as client:
        return await _ask_until_known(client, group, partition)


async def check_offsets(settings: KafkaSettings, group: str, partition: TopicPartition) -> None:
    """Check that the brokers tell which offsets are stable; that of the partition need not be.

    Raises:
        UnavailableError: the brokers do not answer.
        ConfigurationError: the brokers refuse the user, or are older than Kafka 2.5.
    """
    async with open_client(settings) as client:
        with suppress(UnstableOffset):  # as long as a worker that is frozen has a transaction open
            await _ask_until_known(client, group, partition)


async def is_unstable(client: AIOKafkaClient, group: str, partition: TopicPartition) -> bool:
    """Return True if a transaction is about to commit or to abort the offset of a group in a partition.

    Raises:
        KafkaError: it is not known.
        ConfigurationError: the brokers are older than Kafka 2.5.
    """
    try:
        await _ask_until_known(client, group, partition, waits=False)
    except UnstableOffset:
        return True
    return False


async def _ask_until_known(
    client: AIOKafkaClient, group: str, partition: TopicPartition, *, waits: bool = True
) -> int:
    """Ask for a committed offset until it is known; if it `waits`, also until it is stable."""
    for attempt in range(_ATTEMPTS - 1):
        try:
            return await ask_committed_offset(client, group, partition)
        except KafkaError as error:
            if not error.retriable or (isinstance(error, UnstableOffset) and not waits):
                raise
        await back_off(attempt)
    return await ask_committed_offset(client, group, partition)


async def ask_committed_offset(client: AIOKafkaClient, group: str, partition: TopicPartition) -> int:
    """Ask once for the offset that a group has committed of a partition; -1 for none.

    Raises:
        KafkaError: it is not known now.
        ConfigurationError: the brokers are older than Kafka 2.5.
    """
    try:
        node = await client.coordinator_lookup(CoordinationType.GROUP, group)
    except GroupAuthorizationFailedError as error:  # which does not name the group
        raise GroupAuthorizationFailedError(group) from error
    no_tags: dict[int, bytes] = {}
    requires_stable = True
    topics = [(partition.topic, [partition.partition], no_tags)]
    request = _OffsetsRequest(group, topics, requires_stable, no_tags)
    try:
        response = await client.send(node, request, group=ConnectionGroup.COORDINATION)
    except NotImplementedError as error:
        raise ConfigurationError("delivery exactly once needs brokers of Kafka 2.5 or newer") from error
    _raise_for(response.error_code, group)
    for name, partitions, _ in response.topics:
        for number, offset, _epoch, _metadata, code, _tags in partitions:
            if (name, number) == partition:
                _raise_for(code, group)
                return int(offset)
    raise UnknownTopicOrPartitionError(f"no answer for {partition}")


def _raise_for(code: int, group: str) -> None:
    if code == UnstableOffset.errno:
        raise UnstableOffset
    if code == GroupAuthorizationFailedError.errno:
        raise GroupAuthorizationFailedError(group)
    if code:
        raise for_code(code)


class _OffsetsResponse(Response):  # type: ignore[misc] # aiokafka has no types
    """Answer to `_OffsetsRequest`."""

    API_KEY = 9
    API_VERSION = 7
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            CompactArray(
                ("name", CompactString("utf-8")),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("offset", Int64),
                        ("leader_epoch", Int32),
                        ("metadata", CompactString("utf-8")),
                        ("error_code", Int16),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("error_code", Int16),
        ("tags", TaggedFields),
    )


class _OffsetsRequest(OneVersion):
    """Request for committed offsets in the first version that can ask for stable ones.

    Earlier ones answer the offset from before a transaction whose end has not reached the group.
    """

    API_KEY = 9
    API_VERSION = 7
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _OffsetsResponse
    SCHEMA = Schema(
        ("group", CompactString("utf-8")),
        (
            "topics",
            CompactArray(
                ("name", CompactString("utf-8")),
                ("partitions", CompactArray(Int32)),
                ("tags", TaggedFields),
            ),
        ),
        ("require_stable", Boolean),
        ("tags", TaggedFields),
    )
