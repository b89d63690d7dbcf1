"""Producers, which write records in order with a bounded number of bytes in flight."""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from aiokafka import AIOKafkaProducer
from aiokafka.cluster import ClusterMetadata
from aiokafka.errors import (
    KafkaError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    UnknownError,
    UnknownTopicOrPartitionError,
)

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.kafka.errors import TOO_LARGE, kafka_errors
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.rights import Operation
from dehusk.streams.settings import KIB, MIB, Compression, KafkaSettings
from dehusk.streams.sources.source import Record

IN_FLIGHT_BYTES = 32 * MIB
"""Bytes that may wait for the brokers' acknowledgement, beside the record that is being sent."""
_MAX_REQUEST_BYTES = 96 * MIB
"""Below the brokers' own limit (100 MiB), beyond which they hang up."""
_MAX_BATCH_BYTES = 32 * KIB
"""Small enough for any topic, so that a record is refused for its own size and not for its neighbours'."""
_MAX_TOGETHER_BYTES = MIB
"""Size of a batch that any topic takes by default, for records of which all or none are to be written."""
_LINGER_MS = 5
_NULL = object()
"""Placeholder of null until it is serialized: beside a null key, aiokafka takes a None for a mistake."""
UNNAMED = (
    "brokers refuse it for a reason that aiokafka does not know; their log has it "
    "(a compacted topic refuses records without a key)"
)
"""Words for an error whose code aiokafka does not know."""
_TOO_FEW_REPLICAS = (NotEnoughReplicasError, NotEnoughReplicasAfterAppendError)


def describe_failure(topic: str, error: KafkaError) -> str:
    """Return the reason why a record could not be sent to a topic."""
    if isinstance(error, _TOO_FEW_REPLICAS):
        return f"topic {topic} has fewer replicas in sync than its min.insync.replicas"
    if isinstance(error, UnknownError):
        return f"topic {topic} does not take what is sent: {UNNAMED}"
    return f"no broker takes what is sent: {error}"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record and where it goes."""

    topic: str
    record: Record
    partition: int | None = None
    """None for the one of the record's key, or any where it has none."""

    def __len__(self) -> int:
        """Bytes of key and value."""
        return len(self.record.key or b"") + len(self.record.value or b"")


@dataclass(frozen=True, slots=True)
class SendResult:
    """A record that the brokers answered."""

    outgoing: Outgoing
    refusal: str | None
    """The reason why the brokers refuse the record; None if all replicas in sync hold it."""


def create_producer(
    settings: KafkaSettings,
    compression: Compression = "none",
    transactional_id: str | None = None,
    *,
    max_batch_bytes: int = _MAX_BATCH_BYTES,
) -> AIOKafkaProducer:
    """Create a producer, not yet started, whose records are acknowledged by all replicas in sync.

    With a `transactional_id`, it writes in transactions.

    Raises:
        ConfigurationError: a certificate or key cannot be read.
    """
    producer = AIOKafkaProducer(
        **client_options(settings),
        acks="all",
        compression_type=None if compression == "none" else compression,
        linger_ms=_LINGER_MS,
        max_batch_size=max_batch_bytes,
        max_request_size=_MAX_REQUEST_BYTES,
        value_serializer=serialized,
        transactional_id=transactional_id,
    )
    producer.client.cluster.add_listener(partial(_fail_gone, producer))
    return producer


def _fail_gone(producer: AIOKafkaProducer, cluster: ClusterMetadata) -> None:
    """Fail the records for partitions that their topic no longer has, as it was made again with fewer.

    aiokafka would wait until they come back: as long as for a leader, or in a transaction without limit.
    """
    waiting = producer._message_accumulator  # noqa: SLF001 there is no getter
    for topic, number in list(waiting._batches):  # noqa: SLF001 likewise
        known = cluster.partitions_for_topic(topic)
        if known is None or number in known:
            continue
        error = UnknownTopicOrPartitionError(f"topic {topic} has no partition {number} any more")
        while (topic, number) in waiting._batches:  # noqa: SLF001 likewise
            waiting._pop_batch((topic, number)).failure(error)  # noqa: SLF001 likewise


