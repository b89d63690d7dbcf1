"""The watchdog: a worker that makes no progress ends, so that its supervisor starts a fresh one."""

import asyncio
import faulthandler
import logging
import threading
import time
from collections.abc import Callable

from dehusk.streams.worker.exit import STALLED, end_process

_log = logging.getLogger(__name__)
_CHECK_SECONDS = 1.0


class Watchdog:
    """A thread that ends the process when its event loop or its work stands still for `seconds`."""

    def __init__(
        self, has_reason_to_wait: Callable[[], bool], work_age: Callable[[], float], seconds: float
    ) -> None:
        self._has_reason_to_wait = has_reason_to_wait
        self._work_age = work_age
        self._seconds = seconds
        self._beat = self._moved = time.monotonic()

    async def run(self) -> None:
        """Watch, for as long as this runs."""
        stopped = threading.Event()
        threading.Thread(target=self._watch, args=(stopped,), name="watchdog", daemon=True).start()
        try:
            while True:
                self.beat()
                await asyncio.sleep(_CHECK_SECONDS)
        finally:
            stopped.set()

    def beat(self) -> None:
        """Note that the event loop turns."""
        self._beat = time.monotonic()

    def _watch(self, stopped: threading.Event) -> None:
        while not stopped.wait(_CHECK_SECONDS):
            if reason := self.stall():
                faulthandler.dump_traceback()
                _log.critical("ending a worker that stands still: %s", reason)
                end_process(STALLED)

    def stall(self) -> str | None:
        """What stands still, in words, if anything does."""
        now = time.monotonic()
        if now - self._beat > self._seconds:
            return f"its event loop has been busy for {now - self._beat:.0f} s"
        if self._has_reason_to_wait() or self._work_age() < self._seconds:
            self._moved = now
        if now - self._moved > self._seconds:
            return f"a batch, or a rebalance, has taken {self._work_age():.0f} s"
        return None
