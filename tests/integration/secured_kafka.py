"""A real Kafka with users, each of whom may do no more than its ACLs allow."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest

from dehusk.streams.kafka.options import client_options
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.local.kafka import KafkaNode, find_java, kafka_jars, kafka_nodes
from dehusk.streams.local.process import Service
from dehusk.streams.local.stack import default_cache
from dehusk.streams.settings import KafkaSecurity, KafkaSettings
from tests.unit.streams.kafka.test_client import CERTIFICATE, KEY

USER, PASSWORD = "crawler", "not-to-be-told"
_RESOURCES = {"topic": 2, "group": 3, "cluster": 4, "transactional-id": 5}
_OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8}
_PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "CONTROLLER": "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
}
_LITERAL, _PREFIXED, _ALLOW = 3, 4, 3


class _SecuredNode(KafkaNode):
    """A node that lets anybody do anything at its own port, and asks for a user or for TLS at others."""

    sasl_port: int
    tls_port: int

    def _configuration(self) -> dict[str, object]:
        basic = KafkaNode._configuration(self)
        listener = f"SASL_PLAINTEXT://{LOOPBACK}:{self.sasl_port},SSL://{LOOPBACK}:{self.tls_port}"
        store = self.directory / "tls.pem"
        store.write_text(KEY + CERTIFICATE)
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        return basic | {
            "listeners": f"{basic['listeners']},{listener}",
            "advertised.listeners": f"{basic['advertised.listeners']},{listener}",
            "listener.security.protocol.map": ",".join(f"{name}:{how}" for name, how in _PROTOCOLS.items()),
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{login} user_{USER}="{PASSWORD}";',
            "listener.name.ssl.ssl.keystore.type": "PEM",
            "listener.name.ssl.ssl.keystore.location": store,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


@dataclass(frozen=True, slots=True)
class SecuredKafka:
    """A Kafka as its administrator sees it, and as its user does."""

    administrator: KafkaSettings
    user: KafkaSettings
    tls: str
    """Address of the listener that speaks TLS."""

    async def allow(self, operation: str, resource: str, name: str) -> None:
        """Give the user a right, and wait until brokers know."""
        await self._change(CreateAclsRequest, operation, resource, name)

    async def forbid(self, operation: str, resource: str, name: str) -> None:
        """Take a right from the user."""
        await self._change(DeleteAclsRequest, operation, resource, name)

    async def _change(
        self, request: type[CreateAclsRequest | DeleteAclsRequest], operation: str, resource: str, name: str
    ) -> None:
        client = AIOKafkaClient(**client_options(self.administrator))
        await client.bootstrap()
        try:
            response = await client.send(
                client.get_random_node(),
                request(
                    _RESOURCES[resource],
                    name,
                    _PREFIXED if resource == "transactional-id" else _LITERAL,
                    f"User:{USER}",
                    "*",
                    _OPERATIONS[operation],
                    _ALLOW,
                ),
            )
            (answer,) = response.to_object().get("creation_responses") or response.filter_responses
            assert not (answer["error_code"] if isinstance(answer, dict) else answer[0])
        finally:
            await client.close()


@contextmanager
def secured_kafka(directory: Path) -> Iterator[SecuredKafka]:
    """A Kafka of one node that runs meanwhile."""
    port, controller, sasl_port, tls_port = free_ports(4)
    (plain,) = kafka_nodes([port, controller], directory, find_java(), kafka_jars(default_cache()))
    names = ("name", "number", "port", "voters", "nodes", "cluster", "directory", "java", "jars")
    node = _SecuredNode(**{name: getattr(plain, name) for name in names})
    object.__setattr__(node, "sasl_port", sasl_port)
    object.__setattr__(node, "tls_port", tls_port)
    service = Service(node, directory / "log")
    service.start()
    try:
        security = KafkaSecurity("SASL_PLAINTEXT", "PLAIN", USER, PASSWORD)
        yield SecuredKafka(
            KafkaSettings(f"{LOOPBACK}:{port}"),
            KafkaSettings(f"{LOOPBACK}:{sasl_port}", security),
            f"{LOOPBACK}:{tls_port}",
        )
    finally:
        service.kill()
