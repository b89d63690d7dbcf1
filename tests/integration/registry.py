"""A real schema registry: Apicurio's, which answers Confluent's clients, too."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

import orjson
from jgo.maven import MavenContext

from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.local.process import Service
from tests.crawlers.programs import Command
from tests.integration.java import java
from tests.unit.docker.helm.fetched import fetched

_VERSION = "3.0.9"
_SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
_PATH = "/apis/ccompat/v7"
_FIRST = {
    "AVRO": '"string"',
    "JSON": '{"$schema": "http://json-schema.org/draft-07/schema#"}',
    "PROTOBUF": 'syntax = "proto3"; message First {}',
}
"""Schemas by their languages, of each of which the first one takes a registry the longest."""


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry that a test may stop and start; its schemas are in memory, so it forgets them with that."""

    url: str
    service: Service

    def ask(self, path: str, fields: object = None, method: str = "GET") -> object:
        """Return the answer of its interface."""
        return _ask(self.url + path, fields, method)


def _ask(url: str, fields: object, method: str) -> object:
    content = None if fields is None else orjson.dumps(fields)
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    with urlopen(Request(url, content, headers, method=method), timeout=30) as answer:
        return orjson.loads(answer.read())


def _registers(url: str) -> bool:
    """Return True once it has registered a schema of each language: a worker does not wait for the first."""
    try:
        for language, schema in _FIRST.items():
            fields = {"schema": schema, "schemaType": language}
            _ask(f"{url}/subjects/first-{language}/versions", fields, "POST")
    except OSError:
        return False
    return True


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
    url = f"http://{LOOPBACK}:{port}{_PATH}"
    options = (f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={port}")
    words = java(*options, "-jar", str(folder / "program" / f"apicurio-registry-app-{_VERSION}-runner.jar"))
    service = Service(Command("registry", words, partial(_registers, url)), folder / "log")
    service.start()
    try:
        yield Registry(url, service)
    finally:
        service.kill()
