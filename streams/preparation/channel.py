"""Channel between a worker and one of its page processes: frames of a pickled value and its large bytes.

Large bytes lie beside the pickle, so they are copied neither into it nor out of it: the kernel takes them
from where they are, and puts them where they stay.
"""

import os
import pickle
import socket
from collections.abc import Sequence
from multiprocessing.connection import Connection
from struct import Struct
from typing import Any, NamedTuple

from dehusk.schemas.pickled import BESIDE_BYTES
from dehusk.streams.settings import MIB

_HEAD = Struct("=d?IQ")
"""Fields of a `Head`."""
_SIZE = Struct("=Q")
_MOST_PARTS = 256
"""Parts that are sent by one call; systems take at least 1,024."""
_BUFFER_BYTES = MIB
"""Bytes that may wait in the kernel, as far as it allows so many: fewer turns for a large frame."""

Parts = Sequence[memoryview]
"""A pickled value, and the large bytes beside it."""


class Head(NamedTuple):
    """Begin of a frame."""

    number: float
    """A number for the receiver."""
    flag: bool
    """A flag for the receiver."""
    beside: int
    """Number of the parts beside the pickle."""
    pickled: int
    """Bytes of the pickle."""


def to_parts(value: object) -> Parts:
    """Pickle a value; large bytes of `PickledWithBytes` and `PickledWithArrays` remain where they are."""
    beside: list[memoryview] = []

    def is_within(buffer: pickle.PickleBuffer) -> bool:
        view = buffer.raw()
        if not view.readonly or view.nbytes < BESIDE_BYTES:
            return True
        beside.append(view)
        return False

    return [memoryview(pickle.dumps(value, pickle.HIGHEST_PROTOCOL, buffer_callback=is_within)), *beside]


def size_of(parts: Parts) -> int:
    """Return the bytes of a value."""
    return sum(part.nbytes for part in parts)


class Channel:
    """One end of a channel; the connection remains its owner's."""

    def __init__(self, connection: Connection) -> None:
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def send(self, number: float, parts: Parts, *, flag: bool) -> None:
        """Send a value with a number and a flag.

        Raises:
            OSError: the other end is closed.
        """
        pickled, *beside = parts
        head = _HEAD.pack(*Head(number, flag, len(beside), pickled.nbytes))
        sizes = b"".join(_SIZE.pack(part.nbytes) for part in beside)
        remaining = [memoryview(head + sizes), *parts]
        while remaining:
            sent = self._socket.sendmsg(remaining[:_MOST_PARTS])
            while remaining and sent >= remaining[0].nbytes:
                sent -= remaining.pop(0).nbytes
            if sent:
                remaining[0] = remaining[0][sent:]

    def receive_head(self) -> Head:
        """Receive the begin of a frame; its value comes next.

        Raises:
            EOFError: the other end is closed.
            OSError: likewise.
        """
        return Head._make(_HEAD.unpack(self._read(_HEAD.size)))

    def receive_value(self, head: Head) -> tuple[Any, int]:
        """Receive the value of a frame, and its bytes.

        Raises:
            EOFError: the other end is closed.
            OSError: likewise.
            MemoryError: the value is too large; what remains of it on the channel is useless.
        """
        sizes = [size for (size,) in _SIZE.iter_unpack(self._read(head.beside * _SIZE.size))]
        pickled = self._read(head.pickled)
        beside = [self._read(size) for size in sizes]
        return pickle.loads(pickled, buffers=beside), head.pickled + sum(sizes)  # noqa: S301 our process wrote it

    def _read(self, size: int) -> bytes:
        """Read so many bytes: as a rule in one call, and into the memory where they stay."""
        read = self._socket.recv(size, socket.MSG_WAITALL) if size else b""
        while len(read) < size:
            more = self._socket.recv(size - len(read), socket.MSG_WAITALL)
            if not more:
                raise EOFError
            read += more
        return read
