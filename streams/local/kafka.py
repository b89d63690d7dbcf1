"""Apache Kafka in KRaft mode: one node, or three that are brokers and controllers at once."""

import asyncio
import socket
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.counted import counted
from dehusk.streams.local.addresses import LOOPBACK
from dehusk.streams.settings import MIB

_LARGEST_MESSAGE = 64 * MIB
"""Well above the largest page, so that a page beyond it arrives and gets its dead letter."""
_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Half of the CPU time of Java's defaults, from the start on and also for the first gigabyte of messages."""
_TOOL = (*_JAVA, "-Xmx256m")
_LOG = "-Dorg.slf4j.simpleLogger."
_SERVER = (
    *_JAVA,
    "-Xms64m",
    "-Xmx512m",
    f"{_LOG}showDateTime=true",
    f"{_LOG}dateTimeFormat=HH:mm:ss.SSS",
)


@dataclass(frozen=True, slots=True)
class KafkaNode:
    """One Kafka server: a broker that is a controller too."""

    name: str
    number: int
    """Its node id, from 1."""
    port: int
    voters: str
    """The controllers of the cluster, as `controller.quorum.voters` wants them."""
    nodes: int
    cluster: str
    """The id of the cluster, which its data carry."""
    directory: Path
    java: Path
    jars: Path

    def preparation(self) -> Sequence[str]:
        """The command that formats the data directory; empty where it is formatted."""
        self._write_configuration()
        if (self._data / "meta.properties").exists():
            return ()
        cluster = f"--cluster-id={self.cluster}"  # one word, for an id may begin with a dash
        return self._java(_TOOL, "kafka.tools.StorageTool", "format", cluster, "-c", self._file)

    def command(self) -> Sequence[str]:
        """The command that runs the server."""
        return self._java(_SERVER, "kafka.Kafka", self._file)

    def environment(self) -> Mapping[str, str]:
        """Nothing: all is on the command line."""
        return {}

    def is_ready(self) -> bool:
        """Whether the node answers a metadata request and counts itself among the brokers."""
        try:
            socket.create_connection((LOOPBACK, self.port), timeout=1).close()
            with ThreadPoolExecutor(1) as loop_free:  # the caller's thread may run an event loop
                brokers = loop_free.submit(asyncio.run, _brokers(f"{LOOPBACK}:{self.port}")).result()
        except (OSError, KafkaError, TimeoutError):
            return False
        return self.number in brokers

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    @property
    def _file(self) -> str:
        return str(self.directory / "server.properties")

    def _java(self, options: Sequence[str], *arguments: str) -> list[str]:
        return [str(self.java), *options, "-cp", f"{self.jars}/*", *arguments]

    def _write_configuration(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        lines = (f"{name}={value}\n" for name, value in self._configuration().items())
        Path(self._file).write_text("".join(lines))

    def _configuration(self) -> dict[str, object]:
        controller = self.voters.split(",")[self.number - 1].partition("@")[2]
        copies = self.nodes
        return {
            "process.roles": "broker,controller",
            "node.id": self.number,
            "controller.quorum.voters": self.voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{LOOPBACK}:{self.port},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{self.port}",
            "log.dirs": self._data,
            "auto.create.topics.enable": "false",
            "message.max.bytes": _LARGEST_MESSAGE,
            "replica.fetch.max.bytes": _LARGEST_MESSAGE,
            "default.replication.factor": copies,
            "min.insync.replicas": (copies + 1) // 2,
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": (copies + 1) // 2,
            "transaction.state.log.num.partitions": 4,
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": (copies + 1) // 2,
            "group.initial.rebalance.delay.ms": 0,
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 500,
            "log.segment.bytes": 2 * _LARGEST_MESSAGE,
            "log.index.size.max.bytes": MIB,
            "log.cleaner.dedupe.buffer.size": 16 * MIB,
        }


async def _brokers(address: str) -> set[int]:
    client = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=5000)
    try:
        await client.start()
        cluster = await client.describe_cluster()
    finally:
        await client.close()
    return {broker["node_id"] for broker in cluster["brokers"]}


def kafka_nodes(ports: Sequence[int], directory: Path, java: Path, jars: Path) -> list[KafkaNode]:
    """The nodes of a cluster on two ports each; data that is in the directory is used again.

    Raises:
        ConfigurationError: the directory holds the data of a cluster of another size.
    """
    count = len(ports) // 2
    voters = ",".join(f"{i}@{LOOPBACK}:{port}" for i, port in enumerate(ports[count:], start=1))
    cluster = _cluster_id(directory, count)
    return [
        KafkaNode(
            name=f"kafka-{i}",
            number=i,
            port=port,
            voters=voters,
            nodes=count,
            cluster=cluster,
            directory=directory / f"kafka-{i}",
            java=java,
            jars=jars,
        )
        for i, port in enumerate(ports[:count], start=1)
    ]


def _cluster_id(directory: Path, nodes: int) -> str:
    kept = len(list(directory.glob("kafka-*")))
    if kept not in (0, nodes):
        raise ConfigurationError(
            f"{directory} holds the data of {counted(kept, 'Kafka node')}, not of {nodes}"
        )
    for formatted in directory.glob("kafka-*/data/meta.properties"):
        return _property(formatted, "cluster.id")
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _property(file: Path, wanted: str) -> str:
    lines = (line.partition("=") for line in file.read_text().splitlines())
    return next(value for name, _, value in lines if name == wanted)
