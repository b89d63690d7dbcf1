"""`dehusk worker` whose coordinator is late with the committed offsets: a program of the tests alone.

It tells those of one rebalance when the next one has begun, and takes its time for that one, too. Then the
worker's event loop is busy, so that what a consumer has read meanwhile came before its seek.
"""

import asyncio
import logging
import time
from itertools import count

from dehusk.streams.cli import worker
from dehusk.streams.worker.input.consumer import Consumer
from dehusk.streams.worker.input.consumer_thread import ConsumerThread

LATE_CALL = 2
_log = logging.getLogger("dehusk.late_worker")
_calls = count(1)
_tell = ConsumerThread.seek_back
_stop_reading = Consumer.on_partitions_revoked
_waits, _has_stopped, _has_told = asyncio.Event(), asyncio.Event(), asyncio.Event()


async def seek_back(self: ConsumerThread) -> object:
    call, is_next = next(_calls), _has_told.is_set()
    if is_next:
        await asyncio.sleep(1.5)
    offsets = await _tell(self)
    if call == LATE_CALL:
        _log.warning("waits for the next rebalance")
        _waits.set()
        await _has_stopped.wait()
        asyncio.get_running_loop().call_later(0.2, _has_told.set)
    elif is_next:
        _has_told.clear()
        _log.warning("tells the offsets of this rebalance")
        time.sleep(0.7)  # noqa: ASYNC251 the loop is busy
    return offsets


async def on_partitions_revoked(self: Consumer, revoked: set[object]) -> None:
    """Let the next rebalance go on when the offsets of the one before are told, and not earlier."""
    await _stop_reading(self, revoked)  # type: ignore[arg-type]
    if _waits.is_set() and not _has_stopped.is_set():
        _has_stopped.set()
        await _has_told.wait()
        _log.warning("has told the offsets of the rebalance before")


if __name__ == "__main__":
    ConsumerThread.seek_back = seek_back  # type: ignore[method-assign, assignment]
    Consumer.on_partitions_revoked = on_partitions_revoked  # type: ignore[method-assign, assignment]
    worker.command(auto_envvar_prefix="DEHUSK_WORKER")
