"""Rights of a Kafka user: those that ACLs do not give it, in words, with the command that grants them."""

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from aiokafka import errors
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.protocol.admin import DescribeGroupsRequest_v3, DescribeGroupsResponse_v3
from aiokafka.protocol.api import Response
from aiokafka.protocol.types import Array, Boolean, Int16, Int32, Schema, String

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.kafka.protocol import OneVersion
from dehusk.streams.settings import KafkaSecurity, KafkaSettings, TopicSettings

_ANY = -1
"""Operations where it is not known that one is denied."""
_NONE = 0
_UNTOLD = -(2**31)
"""Operations of a broker that does not tell them."""
_DENIED = (errors.TopicAuthorizationFailedError.errno, errors.GroupAuthorizationFailedError.errno)


class Operation(IntEnum):
    """Operation with the code of Kafka's protocol; one that may be read or written may be described, too."""

    READ = 3
    WRITE = 4
    CREATE = 5


@dataclass(frozen=True, slots=True)
class Right:
    """An operation that ACLs allow a user on a topic or consumer group."""

    operation: Operation
    name: str
    """The begin of the name, for transactional IDs."""
    resource: Literal["topic", "group", "transactional-id"] = "topic"

    @property
    def is_prefixed(self) -> bool:
        """True if the name is the begin of others."""
        return self.resource == "transactional-id"


def transactional_prefix(group: str, topic: str) -> str:
    """Return the begin of the transactional IDs of a topic's partitions, which the number of one follows.

    No topic has a slash in its name, so the IDs of two groups differ whatever these are called.
    """
    return f"{group}/{topic}/"


def worker_rights(
    topics: TopicSettings, inputs: Collection[str], *, in_transactions: bool = False
) -> list[Right]:
    """Return the rights that a worker needs to read inputs of these names."""
    prefixes = [transactional_prefix(topics.group, name) for name in inputs] if in_transactions else []
    read = [*inputs, *(topic for topic in (topics.revisits, topics.monitoring, topics.control) if topic)]
    groups = [topics.group, *([topics.revisit_group] if topics.revisits else [])]
    return [
        *(Right(Operation.READ, topic) for topic in read),
        *(Right(Operation.READ, group, "group") for group in groups),
        *(Right(Operation.WRITE, topic) for topic in topics.written),
        *(Right(Operation.WRITE, prefix, "transactional-id") for prefix in prefixes),
    ]


def refusal(settings: KafkaSettings, missing: Sequence[Right]) -> ConfigurationError:
    """Return the error that names missing rights, whose they are to be, and the commands that grant them."""
    lacking = ", ".join(
        f"{operation.name.capitalize()} on " + " and ".join(f"{each.resource} {each.name}" for each in rights)
        for operation, rights in _grouped(missing)
    )
    commands = " && ".join(granting_commands(settings, missing))
    user = _principal(settings.security)
    return ConfigurationError(
        f"Kafka at {settings.brokers} refuses: {user} lacks {lacking}; an administrator grants it: {commands}"
    )


def granting_commands(settings: KafkaSettings, missing: Sequence[Right]) -> list[str]:
    """Return the commands of Kafka's own tools that grant rights."""
    return [_command(settings, rights) for _, rights in _grouped(missing)]


def _grouped(rights: Sequence[Right]) -> Iterator[tuple[Operation, list[Right]]]:
    """Yield the rights that one command grants, which is for one operation and one kind of names."""
    grouped: dict[tuple[Operation, bool], list[Right]] = {}
    for right in dict.fromkeys(rights):
        grouped.setdefault((right.operation, right.is_prefixed), []).append(right)
    for (operation, _), group in grouped.items():
        yield operation, group


def _command(settings: KafkaSettings, rights: Sequence[Right]) -> str:
    """Return the command of Kafka's own tools that grants an operation."""
    principal, operation = shlex.quote(_principal(settings.security)), rights[0].operation.name.capitalize()
    resources = " ".join(f"--{right.resource} {shlex.quote(right.name)}" for right in rights)
    prefixed = " --resource-pattern-type prefixed" if rights[0].is_prefixed else ""
    return (
        f"kafka-acls.sh {connecting_options(settings)} --add --allow-principal {principal} "
        f"--operation {operation} {resources}{prefixed}"
    )


def connecting_options(settings: KafkaSettings) -> str:
    """Return the options by which Kafka's own tools connect, on a secured cluster as its administrator.

    An administrator has properties of its own: security.protocol and what this needs.
    """
    secured = "" if settings.security.protocol == "PLAINTEXT" else " --command-config admin.properties"
    return f"--bootstrap-server {settings.brokers}{secured}"


