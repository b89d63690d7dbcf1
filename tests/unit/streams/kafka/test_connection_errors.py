"""Causes of failed connections to Kafka."""

import asyncio
import datetime as dt
import logging
from contextlib import asynccontextmanager

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, SaslAuthenticationFailed
from aiokafka.protocol.admin import SaslHandShakeRequest_v1, SaslHandShakeResponse_v1
from aiokafka.protocol.metadata import MetadataResponse_v1

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka import client
from dehusk.streams.kafka.client import describe_topics
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.settings import KafkaSecurity, KafkaSettings
from dehusk.streams.tls import server_context
from tests.authority import Authority


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


async def test_clients_that_connect_at_once_have_each_its_own_cause(caplog):
    brokers = [f"{LOOPBACK}:{port}" for port in free_ports(3)]
    connecting = [describe_topics(KafkaSettings(each), []) for each in brokers]
    failed = await asyncio.gather(*connecting, return_exceptions=True)
    for broker, error in zip(brokers, failed, strict=True):
        assert [each for each in brokers if f'"{each}": [Errno ' in str(error)] == [broker]
    assert caplog.records == []


@pytest.mark.parametrize(
    "answer",
    [bytes(5), b"\0\0\0\4" + bytes(4), b"\0\0\0\x09" + bytes(7) + b"\xff\xff", b"HTTP/1.1 400 no\r\n\r\n"],
)
async def test_what_is_no_broker_does_not_answer(answer):
    async def serve(reader, writer):
        await reader.read(1)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, LOOPBACK, 0) as server:
        address = f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(UnavailableError, match=f"{address} does not answer"):
            await describe_topics(KafkaSettings(address), [])


class Starting(AIOKafkaAdminClient):
    """A client that logs what aiokafka logs of a broker, and then starts or fails as the test says."""

    cause: Exception = ConnectionRefusedError("refused")
    error: Exception | None = None

    async def start(self):
        logging.getLogger("aiokafka").error('Unable connect to "%s:%s": %s', "k", 9, self.cause)
        if self.error is not None:
            raise self.error
        self._client.cluster.update_metadata(await self._send_request(None))

    async def _send_request(self, request):
        return MetadataResponse_v1([(1, "k", 10, None)], 1, [])


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


@asynccontextmanager
async def listener(*mechanisms, tls=None):
    """The address of a listener that tells its mechanisms, and closes the connection at all else."""

    async def answer(reader, writer):
        length = int.from_bytes(await reader.readexactly(4))
        if length < 1000 and int.from_bytes((await reader.readexactly(length))[:2]) == _HANDSHAKE:
            told = bytes(4) + SaslHandShakeResponse_v1(33 if mechanisms else 34, list(mechanisms)).encode()
            writer.write(len(told).to_bytes(4) + told)
        writer.close()

    server = await asyncio.start_server(answer, LOOPBACK, 0, ssl=tls)
    async with server:
        yield f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"


_HANDSHAKE = SaslHandShakeRequest_v1.API_KEY
USER = ("SCRAM-SHA-256", "me", "secret")


@pytest.mark.parametrize(
    ("security", "mechanisms", "advice"),
    [
        (KafkaSecurity("SSL"), (), "has no TLS: give --security-protocol PLAINTEXT, without a user"),
        (
            KafkaSecurity("SSL"),
            ("PLAIN",),
            "has no TLS: give --security-protocol SASL_PLAINTEXT, with a user",
        ),
        (
            KafkaSecurity("SASL_SSL", *USER),
            (),
            "has no TLS: give --security-protocol PLAINTEXT, without a user",
        ),
        (
            KafkaSecurity("SASL_PLAINTEXT", *USER),
            (),
            "asks for no user: give --security-protocol PLAINTEXT, without one",
        ),
        (
            KafkaSecurity("SASL_PLAINTEXT", *USER),
            ("PLAIN", "SCRAM-SHA-512"),
            "does not take SCRAM-SHA-256: give --sasl-mechanism PLAIN or SCRAM-SHA-512",
        ),
        (KafkaSecurity(), ("PLAIN",), "asks for a user (PLAIN): give --security-protocol SASL_PLAINTEXT"),
    ],
)
async def test_a_listener_of_another_security_is_told_in_a_line(security, mechanisms, advice):
    async with listener(*mechanisms) as address:
        with pytest.raises(ConfigurationError) as raised:
            await describe_topics(KafkaSettings(address, security), [])
    assert str(raised.value) == f"Kafka at {address} refuses: its listener {advice}"


async def test_an_authority_that_is_not_trusted_is_to_be_named(tmp_path):
    authority = Authority(tmp_path)
    async with listener(tls=server_context(*authority.certify("kafka", LOOPBACK))) as address:
        with pytest.raises(UnavailableError, match=r"no authority that is trusted: .* with --tls-ca-file"):
            await describe_topics(KafkaSettings(address, KafkaSecurity("SSL")), [])
        user = KafkaSecurity("SASL_SSL", *USER, ca_file=authority.file)
        with pytest.raises(ConfigurationError, match="asks for no user: give --security-protocol SSL, "):
            await describe_topics(KafkaSettings(address, user), [])


async def test_a_certificate_of_another_host_is_said_to_be_one(tmp_path):
    authority = Authority(tmp_path)
    security = KafkaSecurity("SSL", ca_file=authority.file)
    async with listener(tls=server_context(*authority.certify("kafka", "192.0.2.1"))) as address:
        with pytest.raises(UnavailableError, match=r"^the certificate of Kafka at .* is of another host: "):
            await describe_topics(KafkaSettings(address, security), [])


async def test_a_certificate_whose_time_is_over_is_to_be_signed_anew(tmp_path):
    authority = Authority(tmp_path)
    security = KafkaSecurity("SSL", ca_file=authority.file)
    certified = authority.certify("kafka", LOOPBACK, ended=dt.timedelta(days=1))
    async with listener(tls=server_context(*certified)) as address:
        with pytest.raises(UnavailableError, match=r"is not valid: have it signed anew .*has expired"):
            await describe_topics(KafkaSettings(address, security), [])


async def test_an_error_without_words_has_its_name(starting):
    starting.setattr(Starting, "cause", ConnectionResetError())
    starting.setattr(Starting, "error", KafkaConnectionError("Unable to bootstrap from [('k', 9, 2)]"))
    with pytest.raises(UnavailableError, match=r'Unable connect to "k:9": ConnectionResetError\)'):
        await describe_topics(KafkaSettings("k:9"), [])
