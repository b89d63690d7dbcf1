"""The real services that integration tests share: started once per run, on ports of their own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from dehusk.schemas.pages import Message
from dehusk.streams.demo.sites import fetch_package
from dehusk.streams.kafka.client import Topic, create_topics, ensure_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.kafka.producer import Outgoing, send
from dehusk.streams.kafka.reader import read
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import KafkaSettings, RedisSettings, TopicSettings
from dehusk.streams.sources.source import Record
from tests.unit.streams.models import graphs

INTEGRATION = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder is an integration test."""
    for item in items:
        if item.path.is_relative_to(INTEGRATION):
            item.add_marker(pytest.mark.integration)


ANSWER_SECONDS = 60.0
"""Time limit of an answer of Redis that a test needs, however busy the machine is."""


def redis_settings(stack: LocalStack) -> RedisSettings:
    """Return the settings of a stack's Redis, whose answers a test needs."""
    return RedisSettings(stack.addresses.redis, timeout=ANSWER_SECONDS)


class Stack(LocalStack):
    """A stack that is killed at its end, as Triton takes five seconds to stop."""

    def __exit__(self, *_: object) -> None:
        self.kill()


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Kafka (one node), Redis and Triton; a test that stops a service starts it again, with the same data."""
    with Stack(tmp_path_factory.mktemp("stack"), persistent=True) as running:
        yield running


@pytest.fixture(scope="module")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A Triton of this module's own, with one small model of one version."""
    model = tmp_path_factory.mktemp("models") / "model"
    graphs.write_version(model / "1", graphs.always(0.5))
    graphs.write_config(model, "model")
    directory = tmp_path_factory.mktemp("triton")
    with Stack(directory, repository=model.parent, services=("triton",)) as stack:
        yield stack


@pytest.fixture
def repository(triton: LocalStack) -> Path:
    """The models that this Triton serves."""
    return triton._repository


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of prometheus and promtool, from Debian's package, which is not installed."""
    folder = tmp_path_factory.mktemp("prometheus")
    fetch_package(["prometheus"], folder / "unpacked", folder / "apt")
    return folder / "unpacked/usr/bin"


@pytest.fixture
def fresh() -> str:
    """A name that no other test uses, for groups and sites: `f"{fresh}.example"`."""
    return f"test-{uuid4().hex[:12]}"


@pytest.fixture
def kafka(stack: LocalStack) -> KafkaSettings:
    """The stack's Kafka."""
    return KafkaSettings(stack.addresses.kafka)


def topics_of(group: str) -> TopicSettings:
    """The topics of a group, by its name."""
    return TopicSettings(f"{group}-raw", f"{group}-cleaned", f"{group}-dead", group)


@pytest.fixture
async def admin(kafka: KafkaSettings) -> AsyncIterator[AIOKafkaAdminClient]:
    """A client for what operators do."""
    client = AIOKafkaAdminClient(**client_options(kafka))
    await client.start()
    yield client
    await client.close()


async def write(kafka: KafkaSettings, topic: str, *records: Record, partition: int | None = None) -> None:
    """Write records to a topic, which takes all of them."""

    async def outgoing() -> AsyncIterator[Outgoing]:
        for record in records:
            yield Outgoing(topic, record, partition)

    assert all([sent.refusal is None async for sent in send(kafka, outgoing())])


async def messages(kafka: KafkaSettings, topic: str) -> list[Message]:
    """The messages that lie on a topic."""
    return [message async for message, _ in read(kafka, topic)]


@pytest.fixture
async def topics(kafka: KafkaSettings, fresh: str) -> TopicSettings:
    """Topics and a group of this test alone; the topics exist, with four partitions each."""
    names = topics_of(fresh)
    await create_topics(kafka, [Topic(names.input, partitions=4, replicas=1)])
    await ensure_topics(kafka, names)
    return names
