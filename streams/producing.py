"""Writing records in order with a bounded number of bytes on their way."""

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from dehusk.streams.kafka import client_options
from dehusk.streams.kafka_errors import kafka_errors
from dehusk.streams.settings import KIB, MIB, Compression, KafkaSettings
from dehusk.streams.sources.source import Record

IN_FLIGHT_BYTES = 32 * MIB
"""What may wait for the brokers' acknowledgement, beside the record that is being sent."""
_LARGEST_REQUEST = 96 * MIB
"""Below the brokers' own limit (100 MiB), beyond which they hang up."""
_LARGEST_BATCH = 32 * KIB
"""Small enough for any topic, so that a record is refused for its own size and not for its neighbours'."""
_LINGER_MS = 5
_NULL = object()
"""Stands for null until it is serialized: beside a null key, aiokafka takes a value of None for a mistake."""
TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)
"""How brokers, and aiokafka itself, refuse a record for its size."""


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
class Sent:
    """What became of a record."""

    outgoing: Outgoing
    refusal: str | None
    """Why the brokers refuse the record, or None where all replicas in sync hold it."""


def create_producer(settings: KafkaSettings, compression: Compression = "none") -> AIOKafkaProducer:
    """A producer, not yet started, whose records are acknowledged by all replicas in sync.

    Raises:
        ConfigurationError: a certificate or key cannot be read.
    """
    return AIOKafkaProducer(
        **client_options(settings),
        acks="all",
        compression_type=None if compression == "none" else compression,
        linger_ms=_LINGER_MS,
        max_batch_size=_LARGEST_BATCH,
        max_request_size=_LARGEST_REQUEST,
        value_serializer=serialized,
    )


def serialized(value: object) -> object:
    """The value of a record, from what its producer is given for it."""
    return None if value is _NULL else value


async def enqueue(producer: AIOKafkaProducer, outgoing: Outgoing) -> asyncio.Future[object]:
    """The acknowledgement of a record, once there is room for it; aiokafka's errors are raised there."""
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
) -> AsyncIterator[Sent]:
    """What became of each record, in order; where brokers are slow, no further records are asked for.

    Raises:
        UnavailableError: the brokers do not answer; the records that were not answered may be written.
        ConfigurationError: the brokers refuse the user.
    """
    pending: deque[tuple[Outgoing, asyncio.Future[object]]] = deque()
    in_flight = 0
    async with _open_producer(settings, compression) as producer:
        async for outgoing in records:
            pending.append((outgoing, await enqueue(producer, outgoing)))
            in_flight += len(outgoing)
            while pending and (in_flight > IN_FLIGHT_BYTES or pending[0][1].done()):
                sent = await _acknowledgement(settings, *pending.popleft())
                in_flight -= len(sent.outgoing)
                yield sent
        while pending:
            yield await _acknowledgement(settings, *pending.popleft())


@asynccontextmanager
async def _open_producer(
    settings: KafkaSettings, compression: Compression
) -> AsyncIterator[AIOKafkaProducer]:
    producer = create_producer(settings, compression)
    try:
        with kafka_errors(settings):
            await producer.start()
        yield producer
    finally:
        await producer.stop()


async def _acknowledgement(
    settings: KafkaSettings, outgoing: Outgoing, acknowledgement: asyncio.Future[object]
) -> Sent:
    with kafka_errors(settings):
        try:
            await acknowledgement
        except TOO_LARGE:
            size = f"{len(outgoing):,} bytes are more than topic {outgoing.topic} takes"
            return Sent(outgoing, f"{size}: raise its max.message.bytes")
    return Sent(outgoing, None)
