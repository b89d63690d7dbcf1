"""Causes of failed connections to Kafka."""

import logging

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, SaslAuthenticationFailed

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka import client
from dehusk.streams.kafka.client import describe_topics
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.settings import KafkaSettings


async def test_where_no_broker_is_reached_one_error_tells_why_of_each(caplog):
    brokers = [f"{LOOPBACK}:{port}" for port in free_ports(2)]
    with pytest.raises(UnavailableError) as raised:
        await describe_topics(KafkaSettings(",".join(brokers)), [])
    told = str(raised.value)
    assert told.startswith(
        f"Kafka at {','.join(brokers)} does not answer; is it running, and is --brokers right?"
    )
    assert all(f'"{broker}": [Errno ' in told for broker in brokers)
    assert caplog.records == []


class Starting(AIOKafkaAdminClient):
    """A client that logs what aiokafka logs of a broker, and then starts or fails as the test says."""

    cause: Exception = ConnectionRefusedError("refused")
    error: Exception | None = None

    async def start(self):
        logging.getLogger("aiokafka").error('Unable connect to "%s:%s": %s', "k", 9, self.cause)
        if self.error is not None:
            raise self.error

    async def describe_topics(self):
        return []


@pytest.fixture
def starting(monkeypatch):
    monkeypatch.setattr(client, "AIOKafkaAdminClient", Starting)
    return monkeypatch


async def test_where_another_broker_is_reached_the_log_tells_which_is_not(starting, caplog):
    assert await describe_topics(KafkaSettings("k:9,k:10"), []) == {}
    assert caplog.messages == ['Unable connect to "k:9": refused']


async def test_where_something_else_goes_wrong_the_log_tells_all(starting, caplog):
    starting.setattr(Starting, "error", ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await describe_topics(KafkaSettings("k:9"), [])
    assert caplog.messages == ['Unable connect to "k:9": refused']


async def test_a_user_whom_the_brokers_refuse_is_told_so(starting, caplog):
    starting.setattr(Starting, "cause", SaslAuthenticationFailed("wrong password"))
    starting.setattr(Starting, "error", KafkaConnectionError("Unable to bootstrap from [('k', 9, 2)]"))
    with pytest.raises(ConfigurationError, match=r"refuses: .*wrong password"):
        await describe_topics(KafkaSettings("k:9"), [])
    assert caplog.messages == []
