"""Services on small programs of their own, and what processes a test has started."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import psutil
import pytest

from dehusk.streams.local.process import Program, Service


@dataclass(frozen=True)
class Script(Program):
    """A program in Python that is ready once it has made its file."""

    source: str
    file: Path
    name: str = "script"
    before: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def preparation(self) -> Sequence[str]:
        self.file.unlink(missing_ok=True)
        return self.before

    def command(self) -> Sequence[str]:
        return [sys.executable, "-c", self.source, str(self.file)]

    def environment(self) -> Mapping[str, str]:
        return os.environ | self.variables

    def is_ready(self) -> bool:
        return self.file.exists()


@pytest.fixture
def service_of(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Makes services, and kills them in the end."""
    services: list[Service] = []

    def make(
        source: str,
        before: Sequence[str] = (),
        variables: Mapping[str, str] = MappingProxyType({}),
        **limits: float,
    ) -> Service:
        program = Script(source, tmp_path / "ready", before=before, variables=variables)
        services.append(Service(program, tmp_path / "logs" / "script.log", **limits))
        return services[-1]

    yield make
    for service in services:
        service.kill()


@pytest.fixture
def processes() -> Callable[[], set[psutil.Process]]:
    """Answers which processes there are that the test has started, and theirs.

    Those of other tests, such as a browser, may start some meanwhile.
    """
    own = psutil.Process()
    before = set(own.children())

    def started() -> set[psutil.Process]:
        found = set(own.children()) - before
        for each in list(found):
            with suppress(psutil.NoSuchProcess):
                found.update(each.children(recursive=True))
        return found

    return started
