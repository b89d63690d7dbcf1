"""The settings of the clients, as small values; the environment is read at the command line alone."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

KIB = 1024
MIB = 1024 * KIB
_PATIENCE = 6
"""By how much a busy machine may stretch the CPU time of a page."""
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
"""Kafka's codecs, by which a producer compresses batches of records."""


@dataclass(frozen=True, slots=True)
class KafkaSecurity:
    """How to reach a secured Kafka; the defaults are a plaintext listener."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    """PEM file of the authorities that signed the brokers' certificates; None for the system's."""
    certificate_file: Path | None = None
    """PEM file of the client's certificate, where brokers ask for one."""
    key_file: Path | None = None


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """The user's Kafka cluster."""

    brokers: str = "localhost:9092"
    """Bootstrap servers, `host:port`, comma-separated."""
    security: KafkaSecurity = KafkaSecurity()


REVISIT_TOPIC = "dehusk-revisits"
AUDIT_TOPIC = "dehusk-audit"
MONITORING_TOPIC = "dehusk-monitoring"
CONTROL_TOPIC = "dehusk-control"


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The topics of a worker and its consumer group."""

    input: str = "raw-pages"
    """Names separated by commas, or a regular expression that begins with ^: see `streams.input_topics`."""
    output: str = "cleaned-documents"
    dead_letters: str = "dead-letters"
    group: str = "dehusk"
    revisits: str | None = None
    """Where workers ask each other to clean the first pages of a site again; None where none does."""
    audit: str | None = None
    """Where it is told what became of each message; None where that is not wanted."""
    monitoring: str | None = None
    """Where workers share their figures; None where each shows only its own."""
    control: str | None = None
    """Where it is told which versions of models serve; None where Triton decides."""

    @property
    def written(self) -> tuple[str, ...]:
        """Those that a worker writes to."""
        wanted = (
            self.output,
            self.dead_letters,
            self.revisits,
            self.audit,
            self.monitoring,
            self.control,
        )
        return tuple(topic for topic in wanted if topic)


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """The Redis, or Redis Cluster, that keeps the statistics of sites."""

    url: str = field(default="redis://localhost:6379/0", repr=False)
    cluster: bool = False
    timeout: float = 2.0
    """Seconds a round trip may take before the statistics are done without."""
    ca_file: Path | None = None
    """PEM file of the authorities that signed the server's certificate; None for the system's."""
    certificate_file: Path | None = None
    """PEM file of the client's certificate, where the server asks for one."""
    key_file: Path | None = None


NO_STATISTICS = "none"
IN_MEMORY = "memory"
"""Where the statistics of sites are kept by a command that needs no Redis."""


class WhenTritonIsUnavailable(StrEnum):
    """What a worker does while Triton does not answer."""

    WAIT = "wait"
    """Pause and try again: no page is labeled worse for it."""
    RULES = "rules"
    """Label with the Boilerpipe rules and mark the document `degraded: ["model"]`."""


@dataclass(frozen=True, slots=True)
class TritonSettings:
    """The Triton server that serves the model."""

    address: str = "localhost:8001"
    """gRPC `host:port`."""
    model: str = "dehusk"
    version: str = ""
    """A pinned version; empty for the one that Triton's version policy serves."""
    timeout: float = 20.0
    """Seconds one request may take."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What one page may cost."""

    max_bytes: int = 16 * MIB
    """Largest page, after decompression, in bytes."""
    seconds: float = 10.0
    """CPU time that each step of a message, which holds one page as a rule, may take of its process."""
    max_blocks: int = 100_000
    """Most text blocks of a page."""
    ordinary_bytes: int = 32 * MIB
    """Memory that a process may take for a message beside what it holds at its start."""
    large_bytes: int = 128 * MIB
    """Memory that one process at a time may take so, for a message that needs more."""

    @property
    def wall_seconds(self) -> float:
        """The time by the clock after which a process that takes no CPU time is killed."""
        return _PATIENCE * self.seconds


@dataclass(frozen=True, slots=True)
class FlowLimits:
    """What may be in flight in one worker at once."""

    batch_pages: int = 32
    """Pages per micro-batch."""
    batch_seconds: float = 0.1
    """How long a micro-batch waits for more pages."""
    batch_bytes: int = 4 * MIB
    """Bytes of raw messages per micro-batch."""
    in_flight_bytes: int = 30 * MIB
    """Bytes of raw messages in flight from which no further micro-batch is begun."""
    batches: int = 4
    """Micro-batches being worked on."""
    waiting_pages: int = 2048
    """Messages that may wait for the schema registry, to be cleaned alone, or behind one of these to be
    acknowledged."""
    waiting_bytes: int = 16 * MIB
    """Bytes of those of these that are not delivered, compressed where they have to be cleaned alone."""
    grace_seconds: float = 25.0
    """Seconds a worker may take to finish what is in flight after SIGTERM."""

    @property
    def most_pages(self) -> int:
        """Messages in flight from which no further micro-batch is begun."""
        return self.batches * self.batch_pages + self.waiting_pages
