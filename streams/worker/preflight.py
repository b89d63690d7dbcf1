"""Checks before a worker starts; each error says in one line what to do about it."""

import asyncio
from collections.abc import Collection

from aiokafka import TopicPartition
from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    InvalidSessionTimeoutError,
    TransactionalIdAuthorizationFailed,
)
from aiokafka.protocol.group import JoinGroupRequest

from dehusk.inference.labelers.labeler import Labeler
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Prediction
from dehusk.streams.availability import Dependencies, Dependency
from dehusk.streams.kafka.client import (
    Topic,
    WorkerTopics,
    check_control_topic,
    check_rights,
    describe_worker_topics,
    how_to_create,
    missing_topics,
    open_client,
)
from dehusk.streams.kafka.errors import kafka_errors
from dehusk.streams.kafka.input_topics import input_topics
from dehusk.streams.kafka.offsets import check_offsets
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.kafka.rights import Operation, Right, refusal, transactional_prefix, worker_rights
from dehusk.streams.labelers import PROBE
from dehusk.streams.settings import ValueFormat, WhenTritonIsUnavailable
from dehusk.streams.sources.registry import open_registry
from dehusk.streams.topics.dead_letters import MAX_BARE_BYTES
from dehusk.streams.topics.formats import FORMATS, Format
from dehusk.streams.topics.value_formats import DESCRIBED, NO_REGISTRY, NO_SCHEMA, framed_format
from dehusk.streams.worker.steps.transactions import close_at_once, start_in_time
from dehusk.streams.worker_settings import WorkerSettings


async def open_format(settings: WorkerSettings) -> Format:
    """Return the format of documents, whose schema, if it has one, is registered.

    Nothing is asked of the registry later: the schema does not change while a worker runs.

    Raises:
        ConfigurationError: the registry refuses the schema or the user, or there is none.
        UnavailableError: the registry does not answer.
    """
    if settings.value_format is ValueFormat.JSON:
        return FORMATS[settings.format]
    registry = open_registry(settings.source_settings)
    if settings.format != "document":
        raise ConfigurationError(NO_SCHEMA)
    if registry is None:
        raise ConfigurationError(NO_REGISTRY)
    described = DESCRIBED[settings.value_format]
    subject = settings.schema_subject or f"{settings.topics.output}-value"
    number = await asyncio.to_thread(registry.register, subject, described.language, described.schema)
    return framed_format(settings.value_format, number)


async def check_topics(settings: WorkerSettings) -> WorkerTopics:
    """Return the topics of a worker, if every one exists and the user has all rights.

    Raises:
        UnavailableError: no broker answers.
        ConfigurationError: a topic or right is missing; the message has the command that creates or grants
            it. Or the dead-letter topic is compacted or too small for a letter, or the control topic is none.
    """
    inputs = input_topics(settings.topics)
    await check_rights(settings.kafka, needed_rights(settings, inputs.names))
    topics = await describe_worker_topics(settings.kafka, settings.topics)
    missing = missing_topics(settings.topics, topics)
    if missing:
        names = ", ".join(topic.name for topic in missing)
        creating = how_to_create(settings.kafka, missing)
        raise ConfigurationError(f"missing on {settings.kafka.brokers}: {names}; {creating}")
    if inputs.pattern is not None:
        await check_rights(settings.kafka, needed_rights(settings, [topic.name for topic in topics.inputs]))
    _check_dead_letters(topics.written[settings.topics.dead_letters])
    if settings.topics.control is not None:
        check_control_topic(topics.written[settings.topics.control])
    return topics


def needed_rights(settings: WorkerSettings, inputs: Collection[str]) -> list[Right]:
    """Return the rights that a worker needs to read inputs of these names."""
    return worker_rights(settings.topics, inputs, in_transactions=settings.is_transactional)


def rights_to_clean(settings: WorkerSettings, inputs: Collection[str]) -> list[Right]:
    """Return those of the rights that pages wait for."""
    return [right for right in needed_rights(settings, inputs) if right.name not in settings.topics.beside]


