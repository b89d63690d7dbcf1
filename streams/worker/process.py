"""Process of a worker: exit statuses, shutdown by a signal, loops and watchdog.

SIGTERM or SIGINT stops a worker within its grace period, whatever hangs. However it ends, messages in flight
are not committed, and Kafka delivers them again.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import NoReturn

from dehusk.schemas.errors import DehuskError
from dehusk.streams.cancellation import cancel
from dehusk.streams.kafka.errors import UnreadableBatch

STOPPED = 0
"""Exit status of a worker that was told to stop."""
FAILED = 70
"""Exit status after a bug, or at a batch that cannot be read: going on could lose messages."""
STALLED = 75
"""Exit status of a worker that made no progress, without a reason."""
Loop = Callable[[], Coroutine[None, None, None]]
"""Begins a loop, which runs until it is cancelled."""
_log = logging.getLogger(__name__)
_ASK_SECONDS = 1.0
_END_SECONDS = 5.0
_CHECK_SECONDS = 1.0


def end_process(status: int) -> NoReturn:
    """Exit at once, whatever hangs; no other thread continues."""
    logging.shutdown()
    os._exit(status)


def fail(error: BaseException) -> NoReturn:
    """Exit at once because of a bug, or of what the worker cannot go on without."""
    if isinstance(error, DehuskError):
        _log.critical(
            "ending a worker that cannot go on, and what was in flight comes again: %s", error, exc_info=error
        )
    else:
        _log.critical("ending a worker that met a bug; what was in flight comes again", exc_info=error)
    end_process(FAILED)


def fail_at(batch: UnreadableBatch, group: str) -> NoReturn:
    """Exit at once because of an unreadable batch: the operator decides what is skipped."""
    after = "OFFSET, that of the next batch," if batch.next_offset is None else batch.next_offset
    _log.critical(
        "%s; nothing is skipped: a worker ends here each time it starts. Restore the partition, or give up "
        "these records: stop all workers of group %s and set its offset of the partition to %s with Kafka's "
        "own tools: kafka-consumer-groups.sh --bootstrap-server … --group %s --topic %s:%d --reset-offsets "
        "--to-offset %s --execute",
        *(batch, group, after, group, batch.topic, batch.partition),
        "OFFSET" if batch.next_offset is None else batch.next_offset,
    )
    end_process(FAILED)


class Shutdown:
    """Shutdown at a signal, after which the process lives for `grace_seconds` at most."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace_seconds = grace_seconds
        self._requested = asyncio.Event()
        self._starting: asyncio.Task[object] | None = None

    def listen(self) -> None:
        """Handle SIGTERM and SIGINT: the first one requests a stop, the second one exits at once.

        A request before the call of `requested` cancels the current task, which starts the worker.
        """
        self._starting = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._request, number)

    async def requested(self) -> None:
        """Wait until a stop is requested."""
        self._starting = None
        await self._requested.wait()

    @property
    def is_requested(self) -> bool:
        """True if a stop was requested."""
        return self._requested.is_set()

    def _request(self, number: signal.Signals) -> None:
        if self._requested.is_set():
            end_process(STOPPED)
        _log.info("%s: finishing what is in flight, within %g s", number.name, self._grace_seconds)
        self._requested.set()
        if self._starting is not None:
            self._starting.cancel()
        timer = threading.Timer(self._grace_seconds, self._exit_late)
        timer.daemon = True
        timer.start()

    def _exit_late(self) -> None:
        _log.warning(
            "stopping after %g s with work unfinished; Kafka will give it out again", self._grace_seconds
        )
        end_process(STOPPED)


async def stop_with_kafka(
    stop: Callable[[], Coroutine[None, None, None]], kafka_answers: Callable[[], Awaitable[bool]]
) -> None:
    """Run `stop`, which needs Kafka; if Kafka is or becomes unavailable, exit instead."""
    stopping: asyncio.Task[None] | None = None
    while await kafka_answers():
        stopping = stopping or asyncio.create_task(stop())
        await asyncio.wait([stopping], timeout=_ASK_SECONDS)
        if stopping.done():
            await stopping
            return
    _log.warning("stopping without Kafka, which does not answer; what is not committed will be read again")
    end_process(STOPPED)


@asynccontextmanager
async def running(*loops: Loop, is_stopping: Callable[[], bool] = lambda: False) -> AsyncIterator[None]:
    """Run loops in the background, and cancel them at the end.

    An error of one ends the process. So does a cancellation that comes from elsewhere, such as that of a
    request whose channel somebody closed, unless the worker is stopping, which ends what they wait for.
    """
    tasks = [asyncio.create_task(loop()) for loop in loops]
    is_ending = False

    def fail_if_broken(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            if error := task.exception():
                fail(error)
        elif not (is_ending or is_stopping()):
            fail(RuntimeError(f"{task.get_coro()} was cancelled"))

    for task in tasks:
        task.add_done_callback(fail_if_broken)
    try:
        yield
    finally:
        is_ending = True
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await cancel(tasks)


class Watchdog:
    """Thread that ends the process when its event loop or its work stalls for `seconds`."""

    def __init__(
        self,
        has_reason_to_wait: Callable[[], bool],
        work_age: Callable[[], float],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._has_reason_to_wait = has_reason_to_wait
        self._work_age = work_age
        self._seconds = seconds
        self._clock = clock
        self._beat = self._last_progress = clock()

    async def run(self) -> None:
        """Watch until cancelled."""
        stopped = threading.Event()
        threading.Thread(target=self._watch, args=(stopped,), name="watchdog", daemon=True).start()
        try:
            while True:
                self.beat()
                await asyncio.sleep(_CHECK_SECONDS)
        finally:
            stopped.set()

    def beat(self) -> None:
        """Note that the event loop is alive."""
        self._beat = self._clock()

    def _watch(self, stopped: threading.Event) -> None:
        while not stopped.wait(_CHECK_SECONDS):
            if reason := self.stall():
                faulthandler.dump_traceback()
                _log.critical("ending a worker that stands still: %s", reason)
                end_process(STALLED)

    def stall(self) -> str | None:
        """Return the description of a stall; None without one."""
        now = self._clock()
        if now - self._beat > self._seconds:
            return f"its event loop has been busy for {now - self._beat:.0f} s"
        if self._has_reason_to_wait() or self._work_age() < self._seconds:
            self._last_progress = now
        if now - self._last_progress > self._seconds:
            return f"a batch, a rebalance or the next read has taken {self._work_age():.0f} s"
        return None
