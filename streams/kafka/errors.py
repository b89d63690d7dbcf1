"""Kafka's errors, translated into dehusk's.

A cluster that does not answer is an `UnavailableError`; what it refuses for good, and records that nobody can
read, are a `ConfigurationError`.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiokafka import TopicPartition, errors
from aiokafka.consumer.fetcher import PartitionRecords

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka.rights import Operation, Right, refusal
from dehusk.streams.settings import KafkaSettings

ADVICE = "; is it running, and is --brokers right?"
REFUSED = (
    errors.ClusterAuthorizationFailedError,
    errors.InvalidConfigurationError,
    errors.InvalidPartitionsError,
    errors.InvalidReplicationFactorError,
    errors.InvalidTopicError,
    errors.PolicyViolationError,
    errors.SaslAuthenticationFailed,
)
"""Errors by which brokers refuse for good."""
TOO_LARGE = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)
"""Errors by which brokers, and aiokafka itself, refuse a record for its size."""
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
    """The offset after the batch, as its header says; None without a header."""
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
            after = batch.next_offset if batch is not None and batch.next_offset > offset else None
            topic, partition = frame.f_locals["tp"]
            return UnreadableBatch(topic, partition, offset, after, f"{type(error).__name__}: {error}")
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
    except TOO_LARGE as error:
        raise ConfigurationError(
            f"Kafka at {settings.brokers} refuses a record that is larger than its topic takes: "
            "raise the topic's max.message.bytes"
        ) from error
    except REFUSED as error:
        raise ConfigurationError(f"Kafka at {settings.brokers} refuses: {error}") from error
    except Exception as error:
        batch = unreadable_batch(error)
        if batch is not None:
            raise ConfigurationError(str(batch)) from error
        if isinstance(error, _UNREADABLE):
            raise ConfigurationError(f"a batch of records cannot be read: {error}") from error
        if type(error).__module__.startswith("gssapi."):  # which need not be installed
            raise ConfigurationError(
                f"Kerberos gives no ticket for Kafka at {settings.brokers}: {error}"
            ) from error
        if not isinstance(error, errors.KafkaError | OSError):
            raise
        raise UnavailableError(f"Kafka at {settings.brokers} does not answer{_cause(error)}") from error


def refusal_or(error: Exception, settings: KafkaSettings, operation: Operation) -> Exception:
    """Return the refusal that an error of an operation on topics means, else the error of Kafka itself."""
    try:
        with kafka_errors(settings, operation):
            raise error
    except ConfigurationError as refused:
        return refused
    except UnavailableError:
        return error


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
        return ADVICE
    return f": {error}" if str(error) else f": {type(error).__name__}"
