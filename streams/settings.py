"""Settings of the clients, as small values; only the command line reads the environment."""

import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

KIB = 1024
MIB = 1024 * KIB
MOST_COUNT = 2_147_483_647
"""The largest number of 32 bits."""
MOST_SECONDS = 2_147_483
"""The most whole seconds whose milliseconds fit into 32 bits, as in Kafka's requests: 24 days."""
MOST_PROCESSES = 1024
"""The most processes that take pages apart: each has its memory from the start."""
SUGGESTED_PARTITIONS = 8
"""Partitions of a new topic of pages, of which nothing is known."""
_PATIENCE = 6
"""Factor by which a busy machine may stretch the CPU time of a page."""
SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
"""Kafka's codecs, by which a producer compresses batches of records."""


class ValueFormat(StrEnum):
    """Encoding of documents on their topics."""

    JSON = "json"
    """Bare JSON, without a schema."""
    JSON_SCHEMA = "json-schema"
    """JSON, framed with the number of its JSON Schema at a registry."""
    AVRO = "avro"
    PROTOBUF = "protobuf"


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """The server that gives tokens for OAUTHBEARER, by OpenID Connect's client credentials."""

    token_url: str
    scope: str | None = None
    audience: str | None = None
    ca_file: Path | None = None
    """PEM file of the authorities that signed the server's certificate; None for the system's."""
    extensions: tuple[tuple[str, str], ...] = ()
    """SASL extensions, which brokers are sent beside each token."""


@dataclass(frozen=True, slots=True)
class KafkaSecurity:
    """Security of a Kafka listener; plaintext by default."""

    protocol: SecurityProtocol = "PLAINTEXT"
    sasl_mechanism: SaslMechanism | None = None
    username: str | None = None
    """Name of the user; with OAUTHBEARER, the client's id at the server of tokens."""
    password: str | None = field(default=None, repr=False)
    """Password of the user, or secret of that client."""
    ca_file: Path | None = None
    """PEM file of the authorities that signed the brokers' certificates; None for the system's."""
    certificate_file: Path | None = None
    """PEM file of the client's certificate, if brokers ask for one."""
    key_file: Path | None = None
    oauth: OAuthSettings | None = None
    """Server of tokens, with OAUTHBEARER."""
    kerberos_service: str = "kafka"
    """First part of the brokers' Kerberos principals, with GSSAPI."""
    aws_region: str | None = None
    """AWS region of the cluster, with AWS_MSK_IAM."""

    @property
    def broker_mechanism(self) -> str | None:
        """SASL mechanism as brokers know it: tokens of AWS are sent as those of OAuth."""
        return "OAUTHBEARER" if self.sasl_mechanism == "AWS_MSK_IAM" else self.sasl_mechanism


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """The user's Kafka cluster."""

    brokers: str = "localhost:9092"
    """Bootstrap servers, `host:port`, comma-separated."""
    security: KafkaSecurity = KafkaSecurity()
    rack: str | None = None
    """Rack of this machine, whose replicas are read where brokers choose them so; None for the leaders."""


REVISIT_TOPIC = "dehusk-revisits"
AUDIT_TOPIC = "dehusk-audit"
MONITORING_TOPIC = "dehusk-monitoring"
CONTROL_TOPIC = "dehusk-control"
UNSURE_BELOW = 0.7
"""Expected F1 below which a document is unsure."""


