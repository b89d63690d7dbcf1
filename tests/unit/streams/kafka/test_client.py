import re
import ssl
import sys
from dataclasses import replace

import pytest
from aiokafka import conn
from aiokafka.client import AIOKafkaClient

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka.client import (
    Topic,
    WorkerTopics,
    create_command,
    find_topics,
    missing_topics,
    open_client,
    require_inputs,
)
from dehusk.streams.kafka.input_topics import InputTopics
from dehusk.streams.kafka.options import client_options, consumer_options
from dehusk.streams.settings import KafkaSecurity, KafkaSettings, PageLimits, TopicSettings

TOPICS = TopicSettings("in", "out", "dead")
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIUbMMQM2R8m4+emDe6EKKgwpg/mC4wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjExMjI0MzRaGA8yMTI2MTAyODEyMjQz
NFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIdM
Q1d65NZ1C5Wtqa1dAkAM577+VPkidV6CQ6r/gfnt0Jgo0cuY+bHqHTrez4x0WWHf
g1F5KiSA/eWMa+VRCOajUzBRMB0GA1UdDgQWBBTve4Vozz/8R46wW+uknBuwPnSa
tDAfBgNVHSMEGDAWgBTve4Vozz/8R46wW+uknBuwPnSatDAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0kAMEYCIQDU2VzTsgLuPkNL2OzhZS1GXZlHIj9WrTL4
KiWc4Sx6JwIhAKG8bV1mXtEuSkjcj01ZesavKbqloCd1/hVaoVSCy8E/
-----END CERTIFICATE-----
"""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgupsl0mAVpUl0g3n2
hxRNvoHJSVjDUsCFZfu104EgSyOhRANCAASHTENXeuTWdQuVramtXQJADOe+/lT5
InVegkOq/4H57dCYKNHLmPmx6h063s+MdFlh34NReSokgP3ljGvlUQjm
-----END PRIVATE KEY-----
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The files of a self-signed certificate and its key."""
    folder = tmp_path_factory.mktemp("tls")
    (folder / "certificate.pem").write_text(CERTIFICATE)
    (folder / "key.pem").write_text(KEY)
    return folder / "certificate.pem", folder / "key.pem"


def test_plain_options():
    assert client_options(KafkaSettings("a:1, b:2")) == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "PLAINTEXT",
    }


