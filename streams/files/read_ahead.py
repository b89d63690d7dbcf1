"""Reading of files or standard input, which block, beside an event loop."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from threading import Semaphore, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ReadAhead(Generic[Item]):
    """The items of an iterator, which a thread of its own advances, no more than `max_items` ahead.

    The thread may wait for standard input for ever and is left alone then: a process that ends before its
    input does must leave by `os._exit`.
    """

    def __init__(self, items: Iterator[Item], max_items: int) -> None:
        self._items = items
        self._free = Semaphore(max_items)
        self._read: asyncio.Queue[Item | _End] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._end: _End | None = None
        Thread(target=self._advance, name="read-ahead", daemon=True).start()

    async def take(self) -> list[Item]:
        """Return the items that are there, waiting for the first; none at the end.

        Raises:
            BaseException: what the iterator raised, once the items before it were taken.
        """
        taken: list[Item] = []
        while self._end is None and not (taken and self._read.empty()):
            item = await self._read.get()
            if isinstance(item, _End):
                self._end = item
            else:
                taken.append(item)
                self._free.release()
        if self._end is not None and self._end.error is not None and not taken:
            raise self._end.error
        return taken

    def _advance(self) -> None:
        error: BaseException | None = None
        try:
            for item in self._items:
                self._free.acquire()
                self._hand_over(item)
        except _NobodyReadsError:
            return
        except BaseException as raised:  # noqa: BLE001 it is raised again where the items are taken
            error = raised
        with suppress(_NobodyReadsError):
            self._hand_over(_End(error))

    def _hand_over(self, item: "Item | _End") -> None:
        try:
            self._loop.call_soon_threadsafe(self._read.put_nowait, item)
        except RuntimeError as error:
            raise _NobodyReadsError from error


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _NobodyReadsError(BaseException):
    """The event loop has ended."""
