"""The user's Kafka cluster: its topics, and the rights on them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    KafkaError,
    NodeNotReadyError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    for_code,
)
from aiokafka.protocol.metadata import MetadataRequest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.kafka.connection_errors import connection_errors
from dehusk.streams.kafka.errors import kafka_errors
from dehusk.streams.kafka.input_topics import InputTopics, input_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.rights import Operation, Right, connecting_options, missing_rights, refusal
from dehusk.streams.settings import (
    AUDIT_TOPIC,
    CONTROL_TOPIC,
    KIB,
    MONITORING_TOPIC,
    REVISIT_TOPIC,
    SUGGESTED_PARTITIONS,
    KafkaSettings,
    PageLimits,
    TopicSettings,
)

METADATA_MS = 10_000
"""Milliseconds after which consumers discover new partitions, and new topics that match a pattern."""
_BROKERS_CHOICE = -1
"""Number of replicas by which the brokers' own default is taken."""
_LIMIT = "max.message.bytes"
_CLEANUP = "cleanup.policy"
_COMPACT = "compact"
_HEADER_BYTES = 64 * KIB
"""Room for what surrounds a page in a message, and for what a dead letter adds to it."""
_UNSEEN_BYTES = PageLimits().max_bytes
"""Limit that stands for that of an input whose settings the user may not see: above those of most topics."""
_FIGURES_KEPT_MS = 2 * 3600 * 1000
"""Retention of the figures of workers: longer than the hour that their pages show."""
_SEGMENT_MS = 600 * 1000
"""Time until reports can be compacted or deleted, which spares the newest segment."""
_KNOWN_SECONDS = 10.0
"""Longest wait for a new topic to be listed; those that a user may not see never are."""
_KNOWN_POLL_SECONDS = 0.05
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
    """The largest record that an existing topic takes; None if the user may not see it."""
    cleanup_policy: str | None = field(default=None, compare=False)
    """The policy by which records of an existing topic go; None if the user may not see it."""


@dataclass(frozen=True, slots=True)
class WorkerTopics:
    """The topics of a worker that exist."""

    inputs: tuple[Topic, ...]
    written: Mapping[str, Topic]
    """The topics that it writes to, by name."""

    @property
    def partitions(self) -> int:
        """Number of the partitions of all inputs."""
        return sum(topic.partitions for topic in self.inputs)


async def describe_topics(
    settings: KafkaSettings, names: Sequence[str], operation: Operation = Operation.READ
) -> dict[str, Topic]:
    """Describe those of the topics that exist; asking never creates a topic.

    Raises:
        ConfigurationError: the user may not do the operation on one.
    """
    await check_rights(settings, [Right(operation, name) for name in names])
    return await find_topics(settings, names)


async def describe_worker_topics(settings: KafkaSettings, topics: TopicSettings) -> WorkerTopics:
    """Describe the topics of a worker.

    Raises:
        ConfigurationError: an input topic does not exist or the user may not know of it, or the worker would
            read what it writes.
    """
    inputs, own = input_topics(topics), topics.written
    matching = inputs.among(await list_topics(settings)) if inputs.pattern else inputs.names
    existing = await find_topics(settings, [*own, *matching])
    unknown = [name for name in inputs.names if name not in existing]
    await check_rights(settings, [Right(Operation.READ, name) for name in unknown])
    written = {name: topic for name, topic in existing.items() if name in own}
    return WorkerTopics(require_inputs(settings, inputs, existing), written)


async def list_topics(settings: KafkaSettings) -> list[str]:
    """Return the names of all topics that the user may know of."""
    async with _open_admin(settings) as admin:
        names: list[str] = await admin.list_topics()
    return names


