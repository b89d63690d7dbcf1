"""The stopping of a worker: by SIGTERM or SIGINT, within its grace period whatever hangs."""

import asyncio
import logging
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine

from dehusk.streams.worker.exit import STOPPED, end_process

_ASK_SECONDS = 1.0
_log = logging.getLogger(__name__)


class Shutdown:
    """Waits for the signal to stop; from then on the process lives for `grace_seconds` at most."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace_seconds = grace_seconds
        self._requested = asyncio.Event()
        self._starting: asyncio.Task[object] | None = None

    def listen(self) -> None:
        """Take SIGTERM and SIGINT as the wish to stop, the second one as the wish to stop at once.

        Until it is waited for, this task is taken for one that starts the worker, and the wish cancels it.
        """
        self._starting = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._request, number)

    async def requested(self) -> None:
        """Return when the worker is to stop."""
        self._starting = None
        await self._requested.wait()

    @property
    def is_requested(self) -> bool:
        """Whether the worker is to stop."""
        return self._requested.is_set()

    def _request(self, number: signal.Signals) -> None:
        if self._requested.is_set():
            end_process(STOPPED)
        _log.info("%s: finishing what is in flight, within %g s", number.name, self._grace_seconds)
        self._requested.set()
        if self._starting is not None:
            self._starting.cancel()
        timer = threading.Timer(self._grace_seconds, self._give_up)
        timer.daemon = True
        timer.start()

    def _give_up(self) -> None:
        _log.warning(
            "stopping after %g s with work unfinished; Kafka will give it out again", self._grace_seconds
        )
        end_process(STOPPED)


async def stop_with_kafka(
    stop: Callable[[], Coroutine[None, None, None]], kafka_answers: Callable[[], Awaitable[bool]]
) -> None:
    """Stop what cannot stop without Kafka; while Kafka is unavailable, the process ends instead."""
    stopping: asyncio.Task[None] | None = None
    while await kafka_answers():
        stopping = stopping or asyncio.create_task(stop())
        await asyncio.wait([stopping], timeout=_ASK_SECONDS)
        if stopping.done():
            await stopping
            return
    _log.warning("stopping without Kafka, which does not answer; what is not committed will be read again")
    end_process(STOPPED)