@dataclass(frozen=True, slots=True)
class ControlTopic:
    """Topic of the states of roll-outs, and of what workers report."""

    kafka: KafkaSettings
    name: str


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The topics of a worker and its consumer group."""

    input: str = "raw-pages"
    """Names separated by commas, or a regular expression that begins with ^: see `kafka.input_topics`."""
    output: str = "cleaned-documents"
    dead_letters: str = "dead-letters"
    group: str = "dehusk"
    revisits: str | None = None
    """Requests of workers for second cleanings; None for no second cleanings."""
    audit: str | None = None
    """Results of all messages; None if they are not wanted."""
    monitoring: str | None = None
    """Figures of all workers; None if each shows only its own."""
    control: str | None = None
    """Versions of models that serve; None if Triton decides."""
    unsure: str | None = None
    """Documents whose content is unsure, which the output has, too; None if they are not wanted apart."""

    @property
    def revisit_group(self) -> str:
        """Consumer group of the requests of second cleanings."""
        return f"{self.group}-revisits"

    @property
    def beside(self) -> tuple[str, ...]:
        """Topics without which a worker cleans on: of figures, and of the versions that serve."""
        return tuple(topic for topic in (self.monitoring, self.control) if topic)

    @property
    def of_results(self) -> tuple[str, ...]:
        """Topics that the results of messages are delivered to."""
        return tuple(topic for topic in (self.output, self.dead_letters, self.unsure, self.audit) if topic)

    @property
    def written(self) -> tuple[str, ...]:
        """Topics that a worker writes to."""
        return (*self.of_results, *([self.revisits] if self.revisits else []), *self.beside)


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """The Redis, or Redis Cluster, that keeps the statistics of sites."""

    url: str = field(default="redis://localhost:6379/0", repr=False)
    cluster: bool = False
    timeout: float = 2.0
    """Limit of a round trip, in seconds, after which pages go without statistics."""
    ca_file: Path | None = None
    """PEM file of the authorities that signed the server's certificate; None for the system's."""
    certificate_file: Path | None = None
    """PEM file of the client's certificate, if the server asks for one."""
    key_file: Path | None = None


NO_STATISTICS = "none"
IN_MEMORY = "memory"
"""Places of the statistics of sites for a command that needs no Redis."""


class Guarantee(StrEnum):
    """Guarantee of the delivery of documents, dead letters and audit records."""

    AT_LEAST_ONCE = "at-least-once"
    """A page is cleaned again after a fault, which gives another document with the same key."""
    EXACTLY_ONCE = "exactly-once"
    """Results and offsets are written in one transaction, so readers of committed records see each once."""


class WhenTritonIsUnavailable(StrEnum):
    """Behaviour of a worker while Triton does not answer."""

    WAIT = "wait"
    """Pause and try again, so that no page is labeled worse."""
    RULES = "rules"
    """Label with the Boilerpipe rules and mark the document `degraded: ["model"]`."""


@dataclass(frozen=True, slots=True)
class TritonSettings:
    """The Triton server that serves the model."""

    address: str = "localhost:8001"
    """gRPC `host:port`."""
    model: str = "dehusk"
    version: str = ""
    """A pinned version; empty for that of Triton's version policy."""
    timeout: float = 20.0
    """Limit of one request, in seconds."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Limits of one page."""

    max_bytes: int = 16 * MIB
    """Largest page, after decompression, in bytes."""
    seconds: float = 10.0
    """CPU time that each step of a message, usually one page, may take of its process."""
    max_blocks: int = 100_000
    """Greatest number of text blocks of a page."""
    ordinary_bytes: int = 32 * MIB
    """Memory that a process may take for a message, in addition to that at its start."""
    large_bytes: int = 128 * MIB
    """The same for a message that needs more; one process at a time may take it."""

    @property
    def wall_seconds(self) -> float:
        """Wall time after which a process that takes no CPU time is killed."""
        return _PATIENCE * self.seconds


def available_processors() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class FlowLimits:
    """Limits of the messages in flight in one worker."""

    batch_pages: int = 32
    """Pages per micro-batch."""
    batch_seconds: float = 0.1
    """Seconds that a micro-batch waits for more pages."""
    batch_bytes: int = 4 * MIB
    """Bytes of raw messages per micro-batch."""
    in_flight_bytes: int = 30 * MIB
    """Bytes of raw messages in flight from which no further micro-batch begins."""
    batches: int = 4
    """Micro-batches in flight."""
    waiting_pages: int = 2048
    """Messages that may wait for the schema registry, or to be cleaned alone, or after one of these to be
    acknowledged."""
    waiting_bytes: int = 16 * MIB
    """Bytes of waiting messages that are not delivered; those to be cleaned alone are compressed."""
    grace_seconds: float = 25.0
    """Seconds a worker may take to finish what is in flight after SIGTERM."""

    @property
    def most_pages(self) -> int:
        """Messages in flight from which no further micro-batch begins."""
        return self.batches * self.batch_pages + self.waiting_pages