def test_sasl_options():
    security = KafkaSecurity("SASL_PLAINTEXT", "SCRAM-SHA-512", "me", "secret")
    options = client_options(KafkaSettings("a:1", security))
    assert options == {
        "bootstrap_servers": ["a:1"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "me",
        "sasl_plain_password": "secret",
    }
    assert "secret" not in repr(security)


@pytest.mark.parametrize(
    ("security", "named"),
    [
        (KafkaSecurity("SASL_SSL", "GSSAPI"), r"gssapi.*dehusk\[kerberos\]"),
        (KafkaSecurity("SASL_SSL", "AWS_MSK_IAM", aws_region="eu-west-1"), r"aws-msk-iam.*dehusk\[msk\]"),
    ],
)
def test_a_login_whose_package_is_missing_names_it(monkeypatch, security, named):
    monkeypatch.setattr(conn, "gssapi", None)
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", None)
    with pytest.raises(ConfigurationError, match=named):
        client_options(KafkaSettings(security=security))


def test_a_consumer_has_the_rack_of_its_machine():
    assert consumer_options(KafkaSettings(rack="b"))["client_rack"] == "b"


def test_tls_checks_the_brokers_certificate_and_name(certificate):
    security = KafkaSecurity("SASL_SSL", "PLAIN", "me", "secret", certificate[0])
    context = client_options(KafkaSettings("a:1", security))["ssl_context"]
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert [entry["subject"] for entry in context.get_ca_certs()] == [((("commonName", "test"),),)]


def test_tls_with_a_client_certificate(certificate):
    security = KafkaSecurity("SSL", certificate_file=certificate[0], key_file=certificate[1])
    assert isinstance(client_options(KafkaSettings("a:1", security))["ssl_context"], ssl.SSLContext)


def test_tls_files_that_cannot_be_read_are_named(tmp_path, certificate):
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for security in (
        KafkaSecurity("SSL", ca_file=broken),
        KafkaSecurity("SSL", ca_file=tmp_path / "broken.pem.gone"),
        KafkaSecurity("SSL", certificate_file=certificate[0], key_file=broken),
    ):
        with pytest.raises(ConfigurationError, match=r"broken\.pem"):
            client_options(KafkaSettings("a:1", security))


def test_a_worker_needs_topics_like_its_input():
    source = Topic("in", 6, 3, {"max.message.bytes": "3000000", "retention.ms": "1"}, 3_000_000)
    assert missing_topics(TOPICS, WorkerTopics((source,), {})) == [
        Topic("out", 6, 3, {"cleanup.policy": "compact", "max.message.bytes": "3000000"}),
        Topic("dead", 6, 3, {"max.message.bytes": str(3_000_000 + 64 * 1024)}),
    ]
    assert missing_topics(TOPICS, WorkerTopics((source,), {"out": source, "dead": source})) == []


def test_a_worker_needs_a_topic_of_revisits_only_where_it_has_one():
    source, revisits = Topic("in", 6, 3, {}, 1_000_000), replace(TOPICS, revisits="again")
    assert missing_topics(revisits, WorkerTopics((source,), {}))[2:] == [Topic("again", 6, 3)]
    assert (
        missing_topics(revisits, WorkerTopics((source,), dict.fromkeys(("out", "dead", "again"), source)))
        == []
    )


def test_topics_for_several_inputs_are_like_the_largest():
    inputs = (Topic("a", 6, 1, {}, 1_000_000), Topic("b", 2, 3, {"max.message.bytes": "500000"}, 500_000))
    assert missing_topics(TOPICS, WorkerTopics(inputs, {})) == [
        Topic("out", 6, 3, {"cleanup.policy": "compact", "max.message.bytes": "1000000"}),
        Topic("dead", 6, 3, {"max.message.bytes": str(1_000_000 + 64 * 1024)}),
    ]


def test_dead_letters_hold_what_producers_compressed():
    source = Topic("in", 1, 1, {}, 1_000_000)
    (_, dead) = missing_topics(TOPICS, WorkerTopics((source,), {}), largest=9_000_000)
    assert dead.settings == {"max.message.bytes": str(9_000_000 + 64 * 1024)}


def test_dead_letters_hold_pages_of_an_input_whose_limit_may_not_be_seen():
    inputs = (Topic("in", 1, 1), Topic("seen", 1, 1, {}, 1_000_000))
    out, dead = missing_topics(TOPICS, WorkerTopics(inputs, {}))
    assert out.settings == {"cleanup.policy": "compact"}
    assert dead.settings == {"max.message.bytes": str(PageLimits().max_bytes + 64 * 1024)}


KAFKA = KafkaSettings("a:1")


def test_what_is_named_must_exist():
    existing = {name: Topic(name, 1, 1) for name in ("a", "c")}
    assert require_inputs(KAFKA, InputTopics(("c", "a")), existing) == (existing["a"], existing["c"])
    with pytest.raises(ConfigurationError, match=r"topic b .* --create --topic b "):
        require_inputs(KAFKA, InputTopics(("a", "b")), existing)
    with pytest.raises(ConfigurationError, match="topic b, d do not exist"):
        require_inputs(KAFKA, InputTopics(("b", "d")), existing)


def test_a_pattern_must_match_something():
    existing = {name: Topic(name, 1, 1) for name in ("crawl-a", "crawl-b", "other")}
    found = require_inputs(KAFKA, InputTopics((), re.compile("^crawl-")), existing)
    assert [topic.name for topic in found] == ["crawl-a", "crawl-b"]
    with pytest.raises(ConfigurationError, match=r"no topic on a:1 matches \^none"):
        require_inputs(KAFKA, InputTopics((), re.compile("^none")), existing)


def test_the_command_that_creates_a_topic():
    topic = Topic("out", 6, 3, {"cleanup.policy": "compact", "max.message.bytes": "5"})
    assert create_command(KafkaSettings("a:1"), topic) == (
        "kafka-topics.sh --bootstrap-server a:1 --create --topic out --partitions 6 --replication-factor 3 "
        "--config cleanup.policy=compact --config max.message.bytes=5"
    )
    secured = KafkaSettings("a:1", KafkaSecurity("SSL"))
    assert create_command(secured, Topic("out", 6, 3)).startswith(
        "kafka-topics.sh --bootstrap-server a:1 --command-config admin.properties --create --topic out "
    )


async def test_a_cluster_that_names_no_broker_yet_does_not_answer(monkeypatch):
    async def bootstrap(_client):
        """Know no broker, as of Kafka 3 while its only node starts again."""

    monkeypatch.setattr(AIOKafkaClient, "bootstrap", bootstrap)
    with pytest.raises(UnavailableError, match=r"k:1 does not answer.*names no broker"):
        async with open_client(KafkaSettings("k:1")):
            pytest.fail("there is nothing to ask")
    with pytest.raises(UnavailableError, match="names no broker"):
        await find_topics(KafkaSettings("k:1"), ["in"])