async def find_topics(settings: KafkaSettings, names: Sequence[str]) -> dict[str, Topic]:
    """Describe those of the topics that exist, but for Kafka's own."""
    request = MetadataRequest(list(names), allow_auto_topic_creation=False)
    async with _open_admin(settings) as admin:
        answer = await admin._send_request(request)  # noqa: SLF001 its own method would create topics
        found = {
            topic["topic"]: topic["partitions"]
            for topic in answer.to_object()["topics"]
            if not (topic["error_code"] or topic["is_internal"])
        }
        entries = await _describe_settings(admin, list(found))
    return {name: _topic(name, partitions, entries.get(name, ())) for name, partitions in found.items()}


async def cluster_id(settings: KafkaSettings) -> str:
    """Return the name that a cluster has given itself; empty where brokers do not tell it."""
    async with _open_admin(settings) as admin:
        return str((await admin.describe_cluster()).get("cluster_id") or "")


async def describe_topic(settings: KafkaSettings, name: str, operation: Operation = Operation.READ) -> Topic:
    """Describe a topic that must exist.

    Raises:
        ConfigurationError: it does not, or the user may not do the operation; the message has the command
            that creates the topic, or grants that.
    """
    existing = await describe_topics(settings, [name], operation)
    (topic,) = require_inputs(settings, InputTopics((name,)), existing)
    return topic


async def check_rights(settings: KafkaSettings, rights: Sequence[Right]) -> None:
    """Check that the user has rights.

    Raises:
        ConfigurationError: one is missing; the message has the command that grants it.
        UnavailableError: the brokers do not answer.
    """
    if rights:
        async with open_client(settings) as client:
            await check_rights_by(client, settings, rights)


async def check_rights_by(client: AIOKafkaClient, settings: KafkaSettings, rights: Sequence[Right]) -> None:
    """Check rights as `check_rights`, by a client that runs."""
    with kafka_errors(settings):
        missing = await missing_rights(client, rights)
    if missing:
        raise refusal(settings, missing)


@asynccontextmanager
async def open_client(settings: KafkaSettings) -> AsyncIterator[AIOKafkaClient]:
    """Open a client for single requests.

    Raises:
        ConfigurationError: the brokers refuse the user, or ask for another security.
        UnavailableError: the brokers do not answer.
    """
    async with _connected(settings, AIOKafkaClient, _bootstrap) as client:
        yield client


async def _bootstrap(client: AIOKafkaClient) -> None:
    await client.bootstrap()
    _require_brokers(client)


async def _start(admin: AIOKafkaAdminClient) -> None:
    await admin.start()
    _require_brokers(admin._client)  # noqa: SLF001 there is no getter


def _require_brokers(client: AIOKafkaClient) -> None:
    """Raise if the cluster names no broker, as while its only one starts: aiokafka counts on one."""
    if not client.cluster.brokers():
        raise NodeNotReadyError("the cluster names no broker")


def require_inputs(
    settings: KafkaSettings, inputs: InputTopics, existing: Mapping[str, Topic]
) -> tuple[Topic, ...]:
    """Return the topics of an input: all that it names, or at least one that its pattern matches.

    Raises:
        ConfigurationError: one does not exist; the message has the command that creates it.
    """
    names = [name for name in inputs.names if name not in existing]
    missing = [Topic(name, SUGGESTED_PARTITIONS, _BROKERS_CHOICE) for name in names]
    if missing:
        verb = "do not exist" if len(missing) > 1 else "does not exist"
        creating = how_to_create(settings, missing)
        raise ConfigurationError(f"topic {', '.join(names)} {verb} on {settings.brokers}; {creating}")
    matching = tuple(existing[name] for name in inputs.among(existing))
    if inputs.pattern is not None and not matching:
        raise ConfigurationError(f"no topic on {settings.brokers} matches {inputs.pattern.pattern}")
    return matching


