"""Where the services of the local stack answer."""

import random
import socket
from collections.abc import Collection
from dataclasses import asdict, dataclass

import orjson

LOOPBACK = "127.0.0.1"
_PORTS = range(20_000, 32_000)
"""Below what Linux and macOS give to outgoing connections: a client that knocks at the port of a stopped
service could otherwise be given that very port, and the service could not start again."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a running local stack; empty for a service that was not asked for."""

    kafka: str
    """Bootstrap servers, `host:port`, comma-separated."""
    redis: str
    """URL of the Redis database."""
    triton_grpc: str
    """`host:port` for inference."""
    triton_http: str
    """`host:port` for health, metadata and inference."""
    directory: str
    """The folder that holds the stack's data and logs."""

    def to_json(self) -> bytes:
        """One JSON object on one line."""
        return orjson.dumps(asdict(self))


def free_ports(count: int, besides: Collection[int] = ()) -> list[int]:
    """Different loopback ports that nobody listens on, none of them among those `besides`."""
    found: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        if len(found) == count:
            break
        if port not in besides and is_free(port):
            found.append(port)
    return found


def is_free(port: int) -> bool:
    """Whether nobody listens on this loopback port; connections closed a moment ago do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
