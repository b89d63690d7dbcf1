"""Errors of the brokers, and their silence, in words about Kafka."""

import asyncio
from types import SimpleNamespace

import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka.brokers import Brokers, check_kafka


class Client:
    """A client whose brokers answer, refuse or keep silent, as the test says."""

    def __init__(self) -> None:
        self.topics: set[str] = set()
        self.answer: bool | None = True
        """None for silence."""
        self.cluster = self
        self.missing: set[str] = set()
        self.throttle_time_ms = 0

    async def send(self, node: int, request: object, **_: object) -> SimpleNamespace:
        return SimpleNamespace(node=node, request=request, throttle_time_ms=self.throttle_time_ms)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return None if topic in self.missing else {0, 1}

    def add_topic(self, topic: str) -> None:
        self.topics.add(topic)

    async def force_metadata_update(self) -> bool:
        assert self.topics, "the metadata of every topic of the cluster would be asked for"
        if self.answer is None:
            await asyncio.sleep(600)
        return bool(self.answer)


@pytest.mark.parametrize("absence", [False, None], ids=["refusal", "silence"])
async def test_brokers_that_do_not_answer_are_missed_until_they_do(absence) -> None:
    client = Client()
    brokers = Brokers(client, "cleaned", timeout=0.01)
    await brokers.check()
    client.answer = absence
    with pytest.raises(UnavailableError):
        await brokers.check()
    client.answer = True
    await brokers.check()
    assert client.topics == {"cleaned"}


async def test_a_delay_by_a_quota_is_no_silence() -> None:
    client = Client()
    brokers = Brokers(client, "cleaned", timeout=0.01)
    assert (await client.send(1, "records")).node == 1
    client.answer, client.throttle_time_ms = None, 25_000
    with pytest.raises(UnavailableError, match="no broker answers"):
        await brokers.check()
    assert (await client.send(2, "records")).request == "records"
    with pytest.raises(UnavailableError, match="delays what is sent, as a quota"):
        await brokers.check()
    client.answer = True
    await brokers.check()


class Checks:
    """Checks of rights and topics, and their results."""

    failure: UnavailableError | ConfigurationError | None = None
    denied = False
    refusal: UnavailableError | ConfigurationError | None = None

    async def connect(self) -> None:
        if self.refusal is not None:
            raise self.refusal

    async def check_rights(self) -> None:
        if self.denied:
            raise ConfigurationError("grant it")

    async def check_topics(self) -> None:
        raise ConfigurationError("create it")

    async def check(self, brokers: Brokers) -> None:
        """Check Kafka by all of them."""
        checks = (self.connect, self.check_rights, self.check_topics)
        await check_kafka(brokers, *checks, lambda: self.failure)


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (ConfigurationError("the password is wrong"), "the password is wrong"),
        (UnavailableError("nobody is there"), "no broker answers"),
        (None, "no broker answers"),
    ],
)
async def test_brokers_that_refuse_a_new_connection_are_said_to_do_so(
    refusal: UnavailableError | ConfigurationError | None, told: str
) -> None:
    client, checks = Client(), Checks()
    brokers = Brokers(client, "cleaned", timeout=0.01)
    checks.refusal = refusal
    await checks.check(brokers)
    client.answer = False
    with pytest.raises(type(refusal or UnavailableError()), match=told):
        await checks.check(brokers)


async def test_kafka_is_not_there_while_sending_to_it_fails() -> None:
    checks = Checks()
    brokers = Brokers(Client(), "cleaned")
    for error in (UnavailableError("no broker takes"), ConfigurationError("max.message.bytes")):
        checks.failure = error
        with pytest.raises(type(error), match=str(error)):
            await checks.check(brokers)
    checks.failure = None
    await checks.check(brokers)


@pytest.mark.parametrize("topic", ["raw", "cleaned", "dead"])
async def test_a_topic_that_has_gone_is_missed_until_it_is_back(topic: str) -> None:
    client, checks = Client(), Checks()
    brokers = Brokers(client, "raw", "cleaned", "dead")
    client.missing.add(topic)
    with pytest.raises(ConfigurationError, match="create it"):
        await checks.check(brokers)
    client.missing.clear()
    await checks.check(brokers)


async def test_a_right_that_is_missing_is_told_before_what_follows_from_it() -> None:
    client, checks = Client(), Checks()
    brokers = Brokers(client, "raw")
    client.missing.add("raw")
    checks.denied, checks.failure = True, UnavailableError("no")
    with pytest.raises(ConfigurationError, match="grant it"):
        await checks.check(brokers)
