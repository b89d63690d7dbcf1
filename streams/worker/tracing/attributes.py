"""The attributes of spans: OpenTelemetry's conventions for messaging, and what became of the pages.

None holds anything of a page, its URL included.
"""

from collections.abc import Sequence

from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.auditing import PageOutcome
from dehusk.streams.worker.assembly import CleanedMessage
from dehusk.streams.worker.audit import outcome_of

Attributes = dict[str, str | int | bool | Sequence[str]]
_PROCESSING: Attributes = {
    "messaging.system": "kafka",
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
}


def of_batch(messages: Sequence[Message], group: str, revision: int) -> Attributes:
    """Those of a batch of messages, its topic and partition where it has one alone."""
    attributes = _PROCESSING | {
        "messaging.consumer.group.name": group,
        "messaging.batch.message_count": len(messages),
        "dehusk.revision": revision,
    }
    partitions = {(message.topic, message.partition) for message in messages}
    if (topic := only_topic(messages)) is not None:
        attributes["messaging.destination.name"] = topic
    if len(partitions) == 1:
        attributes["messaging.destination.partition.id"] = str(messages[0].partition)
    return attributes


def of_message(message: Message, group: str, revision: int) -> Attributes:
    """Those of a message by itself."""
    return (
        _PROCESSING
        | place_of(message)
        | {
            "messaging.consumer.group.name": group,
            "messaging.message.body.size": len(message.value or b""),
            "messaging.kafka.message.tombstone": message.value is None,
            "dehusk.revision": revision,
        }
    )


def place_of(message: Message) -> Attributes:
    """Where a message is."""
    return {
        "messaging.destination.name": message.topic,
        "messaging.destination.partition.id": str(message.partition),
        "messaging.kafka.offset": message.offset,
    }


def only_topic(messages: Sequence[Message]) -> str | None:
    """The topic of messages; None where there are several."""
    topics = {message.topic for message in messages}
    return topics.pop() if len(topics) == 1 else None


def of_result(cleaned: CleanedMessage) -> Attributes:
    """What became of a message."""
    attributes: Attributes = {
        "dehusk.outcome": _outcome(cleaned).value,
        "dehusk.documents": cleaned.documents,
    }
    if cleaned.failure is not None:
        reason = cleaned.failure.broken.reason.value
        attributes |= {"dehusk.reason": reason, "dehusk.stage": cleaned.failure.stage, "error.type": reason}
    elif cleaned.skipped:
        attributes["dehusk.reason"] = cleaned.skipped[0].reason.value
    if cleaned.degraded:
        attributes["dehusk.degraded"] = cleaned.degraded
    return attributes | of_model(cleaned.model)


def of_model(model: ModelVersion | None) -> Attributes:
    """Those of the model that labeled documents."""
    return {} if model is None else {"dehusk.model.name": model.name, "dehusk.model.version": model.version}


def _outcome(cleaned: CleanedMessage) -> PageOutcome:
    """What became of its pages: a failure before the first record, that before what was skipped."""
    if cleaned.failure is not None:
        return PageOutcome.DEAD_LETTER
    return outcome_of(cleaned.records[0]) if cleaned.records else PageOutcome.SKIPPED
