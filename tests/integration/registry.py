"""A real schema registry: Apicurio's, which answers Confluent's clients, too."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import orjson
from jgo.maven import MavenContext

from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.local.kafka import find_java
from dehusk.streams.local.process import Program, Service
from tests.unit.docker.helm.fetched import fetched

_VERSION = "3.0.9"
_SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
_PATH = "/apis/ccompat/v7"


@dataclass(frozen=True, slots=True)
class _Program(Program):
    name: str
    port: int
    folder: Path

    def command(self) -> list[str]:
        """Return the command that runs the registry, whose schemas are in memory."""
        options = (f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self.port}", "-Xmx256m")
        java = (str(find_java()), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *options)
        return [*java, "-jar", str(self.folder / f"apicurio-registry-app-{_VERSION}-runner.jar")]

    def is_ready(self) -> bool:
        """Return True once it answers."""
        try:
            with urlopen(f"http://{LOOPBACK}:{self.port}{_PATH}/subjects", timeout=2):
                return True
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry that a test may stop and start; it forgets its schemas with that."""

    url: str
    service: Service

    def ask(self, path: str, fields: object = None, method: str = "GET") -> object:
        """Return the answer of its interface."""
        content = None if fields is None else orjson.dumps(fields)
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = Request(self.url + path, content, headers, method=method)
        with urlopen(request, timeout=30) as answer:
            return orjson.loads(answer.read())


def _download(folder: Path) -> Path:
    component = (
        MavenContext(repo_cache=folder).project("io.apicurio", "apicurio-registry-app").at_version(_VERSION)
    )
    return component.artifact(classifier="all", packaging="tar.gz").resolve()


@contextmanager
def running_registry(folder: Path) -> Iterator[Registry]:
    """A registry that runs meanwhile."""
    archive = fetched("registry.tar.gz", _SHA256, _download)
    with tarfile.open(archive) as files:
        files.extractall(folder / "program", filter="data")
    (port,) = free_ports(1)
    service = Service(_Program("registry", port, folder / "program"), folder / "log")
    service.start()
    try:
        yield Registry(f"http://{LOOPBACK}:{port}{_PATH}", service)
    finally:
        service.kill()