async def check_transactions(settings: WorkerSettings, topics: WorkerTopics) -> None:
    """Check that the brokers begin transactions, and tell the group's offsets, for one of the inputs.

    Raises:
        ConfigurationError: the user lacks the right, or the brokers are too old.
        UnavailableError: the brokers do not answer, or have no coordinator of transactions.
    """
    group, topic = settings.topics.group, topics.inputs[0].name
    prefix = transactional_prefix(group, topic)
    producer = create_producer(settings.kafka, transactional_id=f"{prefix}preflight")
    try:
        with kafka_errors(settings.kafka):
            try:
                await start_in_time(producer)
            except TransactionalIdAuthorizationFailed as error:
                right = Right(Operation.WRITE, prefix, "transactional-id")
                raise refusal(settings.kafka, [right]) from error
    finally:
        await close_at_once(producer)
    await check_offsets(settings.kafka, group, TopicPartition(topic, 0))


async def check_session(settings: WorkerSettings) -> None:
    """Check that the brokers take the time limit of the worker's session.

    Raises:
        ConfigurationError: they do not.
        UnavailableError: no broker answers.
    """
    group, milliseconds = settings.topics.group, int(settings.session_seconds * 1000)
    # The limit is looked at first; then a member of which the group does not know is turned away.
    request = JoinGroupRequest(group, milliseconds, milliseconds, "none", None, "consumer", [("range", b"")])
    async with open_client(settings.kafka) as client:
        try:
            node = await client.coordinator_lookup(CoordinationType.GROUP, group)
        except GroupCoordinatorNotAvailableError:  # in a new cluster, which cannot be asked yet
            return
        response = await client.send(node, request, group=ConnectionGroup.COORDINATION)
    if response.error_code == InvalidSessionTimeoutError.errno:
        raise ConfigurationError(
            f"Kafka at {settings.kafka.brokers} refuses --session-seconds {settings.session_seconds:g}: "
            "it has to be within the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms, "
            "by default 6 and 1,800 seconds"
        )


def _check_dead_letters(dead_letters: Topic) -> None:
    policy = dead_letters.cleanup_policy or ""
    if "compact" in policy:
        raise ConfigurationError(
            f"topic {dead_letters.name} has cleanup.policy {policy}, with which Kafka refuses dead letters "
            "of messages without a key: set it to delete"
        )
    limit = dead_letters.max_message_bytes
    if limit is not None and limit < MAX_BARE_BYTES:
        raise ConfigurationError(
            f"topic {dead_letters.name} takes records of {limit:,} bytes, and a dead letter may have "
            f"{MAX_BARE_BYTES:,} without its message: raise its max.message.bytes"
        )


async def check_labeler(settings: WorkerSettings, labeler: Labeler) -> Prediction | None:
    """Return the answer to a line of text; None where the labeler is optional and does not answer.

    Raises:
        UnavailableError: it does not answer.
        ConfigurationError: its model is missing, reads other tensors than are written, or rejects the line.
    """
    try:
        (labels,) = await labeler.label([PROBE])
    except UnavailableError as error:
        if settings.when_triton_is_unavailable is WhenTritonIsUnavailable.RULES:
            return None
        raise UnavailableError(
            f"{error}; start Triton, give its address with --triton HOST:PORT, "
            "or label in this process with --labeler onnx"
        ) from error
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error}; have the model's repository served, or name another one with --model"
        ) from error
    if isinstance(labels, Broken):
        raise ConfigurationError(f"the labeler rejects a line of text: {labels.detail}")
    return labels


def name_dependencies(settings: WorkerSettings) -> Dependencies:
    """Return the dependencies, all marked as available."""
    waits = settings.when_triton_is_unavailable is WhenTritonIsUnavailable.WAIT
    waits_for = settings.source_settings.waits_for
    return Dependencies(
        kafka=Dependency("kafka", "documents wait for it"),
        redis=Dependency("redis", "pages are cleaned without the statistics of their site"),
        labeler=Dependency(settings.labeler, "pages wait for it" if waits else "pages are labeled by rules"),
        schema_registry=Dependency(waits_for or "schema-registry", "its messages wait for it"),
        has_registry=waits_for is not None,
    )