def serialized(value: object) -> object:
    """Return the value of a record, from what its producer is given for it."""
    return None if value is _NULL else value


async def enqueue(producer: AIOKafkaProducer, outgoing: Outgoing) -> asyncio.Future[object]:
    """Give a record to a producer once there is room for it, and return its acknowledgement, or error."""
    record = outgoing.record
    value = _NULL if record.value is None else record.value
    acknowledgement: asyncio.Future[object]
    try:
        acknowledgement = await producer.send(
            outgoing.topic, value, record.key, outgoing.partition, headers=list(record.headers)
        )
    except KafkaError as error:
        acknowledgement = asyncio.get_running_loop().create_future()
        acknowledgement.set_exception(error)
        acknowledgement.exception()  # asyncio would complain where an earlier error leaves this one unread
    return acknowledgement


async def send(
    settings: KafkaSettings, records: AsyncIterable[Outgoing], compression: Compression = "none"
) -> AsyncIterator[SendResult]:
    """Send records and yield each once it is answered, in order; slow brokers are given no further ones.

    Raises:
        UnavailableError: the brokers do not answer; the records that were not answered may be written.
        ConfigurationError: the brokers refuse the user.
    """
    pending: deque[tuple[Outgoing, asyncio.Future[object]]] = deque()
    in_flight = 0
    async with open_producer(settings, compression) as producer:
        async for outgoing in records:
            pending.append((outgoing, await enqueue(producer, outgoing)))
            in_flight += len(outgoing)
            while pending and (in_flight > IN_FLIGHT_BYTES or pending[0][1].done()):
                sent = await _acknowledgement(settings, *pending.popleft())
                in_flight -= len(sent.outgoing)
                yield sent
        while pending:
            yield await _acknowledgement(settings, *pending.popleft())


async def send_together(settings: KafkaSettings, topic: str, records: Sequence[Record]) -> None:
    """Append records to the first partition of a topic as one batch: all of them, or none.

    Raises:
        ConfigurationError: they are too large, or the brokers refuse them.
        UnavailableError: the brokers do not answer; the records may be written.
    """
    async with open_producer(settings, max_batch_bytes=_MAX_TOGETHER_BYTES) as producer:
        batch = producer.create_batch()
        added = [
            batch.append(timestamp=None, key=each.key, value=each.value, headers=list(each.headers))
            for each in records
        ]
        if None in added:
            most = f"{_MAX_TOGETHER_BYTES:,} bytes"
            raise ConfigurationError(f"records for topic {topic} are larger than {most}")
        with kafka_errors(settings, Operation.WRITE):
            try:
                await (await producer.send_batch(batch, topic, partition=0))
            except TOO_LARGE as error:
                size = f"{batch.size():,} bytes are more than topic {topic} takes"
                raise ConfigurationError(f"{size}: raise its max.message.bytes") from error


@asynccontextmanager
async def open_producer(
    settings: KafkaSettings, compression: Compression = "none", *, max_batch_bytes: int = _MAX_BATCH_BYTES
) -> AsyncIterator[AIOKafkaProducer]:
    """Open a producer whose records are acknowledged by all replicas in sync.

    Raises:
        UnavailableError: the brokers do not answer.
        ConfigurationError: the brokers refuse the user.
    """
    producer = create_producer(settings, compression, max_batch_bytes=max_batch_bytes)
    try:
        with kafka_errors(settings):
            await producer.start()
        yield producer
    finally:
        await producer.stop()


async def _acknowledgement(
    settings: KafkaSettings, outgoing: Outgoing, acknowledgement: asyncio.Future[object]
) -> SendResult:
    with kafka_errors(settings, Operation.WRITE):
        try:
            await acknowledgement
        except TOO_LARGE:
            size = f"{len(outgoing):,} bytes are more than topic {outgoing.topic} takes"
            return SendResult(outgoing, f"{size}: raise its max.message.bytes")
    return SendResult(outgoing, None)
