"""Transactions that hang: ended for their coordinator, but not for each of their partitions (KIP-664).

Kafka takes a partition without a leader for deleted, and marks the end of a transaction in the others alone.
Where the partition is that of a group's offsets, what the group has committed is never told again. Where it
is one of a topic, readers of committed records wait there until the producer's next transaction ends.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import TransactionalIdAuthorizationFailed, for_code
from aiokafka.producer.transaction_manager import TransactionResult
from aiokafka.protocol.api import Response
from aiokafka.protocol.transaction import AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest
from aiokafka.protocol.types import (
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)

from dehusk.streams.kafka.client import open_client
from dehusk.streams.kafka.offsets import committed_offset, is_unstable
from dehusk.streams.kafka.protocol import OneVersion
from dehusk.streams.settings import KafkaSettings

_RESULTS: Mapping[str, TransactionResult] = MappingProxyType(
    {
        "CompleteCommit": TransactionResult.COMMIT,
        "CompleteAbort": TransactionResult.ABORT,
        "Empty": TransactionResult.ABORT,
    }
)
"""Result of a transaction that hangs, by its state.

Empty is one whose result is not known any more, as its producer was started anew. If it is aborted, its
messages are delivered again, which loses nothing.
"""


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """Offsets of a consumer group, which producers commit in transactions with records of topics."""

    settings: KafkaSettings
    group: str
    topics: Collection[str]

    async def committed(self, partition: TopicPartition) -> int:
        """Return the offset that the group has committed of a partition, as `committed_offset` does."""
        return await committed_offset(self.settings, self.group, partition)

    async def hanging(self, partition: TopicPartition, name: str) -> TransactionResult | None:
        """Return the result of a producer's last transaction, by its `transactional.id`, if that hangs.

        Only its offset is looked at. None is returned by brokers older than Kafka 3.0, which do not tell the
        state of transactions.

        Raises:
            UnavailableError: the brokers do not answer.
            ConfigurationError: they refuse the user.
        """
        async with open_client(self.settings) as client:
            if not await is_unstable(client, self.group, partition):
                return None
            result = _RESULTS.get(await _state_of(client, name))
            if result is None or not await is_unstable(client, self.group, partition):
                return None  # its end came in the meantime
            return result

    async def end_again(self, producer: AIOKafkaProducer, result: TransactionResult) -> None:
        """End the transaction that hangs again, in all partitions, by a producer that was started after it.

        Raises:
            KafkaError: the brokers do not take it.
        """
        client, transactions = producer.client, producer._txn_manager  # noqa: SLF001 there is no getter
        names = transactions.transactional_id, transactions.producer_id, transactions.producer_epoch
        partitions = [(topic, sorted(await producer.partitions_for(topic))) for topic in self.topics]
        node = await client.coordinator_lookup(CoordinationType.TRANSACTION, transactions.transactional_id)
        requests = (
            AddPartitionsToTxnRequest(*names, partitions),
            AddOffsetsToTxnRequest(*names, self.group),
        )
        for request in requests:
            response = await client.send(node, request, group=ConnectionGroup.COORDINATION)
            _raise_for(response)
        _raise_for(await send_end(producer, result))


async def send_end(producer: AIOKafkaProducer, result: TransactionResult) -> Response:
    """Ask the coordinator to end the open transaction of a producer, and return its answer.

    Raises:
        KafkaError: it does not answer.
    """
    transactions = producer._txn_manager  # noqa: SLF001 there is no getter
    name = transactions.transactional_id
    node = await producer.client.coordinator_lookup(CoordinationType.TRANSACTION, name)
    request = EndTxnRequest(
        transactional_id=name,
        producer_id=transactions.producer_id,
        producer_epoch=transactions.producer_epoch,
        transaction_result=result,
    )
    return await producer.client.send(node, request, group=ConnectionGroup.COORDINATION)


def _raise_for(response: Response) -> None:
    """Raise the first error of an answer, of partitions or of all."""
    of_partitions = [code for _, partitions in getattr(response, "errors", ()) for _, code in partitions]
    for code in (*of_partitions, getattr(response, "error_code", 0)):
        if code:
            raise for_code(code)


async def _state_of(client: AIOKafkaClient, name: str) -> str:
    """Return the state of a producer's last transaction; empty where it is not known."""
    node = await client.coordinator_lookup(CoordinationType.TRANSACTION, name)
    no_tags: dict[int, bytes] = {}
    try:
        request = _StatesRequest([name], no_tags)
        response = await client.send(node, request, group=ConnectionGroup.COORDINATION)
    except NotImplementedError:
        return ""
    ((code, _name, state, *_),) = response.states
    if code in _UNTOLD:
        return ""
    if code:
        raise for_code(code)
    return str(state)


_UNKNOWN_NAME = 105
_UNTOLD = frozenset({_UNKNOWN_NAME, TransactionalIdAuthorizationFailed.errno})
"""Errors of a producer that was never started, and of one that may not be: its start says so."""


class _StatesResponse(Response):  # type: ignore[misc] # aiokafka has no types
    """Answer to `_StatesRequest`."""

    API_KEY = 65
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "states",
            CompactArray(
                ("error_code", Int16),
                ("transactional_id", CompactString("utf-8")),
                ("state", CompactString("utf-8")),
                ("timeout_ms", Int32),
                ("start_ms", Int64),
                ("producer_id", Int64),
                ("producer_epoch", Int16),
                (
                    "topics",
                    CompactArray(
                        ("topic", CompactString("utf-8")),
                        ("partitions", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _StatesRequest(OneVersion):
    """Request for the states of transactions by the `transactional.id` of their producers."""

    API_KEY = 65
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _StatesResponse
    SCHEMA = Schema(("transactional_ids", CompactArray(CompactString("utf-8"))), ("tags", TaggedFields))
