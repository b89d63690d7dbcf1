"""Kafka's errors, translated into dehusk's.

A cluster that does not answer is an `UnavailableError`; what it refuses for good, and records that nobody can
read, are a `ConfigurationError`.
"""

import logging
import ssl
import traceback
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from aiokafka import TopicPartition, errors
from aiokafka.consumer.fetcher import PartitionRecords

from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.streams.kafka.listeners import describe_listener
from dehusk.streams.kafka.rights import Operation, Right, refusal
from dehusk.streams.settings import KafkaSettings

_CLIENT_LOG = logging.getLogger("aiokafka")
"""Logger of aiokafka.client, and of no other module of aiokafka."""
_ADVICE = "; is it running, and is --brokers right?"
_REFUSED = (
    errors.ClusterAuthorizationFailedError,
    errors.InvalidConfigurationError,
    errors.InvalidPartitionsError,
    errors.InvalidReplicationFactorError,
    errors.InvalidTopicError,
    errors.PolicyViolationError,
    errors.SaslAuthenticationFailed,
)
_UNREADABLE = (errors.CorruptRecordException, errors.UnsupportedCodecError)
_UNPACKING = PartitionRecords._unpack_records.__code__  # noqa: SLF001 nothing else knows the batch


@dataclass(frozen=True, slots=True)
class UnreadableBatch:
    """Records of a partition whose checksum or compression is wrong."""

    topic: str
    partition: int
    offset: int
    """The first offset that cannot be read."""
    next_offset: int | None
    """The offset behind the batch, as its header says; None without a header."""
    cause: str

    def __str__(self) -> str:
        last = "" if self.next_offset is None else f" to {self.next_offset - 1}"
        where = f"partition {self.partition} of topic {self.topic}"
        return f"{where} cannot be read from offset {self.offset}{last}: {self.cause}"


def unreadable_batch(error: Exception) -> UnreadableBatch | None:
    """Find the batch that aiokafka could not read when it raised this error; None for other errors.

    Its errors do not name the batch, and may be of any class: those of compressions come as they are.
    """
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is _UNPACKING:
            records, batch = frame.f_locals["self"], frame.f_locals.get("next_batch")
            offset = records.next_fetch_offset
            behind = batch.next_offset if batch is not None and batch.next_offset > offset else None
            topic, partition = frame.f_locals["tp"]
            return UnreadableBatch(topic, partition, offset, behind, f"{type(error).__name__}: {error}")
    return None


@contextmanager
def kafka_errors(settings: KafkaSettings, operation: Operation = Operation.READ) -> Iterator[None]:
    """Translate Kafka's exceptions into dehusk's; the operation is what is done to topics."""
    try:
        yield
    except errors.TopicAuthorizationFailedError as error:
        raise refusal(settings, [Right(operation, name) for name in _topics(error)]) from error
    except errors.GroupAuthorizationFailedError as error:
        raise refusal(settings, [Right(Operation.READ, str(error.args[0]), "group")]) from error
    except _REFUSED as error:
        raise ConfigurationError(f"Kafka at {settings.brokers} refuses: {error}") from error
    except Exception as error:
        batch = unreadable_batch(error)
        if batch is not None:
            raise ConfigurationError(str(batch)) from error
        if isinstance(error, _UNREADABLE):
            raise ConfigurationError(f"a batch of records cannot be read: {error}") from error
        if not isinstance(error, errors.KafkaError | OSError):
            raise
        raise UnavailableError(f"Kafka at {settings.brokers} does not answer{_cause(error)}") from error


def _topics(error: errors.TopicAuthorizationFailedError) -> list[str]:
    """Return the topics that an error of aiokafka names: one, several or that of a partition."""
    match error.args:
        case (str() as name,) | (TopicPartition(topic=name),):
            return [name]
        case (names,):
            return sorted(names)
    return []


def _cause(error: Exception) -> str:
    """Return aiokafka's words for an error, but advice if it is only that no broker could be reached."""
    if isinstance(error, errors.KafkaConnectionError) and "Unable to bootstrap" in str(error):
        return _ADVICE
    return f": {error}" if str(error) else f": {type(error).__name__}"


@asynccontextmanager
async def one_error(settings: KafkaSettings, tls: ssl.SSLContext | None) -> AsyncIterator[None]:
    """Raise one error that tells why no broker could be reached, also by a client with a context of TLS."""
    # aiokafka logs the cause for each broker, and raises an error that names none. What it logs is withheld
    # while a client starts: dehusk's error has it if no broker is reached, and else it is logged after all.
    withheld = _Withheld()
    _CLIENT_LOG.addFilter(withheld)
    try:
        yield
    except errors.KafkaConnectionError as error:
        records, withheld.records = withheld.records, []
        asked = await describe_listener(settings, tls)
        if asked is not None:
            raise ConfigurationError(f"Kafka at {settings.brokers} refuses: {asked}") from error
        raise _unreached(settings, records) from error
    finally:
        _CLIENT_LOG.removeFilter(withheld)
        for record in withheld.records:
            _CLIENT_LOG.handle(record)


def _unreached(settings: KafkaSettings, records: Sequence[logging.LogRecord]) -> DehuskError:
    causes = "; ".join(record.getMessage() for record in records)
    if any(isinstance(value, _REFUSED) for record in records for value in record.args or ()):
        return ConfigurationError(f"Kafka at {settings.brokers} refuses: {causes}")
    return UnavailableError(f"Kafka at {settings.brokers} does not answer{_ADVICE} ({causes})")


class _Withheld(logging.Filter):
    """Keeps warnings and errors from being logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the record is of no more than information."""
        if record.levelno < logging.WARNING:
            return True
        self.records.append(record)
        return False
