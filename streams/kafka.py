"""The user's Kafka cluster: how clients connect to it, and its topics."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.input_topics import InputTopics, input_topics
from dehusk.streams.kafka_errors import kafka_errors, one_error
from dehusk.streams.settings import (
    AUDIT_TOPIC,
    CONTROL_TOPIC,
    KIB,
    MONITORING_TOPIC,
    REVISIT_TOPIC,
    KafkaSettings,
    TopicSettings,
)
from dehusk.streams.tls import tls_context

SUGGESTED_PARTITIONS = 8
"""For a topic of which nothing is known."""
_LIMIT = "max.message.bytes"
_HEADER_BYTES = 64 * KIB
"""Room for what a dead letter adds to its message."""
_FIGURES_KEPT_MS = 2 * 3600 * 1000
"""How long the figures of workers are kept: longer than the hour that their pages show."""
_FIGURES_SEGMENT_MS = 600 * 1000
"""How soon they can be compacted or deleted, of which brokers spare the newest segment."""
_SET_ON_TOPIC = 1
"""ConfigSource of Kafka's protocol: set on the topic itself, no default of the brokers."""
_Entry = tuple[str, str, bool, int]
"""A setting as Kafka describes it: name, value, whether it is read-only, its ConfigSource, and more."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that exists, or that is to be created."""

    name: str
    partitions: int
    replicas: int
    settings: Mapping[str, str] = field(default_factory=dict)
    """The topic's own settings, where they differ from the brokers'."""
    max_message_bytes: int | None = field(default=None, compare=False)
    """The largest record that an existing topic takes; None where that may not be seen."""


@dataclass(frozen=True, slots=True)
class WorkerTopics:
    """The topics of a worker that exist."""

    inputs: tuple[Topic, ...]
    written: Mapping[str, Topic]
    """The topics that it writes to, by name."""


def client_options(settings: KafkaSettings) -> dict[str, Any]:
    """The keyword arguments of aiokafka's clients.

    Raises:
        ConfigurationError: a certificate or key cannot be read.
    """
    security = settings.security
    options: dict[str, Any] = {
        "bootstrap_servers": [broker.strip() for broker in settings.brokers.split(",")],
        "security_protocol": security.protocol,
    }
    if security.protocol.endswith("SSL"):
        options["ssl_context"] = ssl_context(settings)
    if security.protocol.startswith("SASL"):
        options["sasl_mechanism"] = security.sasl_mechanism
        options["sasl_plain_username"] = security.username
        options["sasl_plain_password"] = security.password
    return options


def ssl_context(settings: KafkaSettings) -> ssl.SSLContext:
    """The TLS context of a secured cluster: it checks the brokers' certificates and names.

    Raises:
        ConfigurationError: a certificate or key cannot be read.
    """
    security = settings.security
    return tls_context(security.ca_file, security.certificate_file, security.key_file)


async def describe_topics(settings: KafkaSettings, names: Sequence[str]) -> dict[str, Topic]:
    """Those of the topics that exist, with their settings; asking never creates a topic."""
    return await _describe(settings, set(names).__contains__)


async def describe_worker_topics(settings: KafkaSettings, topics: TopicSettings) -> WorkerTopics:
    """The topics of a worker.

    Raises:
        ConfigurationError: an input topic does not exist, or the worker would read what it writes.
    """
    inputs, own = input_topics(topics), topics.written
    found = await _describe(settings, lambda name: name in own or inputs.match(name))
    written = {name: topic for name, topic in found.items() if name in own}
    return WorkerTopics(require_inputs(settings, inputs, found), written)


async def _describe(settings: KafkaSettings, is_wanted: Callable[[str], bool]) -> dict[str, Topic]:
    async with _open_admin(settings) as admin:
        # A request that names a topic may create it, where brokers allow that; one for all topics cannot.
        topics = [topic for topic in await admin.describe_topics() if not topic["is_internal"]]
        found = {topic["topic"]: topic for topic in topics if is_wanted(topic["topic"])}
        entries = await _describe_settings(admin, list(found))
    return {name: _topic(name, topic["partitions"], entries.get(name, ())) for name, topic in found.items()}


async def describe_topic(settings: KafkaSettings, name: str) -> Topic:
    """A topic that must exist.

    Raises:
        ConfigurationError: it does not; the message has the command that creates it.
    """
    (topic,) = require_inputs(settings, InputTopics((name,)), await describe_topics(settings, [name]))
    return topic


def require_inputs(
    settings: KafkaSettings, inputs: InputTopics, existing: Mapping[str, Topic]
) -> tuple[Topic, ...]:
    """The topics of an input: all that it names, or at least one that its pattern matches.

    Raises:
        ConfigurationError: one does not exist; the message has the command that creates it.
    """
    missing = [Topic(name, SUGGESTED_PARTITIONS, 1) for name in inputs.names if name not in existing]
    if missing:
        names = ", ".join(topic.name for topic in missing)
        verb = "do not exist" if len(missing) > 1 else "does not exist"
        creating = how_to_create(settings, missing)
        raise ConfigurationError(f"topic {names} {verb} on {settings.brokers}; {creating}")
    found = tuple(existing[name] for name in inputs.among(existing))
    if inputs.pattern is not None and not found:
        raise ConfigurationError(f"no topic on {settings.brokers} matches {inputs.pattern.pattern}")
    return found


