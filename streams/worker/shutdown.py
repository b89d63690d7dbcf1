"""The stopping of a worker: by SIGTERM or SIGINT, within its grace period whatever hangs."""

import asyncio
import logging
import signal
import threading

from streams.worker.exit import STOPPED, end_process

_log = logging.getLogger(__name__)


class Shutdown:
    """Waits for the signal to stop; from then on the process lives for `grace_seconds` at most."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace_seconds = grace_seconds
        self._requested = asyncio.Event()

    def listen(self) -> None:
        """Take SIGTERM and SIGINT as the wish to stop, the second one as the wish to stop at once."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._request, number)

    async def requested(self) -> None:
        """Return when the worker is to stop."""
        await self._requested.wait()

    def _request(self, number: signal.Signals) -> None:
        if self._requested.is_set():
            end_process(STOPPED)
        _log.info("%s: finishing what is in flight, within %g s", number.name, self._grace_seconds)
        self._requested.set()
        timer = threading.Timer(self._grace_seconds, self._give_up)
        timer.daemon = True
        timer.start()

    def _give_up(self) -> None:
        _log.warning(
            "stopping after %g s with work unfinished; Kafka will give it out again", self._grace_seconds
        )
        end_process(STOPPED)
