"""Ids of topics, by which one that was deleted and created again is told from the one before."""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from io import BytesIO
from uuid import UUID

from aiokafka import AIOKafkaConsumer
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.errors import KafkaError, NodeNotReadyError
from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Schema,
    TaggedFields,
)

from dehusk.streams.kafka.protocol import OneVersion

_NO_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of a topic, which another one of its name does not have."""

    id: UUID
    partitions: int


class Identities:
    """Identities of topics over time, by which those that were made again are found."""

    def __init__(self) -> None:
        self._known: dict[str, Identity] = {}
        self._former: set[UUID] = set()
        """Ids of topics that others have followed: no topic is given one of them again."""

    def get(self, topic: str) -> Identity | None:
        """Return the identity of a topic, if it is known."""
        return self._known.get(topic)

    def note(self, told: Mapping[str, Identity]) -> list[str]:
        """Note what a broker tells; return the topics that were made again since they were known.

        A broker whose metadata lags behind still tells of the topics before, which is left out.
        """
        again = []
        for topic, identity in told.items():
            if identity.id in self._former:
                continue
            known = self._known.get(topic)
            self._known[topic] = identity
            if known is not None and known.id != identity.id:
                self._former.add(known.id)
                again.append(topic)
        return again

    def forget(self, topic: str) -> None:
        """Forget a topic, and take the next one of its name for the same, unless it is one from before."""
        self._known.pop(topic, None)


async def ask_identities(consumer: AIOKafkaConsumer, topics: Collection[str]) -> dict[str, Identity]:
    """Ask a broker for the identities of those of the topics that exist; none of brokers before Kafka 2.8.

    Brokers to which there is a connection are asked first, and the next one if one does not answer.

    Raises:
        KafkaError: none answers.
    """
    client = consumer._client  # noqa: SLF001 there is no getter
    nodes = [broker.nodeId for broker in client.cluster.brokers()]
    random.shuffle(nodes)
    failure: KafkaError = NodeNotReadyError("no broker is known")
    for node in sorted(nodes, key=lambda node: not _is_connected(client, node)):
        try:
            return await _ask_identities(client, node, topics)
        except KafkaError as error:
            failure = error
    raise failure


def _is_connected(client: AIOKafkaClient, node: int) -> bool:
    connection = client._conns.get((node, ConnectionGroup.DEFAULT))  # noqa: SLF001 likewise
    return connection is not None and connection.connected()


async def _ask_identities(client: AIOKafkaClient, node: int, topics: Collection[str]) -> dict[str, Identity]:
    no_tags: dict[int, bytes] = {}
    named = [(_NO_ID, name, no_tags) for name in sorted(topics)]
    may_create = tells_cluster_rights = tells_topic_rights = False
    request = _IdsRequest(named, may_create, tells_cluster_rights, tells_topic_rights, no_tags)
    try:
        response = await client.send(node, request)
    except NotImplementedError:
        return {}
    return {
        name: Identity(number, len(partitions))
        for code, name, number, _internal, partitions, _rights, _tags in response.topics
        if not code and number != _NO_ID
    }


class _Uuid(AbstractType[UUID]):  # type: ignore[misc] # aiokafka has no types
    @classmethod
    def encode(cls, value: UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> UUID:
        return UUID(bytes=data.read(16))


class _IdsResponse(Response):  # type: ignore[misc] # likewise
    """Answer to `_IdsRequest`."""

    API_KEY = 3
    API_VERSION = 10
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", CompactString("utf-8")),
                ("port", Int32),
                ("rack", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("name", CompactString("utf-8")),
                ("topic_id", _Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("authorized_operations", Int32),
        ("tags", TaggedFields),
    )


class _IdsRequest(OneVersion):
    """Request for metadata in the first version that tells the ids of topics."""

    API_KEY = 3
    API_VERSION = 10
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _IdsResponse
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(
                ("topic_id", _Uuid),
                ("name", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("may_create_topics", Boolean),
        ("tells_cluster_rights", Boolean),
        ("tells_topic_rights", Boolean),
        ("tags", TaggedFields),
    )
