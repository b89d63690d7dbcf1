"""One process that prepares messages, seen from both of its ends.

It answers message by message, so its parent knows which one it died of. The kernel itself ends a process
whose page exceeds its time, even in native code; a process whose parent has gone reads the end of its
connection and leaves.
"""

import gc
import multiprocessing
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection

from schemas.errors import ConfigurationError
from schemas.outcomes import BrokenReason
from schemas.pages import Message
from streams.preparation.preparation import Outcomes, Prepare, html_bytes
from streams.settings import KIB, MIB, PageLimits

_PRELOADED = [__name__, "streams.sources.registry"]
_START_SECONDS = 60.0
_RETIREMENT_BYTES = 192 * MIB
"""Memory from which a process makes place for a fresh one: what a huge page took is hardly given back."""
_STUCK_SECONDS = 5.0
"""What a page may exceed its time by before the parent kills the process: a stopped one hears no timer."""
_NEVER = float("inf")
_COLLECT_EVERY = 50_000
"""Objects until the first look for cycles: a page's thousands hold none, and each look goes through them."""


class ProcessDiedError(Exception):
    """The process died of the message that it did not answer."""

    def __init__(self, reason: BrokenReason, detail: str, *, certain: bool) -> None:
        super().__init__(detail)
        self.reason = reason
        self.certain = certain
        """Whether the message is to blame beyond doubt; else somebody may have killed the process."""


class PreparationProcess:
    """A process that starts with its first messages, and again after each death."""

    def __init__(self, open_preparer: Callable[[], Prepare], limits: PageLimits) -> None:
        self._open_preparer = open_preparer
        self._limits = limits
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOADED)
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._deadline = _NEVER

    def answers(self, messages: Sequence[Message], room: float) -> Iterator[Outcomes]:
        """What became of each message, in order, until their pages' HTML fills `room` bytes.

        Raises:
            ProcessDiedError: the process died; the messages answered before have been given.
            ConfigurationError: the process could not start.
        """
        connection, peak = self._connected(), 0
        try:
            self._extend_deadline()
            connection.send((messages, room))
            is_last = False
            while not is_last:
                self._extend_deadline()
                outcomes, peak, is_last = connection.recv()
                yield outcomes
            if peak > _RETIREMENT_BYTES:
                self._bury()
        except (EOFError, OSError):
            raise self._obituary() from None
        finally:
            self._deadline = _NEVER

    def start(self) -> None:
        """Start the process, if it does not live.

        Raises:
            ConfigurationError: it cannot start.
        """
        self._connected()

    def kill_if_stuck(self) -> None:
        """Kill the process if its page is overdue."""
        if time.monotonic() > self._deadline:
            self.kill()

    def kill(self) -> None:
        """End the process at once."""
        process = self._process  # another thread may bury it meanwhile
        if process is not None:
            process.kill()

    def _connected(self) -> Connection:
        if self._connection is None:
            self._deadline = time.monotonic() + _START_SECONDS
            self._connection, theirs = self._context.Pipe()
            process = self._context.Process(
                target=_serve, args=(theirs, self._open_preparer, self._limits), daemon=True
            )
            process.start()
            self._process = process
            theirs.close()
            self._await_readiness(self._connection)
            self._deadline = _NEVER
        return self._connection

    def _await_readiness(self, connection: Connection) -> None:
        try:
            problem = connection.recv()
        except EOFError:
            problem = ConfigurationError(f"no process could be started: {_cause(self._bury())}")
        if problem is not None:
            raise problem

    def _extend_deadline(self) -> None:
        self._deadline = time.monotonic() + self._limits.seconds + _STUCK_SECONDS

    def _obituary(self) -> ProcessDiedError:
        stuck = time.monotonic() > self._deadline
        status = self._bury()
        if stuck or status == -signal.SIGALRM:
            detail = f"the page took longer than {self._limits.seconds:g} s (--page-seconds)"
            return ProcessDiedError(BrokenReason.TIME_BUDGET_EXCEEDED, detail, certain=not stuck)
        detail = f"the process that worked on the page died: {_cause(status)}"
        return ProcessDiedError(BrokenReason.PROCESS_CRASHED, detail, certain=False)

    def _bury(self) -> int | None:
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is None or connection is None:
            return None
        connection.close()
        process.kill()
        process.join()
        return process.exitcode


def _cause(status: int | None) -> str:
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"exit status {status}"


def _serve(connection: Connection, open_preparer: Callable[[], Prepare], limits: PageLimits) -> None:
    """The life of the process: prepare what is sent until the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_DATA, (limits.memory_bytes, limits.memory_bytes))
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)
    try:
        prepare = open_preparer()
    except ConfigurationError as error:
        connection.send(error)
        return
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            _answer(connection, prepare, limits, *connection.recv())


def _answer(
    connection: Connection, prepare: Prepare, limits: PageLimits, messages: Sequence[Message], room: float
) -> None:
    """Send what became of each message, as long as there is room for their pages' HTML."""
    for number, message in enumerate(messages, start=1):
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)
        outcomes = prepare(message)
        signal.setitimer(signal.ITIMER_REAL, 0)
        room -= html_bytes(outcomes)
        is_last = number == len(messages) or room <= 0
        connection.send((outcomes, _peak_memory(), is_last))
        if is_last:
            return


def _peak_memory() -> int:
    """The most bytes that this process has held so far."""
    unit = 1 if sys.platform == "darwin" else KIB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