async def create_topics(
    settings: KafkaSettings, topics: Sequence[Topic], operation: Operation = Operation.READ
) -> tuple[str, ...]:
    """Create the topics that do not exist yet, and return their names.

    Args:
        settings: the cluster.
        topics: the topics.
        operation: what will be done to them, for which the user may need the right.

    Raises:
        ConfigurationError: the cluster refuses one.
    """
    async with _open_admin(settings) as admin:
        response = await admin.create_topics([_new_topic(topic) for topic in topics])
        codes = {error[0]: for_code(error[1]) for error in response.topic_errors}
        denied = [name for name, error in codes.items() if error is TopicAuthorizationFailedError]
        if denied:
            raise refusal(settings, [Right(Operation.CREATE, name) for name in denied])
        for name, error in codes.items():
            if error is not TopicAlreadyExistsError and issubclass(error, KafkaError) and error.errno:
                raise ConfigurationError(f"the cluster refuses to create topic {name}: {error.description}")
        await _wait_until_known(settings, admin, codes.keys(), operation)
    return tuple(name for name, error in codes.items() if not error.errno)


async def _wait_until_known(
    settings: KafkaSettings, admin: AIOKafkaAdminClient, names: Collection[str], operation: Operation
) -> None:
    """Wait until the brokers list topics that they have created: they do so a moment later.

    Raises:
        ConfigurationError: they do not list some for the user, who may create topics and know of none.
    """
    until = time.monotonic() + _KNOWN_SECONDS
    while unknown := set(names) - set(await admin.list_topics()):
        if time.monotonic() > until:
            raise refusal(settings, [Right(operation, name) for name in sorted(unknown)])
        await asyncio.sleep(_KNOWN_POLL_SECONDS)


def _new_topic(topic: Topic) -> NewTopic:
    # aiokafka lets brokers choose only where a topic comes with assignments of replicas, which may be none.
    assignments: dict[int, list[int]] | None = {} if topic.replicas == _BROKERS_CHOICE else None
    return NewTopic(topic.name, topic.partitions, topic.replicas, assignments, dict(topic.settings))


async def ensure_topics(settings: KafkaSettings, topics: TopicSettings) -> tuple[str, ...]:
    """Create the topics that a worker writes to if they are missing, and return those created.

    Raises:
        ConfigurationError: an input topic does not exist, or the cluster refuses one of the others.
    """
    missing = missing_topics(topics, await describe_worker_topics(settings, topics))
    return await create_topics(settings, missing, Operation.WRITE) if missing else ()


async def create_all_topics(
    settings: KafkaSettings, topics: TopicSettings, partitions: int, max_bytes: int
) -> tuple[str, ...]:
    """Create the topics of a worker that are missing, also those that it reads, and return those created.

    Args:
        settings: the cluster.
        topics: the topics; of inputs that a pattern matches, none is created.
        partitions: how many each new input gets; the brokers say how many replicas.
        max_bytes: largest page that a new input takes.

    Raises:
        ConfigurationError: the cluster refuses one, or no topic matches the pattern.
    """
    names = input_topics(topics).names
    existing = await find_topics(settings, names)
    limit = {_LIMIT: str(max_bytes + _HEADER_BYTES)}
    missing = [Topic(name, partitions, _BROKERS_CHOICE, limit) for name in names if name not in existing]
    created = await create_topics(settings, missing) if missing else ()
    return created + await ensure_topics(settings, topics)


def missing_topics(topics: TopicSettings, existing: WorkerTopics, largest: int = 0) -> list[Topic]:
    """Return the topics that a worker still needs, partitioned and replicated like the largest of its inputs.

    Dead letters may be larger than any message that the inputs take, or `largest` bytes: brokers limit
    messages as their producers compress them, and dead letters may not be compressed.
    """
    partitions = max(topic.partitions for topic in existing.inputs)
    replicas = max(topic.replicas for topic in existing.inputs)
    max_bytes = max(topic.max_message_bytes or _UNSEEN_BYTES for topic in existing.inputs)
    limits = {_LIMIT: str(max_bytes)} if any(_LIMIT in topic.settings for topic in existing.inputs) else {}
    letter_limits = {_LIMIT: str(max(max_bytes, largest) + _HEADER_BYTES)}
    needed = (
        *(
            Topic(name, partitions, replicas, {_CLEANUP: _COMPACT, **limits})
            for name in (topics.output, topics.unsure)
            if name
        ),
        Topic(topics.dead_letters, partitions, replicas, letter_limits),
        *(Topic(name, partitions, replicas) for name in (topics.revisits, topics.audit) if name),
        *_compacted_topics(topics, replicas),
    )
    return [topic for topic in needed if topic.name not in existing.written]