def _principal(security: KafkaSecurity) -> str:
    """Return the user as ACLs name it, where brokers do not map names."""
    if security.broker_mechanism in ("OAUTHBEARER", "GSSAPI"):
        return f"User:PRINCIPAL-OF-{security.sasl_mechanism}"
    if security.username is not None:
        return f"User:{security.username}"
    if security.certificate_file is not None:
        return f"User:SUBJECT-OF-{security.certificate_file.name}"
    return "User:ANONYMOUS"


async def missing_rights(client: AIOKafkaClient, rights: Collection[Right]) -> list[Right]:
    """Return those of the rights that the brokers do not give a client's user.

    None is missing of which the brokers do not tell, as those before Kafka 2.3, and none on topics that do
    not exist, where the user may know that.

    Raises:
        KafkaError: the brokers do not answer.
    """
    topics = await _allowed_on_topics(client, [right.name for right in rights if right.resource == "topic"])
    groups = {
        right.name: await _allowed_on_group(client, right.name)
        for right in rights
        if right.resource == "group"
    }
    transactions = {
        right.name: await _allowed_in_transactions(client, right.name)
        for right in rights
        if right.is_prefixed
    }
    allowed = {"topic": topics, "group": groups, "transactional-id": transactions}
    return [right for right in rights if not allowed[right.resource][right.name] >> right.operation & 1]


async def _allowed_on_topics(client: AIOKafkaClient, names: Sequence[str]) -> dict[str, int]:
    """Return the operations, a bit each, that are allowed on topics; asking creates none."""
    creates, of_cluster, of_topics = False, False, True
    request = _MetadataRequest(names, creates, of_cluster, of_topics)
    try:
        response = await client.send(client.get_random_node(), request)
    except NotImplementedError:
        return dict.fromkeys(names, _ANY)
    return {name: _allowed(code, operations) for code, name, *_, operations in response.topics}


async def _allowed_on_group(client: AIOKafkaClient, name: str) -> int:
    """Return the operations, a bit each, that are allowed on a consumer group."""
    of_groups = True
    try:
        node = await client.coordinator_lookup(CoordinationType.GROUP, name)
        response = await client.send(
            node, _GroupsRequest([name], of_groups), group=ConnectionGroup.COORDINATION
        )
    except errors.GroupAuthorizationFailedError:
        return _NONE
    except (NotImplementedError, errors.GroupCoordinatorNotAvailableError):  # as in a new cluster
        return _ANY
    ((code, *_, operations),) = response.groups
    return _allowed(code, operations)


async def _allowed_in_transactions(client: AIOKafkaClient, prefix: str) -> int:
    """Return no operation if not even DESCRIBE is allowed on transactional IDs; more is not told."""
    try:
        await client.coordinator_lookup(CoordinationType.TRANSACTION, f"{prefix}0")
    except errors.TransactionalIdAuthorizationFailed:
        return _NONE
    except errors.GroupCoordinatorNotAvailableError:  # as in a new cluster
        pass
    return _ANY


def _allowed(code: int, operations: int) -> int:
    """Return the operations of an answer, given its error code."""
    if code in _DENIED:
        return _NONE
    return _ANY if code or operations == _UNTOLD else operations


class _MetadataResponse(Response):  # type: ignore[misc] # aiokafka has no types
    """Answer to `_MetadataRequest`."""

    API_KEY = 3
    API_VERSION = 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            Array(("node_id", Int32), ("host", String("utf-8")), ("port", Int32), ("rack", String("utf-8"))),
        ),
        ("cluster_id", String("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            Array(
                ("error_code", Int16),
                ("name", String("utf-8")),
                ("is_internal", Boolean),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", Array(Int32)),
                        ("isr", Array(Int32)),
                        ("offline_replicas", Array(Int32)),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
        ("authorized_operations", Int32),
    )


class _MetadataRequest(OneVersion):
    """Request for topics in the first version that tells authorized operations, which aiokafka lacks."""

    API_KEY = 3
    API_VERSION = 8
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = Schema(
        ("topics", Array(String("utf-8"))),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
    )


class _GroupsRequest(OneVersion):
    """Request for groups that tells authorized operations; aiokafka has it with an older response."""

    API_KEY = 15
    API_VERSION = 3
    RESPONSE_TYPE = DescribeGroupsResponse_v3
    SCHEMA = DescribeGroupsRequest_v3.SCHEMA
