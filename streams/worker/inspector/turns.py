"""Turns of those who want something of the one process: one at a time, and few who wait."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST_WAITING = 4


class BusyError(Exception):
    """Too many wait already."""


class Turns:
    """Gives turns in the order in which they are wanted."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._there = 0
        self._since = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """How long nobody has been there; 0 while somebody is."""
        return 0.0 if self._there else time.monotonic() - self._since

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A turn, once all before have had theirs.

        Raises:
            BusyError: so many wait that one more is refused.
        """
        if self._there > MOST_WAITING:
            raise BusyError
        self._there += 1
        try:
            async with self._turn:
                yield
        finally:
            self._there -= 1
            self._since = time.monotonic()
