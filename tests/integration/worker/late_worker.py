"""`dehusk worker` whose coordinator is late with the committed offsets: a program of the tests alone.

It tells those of one rebalance when the next one has begun, and takes its time for that one, too. Then the
worker's event loop is busy, so that what a consumer has read meanwhile came before its seek.
"""

import asyncio
import logging
import time
from itertools import count

from dehusk.streams.cli import worker
from dehusk.streams.worker.input.consumer_thread import ConsumerThread

LATE_CALL = 2
_log = logging.getLogger("dehusk.late_worker")
_calls = count(1)
_tell = ConsumerThread.seek_back
_stale: list[int] = []
"""Rebalances of which the offsets came too late; emptied with the next one."""


async def seek_back(self: ConsumerThread) -> object:
    call, rebalance, stale = next(_calls), self.app.rebalancing_count, bool(_stale)
    if stale:
        await asyncio.sleep(1.5)
    offsets = await _tell(self)
    if call == LATE_CALL:
        _log.warning("waits for the next rebalance")
        while self.app.rebalancing_count == rebalance:  # noqa: ASYNC110 nothing tells of it
            await asyncio.sleep(0.02)
        await asyncio.sleep(1)
        _stale.append(rebalance)
        loop = asyncio.get_running_loop()
        loop.call_later(0.2, _log.warning, "has told the offsets of the rebalance before")
    elif stale:
        _stale.clear()
        _log.warning("tells the offsets of this rebalance")
        time.sleep(0.7)  # noqa: ASYNC251 the loop is busy
    return offsets


if __name__ == "__main__":
    ConsumerThread.seek_back = seek_back  # type: ignore[method-assign, assignment]
    worker.command(auto_envvar_prefix="DEHUSK_WORKER")