async def create_topics(settings: KafkaSettings, topics: Sequence[Topic]) -> tuple[str, ...]:
    """Create the topics that do not exist yet, and answer their names.

    Raises:
        ConfigurationError: the cluster refuses one.
    """
    wanted = [
        NewTopic(topic.name, topic.partitions, topic.replicas, topic_configs=dict(topic.settings))
        for topic in topics
    ]
    async with _open_admin(settings) as admin:
        response = await admin.create_topics(wanted)
        codes = {error[0]: for_code(error[1]) for error in response.topic_errors}
        for name, error in codes.items():
            if error is not TopicAlreadyExistsError and issubclass(error, KafkaError) and error.errno:
                raise ConfigurationError(f"the cluster refuses to create topic {name}: {error.description}")
        await _wait_until_known(admin, set(codes))
    return tuple(name for name, error in codes.items() if not error.errno)


async def _wait_until_known(admin: AIOKafkaAdminClient, names: set[str]) -> None:
    """Wait for the brokers to learn of new topics: the controller answers before they know."""
    while not names <= set(await admin.list_topics()):  # noqa: ASYNC110 the brokers set no event
        await asyncio.sleep(0.05)


async def ensure_topics(settings: KafkaSettings, topics: TopicSettings) -> tuple[str, ...]:
    """Create the topics that a worker writes to if they are missing, and answer those created.

    Raises:
        ConfigurationError: an input topic does not exist, or the cluster refuses one of the others.
    """
    missing = missing_topics(topics, await describe_worker_topics(settings, topics))
    return await create_topics(settings, missing) if missing else ()


def missing_topics(topics: TopicSettings, found: WorkerTopics, largest: int = 0) -> list[Topic]:
    """The topics that a worker still needs: partitioned and replicated like the largest of its inputs.

    Dead letters may be larger than any message that the inputs take, or `largest` bytes: brokers limit
    messages as their producers compress them, and dead letters may not be compressed.
    """
    partitions = max(topic.partitions for topic in found.inputs)
    replicas = max(topic.replicas for topic in found.inputs)
    most_bytes = max(topic.max_message_bytes or 0 for topic in found.inputs)
    limits = {_LIMIT: str(most_bytes)} if any(_LIMIT in topic.settings for topic in found.inputs) else {}
    letter_limits = {_LIMIT: str(max(most_bytes, largest) + _HEADER_BYTES)}
    wanted = (
        Topic(topics.output, partitions, replicas, {"cleanup.policy": "compact", **limits}),
        Topic(topics.dead_letters, partitions, replicas, letter_limits),
        *(Topic(name, partitions, replicas) for name in (topics.revisits, topics.audit) if name),
        *_compacted_topics(topics, replicas),
    )
    return [topic for topic in wanted if topic.name not in found.written]


def _compacted_topics(topics: TopicSettings, replicas: int) -> Iterator[Topic]:
    """The topics that every worker reads whole, in order."""
    if topics.monitoring is not None:
        kept = {
            "cleanup.policy": "compact,delete",
            "retention.ms": str(_FIGURES_KEPT_MS),
            "segment.ms": str(_FIGURES_SEGMENT_MS),
        }
        yield Topic(topics.monitoring, 1, replicas, kept)
    if topics.control is not None:
        yield Topic(topics.control, 1, replicas, {"cleanup.policy": "compact"})


def create_command(settings: KafkaSettings, topic: Topic) -> str:
    """The command of Kafka's own tools that creates a topic."""
    options = [
        f"--bootstrap-server {settings.brokers} --create --topic {topic.name}",
        f"--partitions {topic.partitions} --replication-factor {topic.replicas}",
        *(f"--config {name}={value}" for name, value in topic.settings.items()),
    ]
    return "kafka-topics.sh " + " ".join(options)


def how_to_create(settings: KafkaSettings, topics: Sequence[Topic]) -> str:
    """What to do about missing topics, in a line, with Kafka's own tools and without."""
    commands = " && ".join(create_command(settings, topic) for topic in topics)
    return f"{topics_of_local_stack()}; create others with Kafka's own tools: {commands}"


def topics_of_local_stack() -> str:
    """What a cluster has that comes without Kafka's tools."""
    local = TopicSettings()
    own = (local.input, local.output, local.dead_letters, AUDIT_TOPIC, REVISIT_TOPIC, MONITORING_TOPIC)
    names = f"{', '.join(own)} and {CONTROL_TOPIC}"
    return f"the Kafka of `dehusk up`, which comes without Kafka's tools, has {names}: use these there"


@asynccontextmanager
async def _open_admin(settings: KafkaSettings) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(**client_options(settings))
    try:
        with kafka_errors(settings):
            with one_error(settings):
                await admin.start()
            yield admin
    finally:
        await admin.close()


async def _describe_settings(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, list[_Entry]]:
    """Each topic's settings; none where the user may not see them."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    responses = await admin.describe_configs(resources) if resources else []
    return {
        name: entries for response in responses for _code, _error, _kind, name, entries in response.resources
    }


def _topic(name: str, partitions: Sequence[Mapping[str, Any]], entries: Sequence[_Entry]) -> Topic:
    values = {entry[0]: entry[1] for entry in entries}
    limit = values.get(_LIMIT)
    return Topic(
        name,
        len(partitions),
        min((len(partition["replicas"]) for partition in partitions), default=1),
        {entry[0]: entry[1] for entry in entries if entry[3] == _SET_ON_TOPIC},
        int(limit) if limit else None,
    )
