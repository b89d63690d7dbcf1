"""Folders and ports of local stacks.

A folder is locked while its stack runs, and temporary unless it is to be kept. It holds the ports, so that
the next start answers at the same addresses.
"""

import random
import socket
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import orjson
from msgspec import Meta

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.folders import claimed_folder, temporary_files

_PREFIX = "dehusk-stack-"
_CLAIM = "claim"
"""File that is locked while a temporary folder is there; its stack has a lock of its own."""
_Port = Annotated[int, Meta(ge=1, le=65_535)]


def temporary_folder() -> AbstractContextManager[Path]:
    """Return a folder that is removed at the end, or by the next call if this process is killed.

    Raises:
        ConfigurationError: no temporary file can be written.
    """
    return claimed_folder(temporary_files(), _PREFIX, _CLAIM)


LOOPBACK = "127.0.0.1"
_PORTS = range(20_000, 32_000)
"""Ports below those of outgoing connections.

Otherwise a client that connects to a stopped service could be given that very port for its own end, and the
service could not start again.
"""


def free_ports(count: int, besides: Collection[int] = ()) -> list[int]:
    """Return different loopback ports that nobody listens on, without those in `besides`."""
    found: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        if len(found) == count:
            break
        if port not in besides and is_free(port):
            found.append(port)
    return found


def is_free(port: int) -> bool:
    """Return True if nobody listens on a loopback port; recently closed connections do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports of one start, by the names of their listeners."""

    numbers: dict[str, int]
    taken: dict[str, int]
    """Ports of the last start that another program listens on now; `numbers` has others instead."""


def assign_ports(names: Sequence[str], file: Path) -> Ports:
    """Assign a port to each name: that in the file if it is free, else a new one, which is put into the file.

    Raises:
        ConfigurationError: the file is damaged.
    """
    kept = _read(file)
    taken = {name: kept[name] for name in names if name in kept and not is_free(kept[name])}
    missing = [name for name in names if name not in kept or name in taken]
    numbers = kept | dict(zip(missing, free_ports(len(missing), besides=kept.values()), strict=True))
    if numbers != kept:
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_bytes(orjson.dumps(numbers))
        unfinished.rename(file)
    return Ports({name: numbers[name] for name in names}, taken)


def _read(file: Path) -> dict[str, int]:
    try:
        return msgspec.convert(orjson.loads(file.read_bytes()), dict[str, _Port])
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigurationError(
            f"{file} is damaged: remove it, and other ports are taken ({error})"
        ) from error