def _compacted_topics(topics: TopicSettings, replicas: int) -> Iterator[Topic]:
    """Yield the topics that every worker reads whole, in order."""
    if topics.monitoring is not None:
        kept = {
            _CLEANUP: "compact,delete",
            "retention.ms": str(_FIGURES_KEPT_MS),
            "segment.ms": str(_SEGMENT_MS),
        }
        yield Topic(topics.monitoring, 1, replicas, kept)
    if topics.control is not None:
        yield control_topic(topics.control, replicas)


def control_topic(name: str, replicas: int) -> Topic:
    """Return a control topic: each worker reports there every few seconds, so it is compacted often."""
    return Topic(name, 1, replicas, {_CLEANUP: _COMPACT, "segment.ms": str(_SEGMENT_MS)})


def check_control_topic(topic: Topic) -> None:
    """Check that an existing topic can be a control topic: in one order, the last record of each key kept.

    Raises:
        ConfigurationError: it has several partitions, or is not compacted alone.
    """
    policy = topic.cleanup_policy or _COMPACT
    faults = [
        *([f"it has {topic.partitions} partitions, and one is needed"] if topic.partitions != 1 else []),
        *([f"its cleanup.policy is {policy}, and has to be compact"] if policy != _COMPACT else []),
    ]
    if faults:
        raise ConfigurationError(f"topic {topic.name} is no control topic: {'; '.join(faults)}")


def create_command(settings: KafkaSettings, topic: Topic) -> str:
    """Return the command of Kafka's own tools that creates a topic."""
    options = [
        f"{connecting_options(settings)} --create --topic {topic.name}",
        f"--partitions {topic.partitions}",
        *([] if topic.replicas == _BROKERS_CHOICE else [f"--replication-factor {topic.replicas}"]),
        *(f"--config {name}={value}" for name, value in topic.settings.items()),
    ]
    return "kafka-topics.sh " + " ".join(options)


def how_to_create(settings: KafkaSettings, topics: Sequence[Topic]) -> str:
    """Tell in a line what to do about missing topics, with Kafka's own tools and without."""
    commands = " && ".join(create_command(settings, topic) for topic in topics)
    others = f"others are created by `dehusk probe TOPIC --create`, or with Kafka's own tools: {commands}"
    return f"{topics_of_local_stack()}; {others}"


def topics_of_local_stack() -> str:
    """Name the topics of the local cluster, which comes without Kafka's tools."""
    local = TopicSettings()
    own = (local.input, local.output, local.dead_letters, AUDIT_TOPIC, REVISIT_TOPIC, MONITORING_TOPIC)
    names = f"{', '.join(own)} and {CONTROL_TOPIC}"
    return f"the Kafka of `dehusk up`, which comes without Kafka's tools, has {names}: use these there"


@asynccontextmanager
async def _open_admin(settings: KafkaSettings) -> AsyncIterator[AIOKafkaAdminClient]:
    async with _connected(settings, AIOKafkaAdminClient, _start) as admin:
        yield admin


@asynccontextmanager
async def _connected(
    settings: KafkaSettings, kind: Callable[..., Any], connect: Callable[[Any], Awaitable[None]]
) -> AsyncIterator[Any]:
    """Open a client of a kind, which `connect` connects."""
    options = client_options(settings)
    client = kind(**options)
    try:
        with kafka_errors(settings):
            async with connection_errors(settings, options.get("ssl_context")):
                await connect(client)
            yield client
    finally:
        await client.close()


async def _describe_settings(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, list[_Entry]]:
    """Return the settings of each topic; none if the user may not see them."""
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
        values.get(_CLEANUP),
    )
