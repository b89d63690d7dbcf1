"""Rights in words, and those of which brokers do not tell; real ACLs are those of the integration tests."""

from pathlib import Path

import pytest
from aiokafka.errors import GroupAuthorizationFailedError, GroupCoordinatorNotAvailableError

from dehusk.streams.kafka.rights import (
    Operation,
    Right,
    missing_rights,
    refusal,
    transactional_prefix,
    worker_rights,
)
from dehusk.streams.settings import KafkaSecurity, KafkaSettings, TopicSettings

RIGHTS = [
    Right(Operation.READ, "raw"),
    Right(Operation.WRITE, "out"),
    Right(Operation.READ, "my group", "group"),
]


def test_a_refusal_names_rights_and_the_commands_that_grant_them() -> None:
    settings = KafkaSettings("a:1,b:2", KafkaSecurity("SASL_SSL", "PLAIN", "me", "not-to-be-told"))
    tool = "kafka-acls.sh --bootstrap-server a:1,b:2 --command-config admin.properties"
    granting = f"{tool} --add --allow-principal User:me --operation"
    assert str(refusal(settings, [*RIGHTS, RIGHTS[0]])) == (
        "Kafka at a:1,b:2 refuses: User:me lacks Read on topic raw and group my group, Write on topic out; "
        f"an administrator grants it: {granting} Read --topic raw --group 'my group' && "
        f"{granting} Write --topic out"
    )


@pytest.mark.parametrize(
    ("security", "principal"),
    [
        (KafkaSecurity(), "User:ANONYMOUS"),
        (KafkaSecurity("SSL"), "User:ANONYMOUS"),
        (KafkaSecurity("SSL", certificate_file=Path("/etc/me.pem")), "User:SUBJECT-OF-me.pem"),
        (KafkaSecurity("SASL_SSL", "OAUTHBEARER", "id", "secret"), "User:PRINCIPAL-OF-OAUTHBEARER"),
        (KafkaSecurity("SASL_SSL", "GSSAPI"), "User:PRINCIPAL-OF-GSSAPI"),
        (KafkaSecurity("SASL_PLAINTEXT", "PLAIN", "Me & you", "secret"), "'User:Me & you'"),
    ],
)
def test_the_user_is_named_as_acls_do(security: KafkaSecurity, principal: str) -> None:
    message = str(refusal(KafkaSettings(security=security), RIGHTS))
    assert f"--allow-principal {principal} " in message
    assert ("--command-config admin.properties" in message) == (security.protocol != "PLAINTEXT")


class Client:
    """A client of a cluster that is too old to tell rights, or whose coordinator is not there."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get_random_node(self) -> int:
        return 1

    async def coordinator_lookup(self, kind: int, group: str) -> int:
        raise self.error

    async def send(self, node: int, request: object, **_: object) -> object:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("error", "missing"),
    [
        (NotImplementedError(), []),
        (GroupCoordinatorNotAvailableError(), []),
        (GroupAuthorizationFailedError(), [RIGHTS[2]]),
    ],
)
async def test_nothing_is_missing_of_which_brokers_do_not_tell(
    error: Exception, missing: list[Right]
) -> None:
    assert await missing_rights(Client(error), RIGHTS) == missing


def test_a_worker_needs_the_rights_of_what_it_was_given() -> None:
    topics = TopicSettings("^in", "out", "dead", "g", "again", "audit", "figures", "control")
    rights = worker_rights(topics, ["in-1", "in-2"])
    assert [right.name for right in rights if right.operation is Operation.WRITE] == list(topics.written)
    assert [(right.resource, right.name) for right in rights if right.operation is Operation.READ] == [
        *(("topic", name) for name in ("in-1", "in-2", "again", "figures", "control")),
        *(("group", name) for name in ("g", "g-revisits")),
    ]


def test_groups_and_topics_have_transactions_of_their_own() -> None:
    assert transactional_prefix("a-b", "c") != transactional_prefix("a", "b-c")
    assert transactional_prefix("a/b", "c") != transactional_prefix("a", "b-c")
    topics = TopicSettings("in", group="g")
    (right,) = set(worker_rights(topics, ["in"], in_transactions=True)).difference(
        worker_rights(topics, ["in"])
    )
    assert right == Right(Operation.WRITE, "g/in/", "transactional-id")
