"""One process that works on pages, seen from both of its ends.

It answers task by task, so its parent knows which one it died of. The kernel itself ends a process whose page
exceeds its CPU time, even in native code; a process whose parent has gone reads the end of its connection and
leaves.
"""

import gc
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.streams.settings import KIB, MIB, PageLimits
from dehusk.streams.signals import blocked

_PRELOADED = [__name__, "dehusk.streams.sources.registry", "dehusk.streams.preparation.steps"]
_START_SECONDS = 60.0
_RETIREMENT_BYTES = 80 * MIB
"""Memory from which a process makes place for a fresh one: what a huge page took is hardly given back."""
_LARGEST_ANSWER = 4 * MIB
"""Bytes of the largest answer to a task that has the ordinary share of memory."""
_OUT_OF_MEMORY = 71
"""Exit status of a process that has no memory to read its tasks."""
NO_MEMORY = "the page needs more memory than it may have"
_NEVER = float("inf")
_COLLECT_EVERY = 50_000
"""Objects until the first look for cycles: a page's thousands hold none, and each look goes through them."""

Work = Callable[[Any], object]
"""What becomes of a task; expected failures are `Broken`, or a tuple that holds some."""


@dataclass(frozen=True, slots=True)
class Oversized:
    """The answer to a task that has to be done again, alone: it may need a large share of memory."""


_OVERSIZED = pickle.dumps(Oversized())


class ProcessDiedError(Exception):
    """The process died of the task that it did not answer."""

    def __init__(self, reason: BrokenReason, detail: str, *, certain: bool) -> None:
        super().__init__(detail)
        self.reason = reason
        self.certain = certain
        """Whether the task is to blame beyond doubt; else somebody may have killed the process."""


class PageProcess:
    """A process that starts with its first tasks, and again after each death."""

    def __init__(self, open_work: Callable[[], Work], limits: PageLimits) -> None:
        self._open_work = open_work
        self._limits = limits
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOADED)
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._deadline = _NEVER

    def answers(self, tasks: Sequence[object], room: float, *, large: bool) -> Iterator[tuple[object, int]]:
        """The answer to each task and its bytes, in order.

        They end early behind the one that fills `room` bytes, behind one that is `Oversized`, and when they
        have taken as long as a page may. With `large`, tasks may take the large share of memory.

        Raises:
            ProcessDiedError: the process died; the answers before have been given.
            ConfigurationError: the process could not start.
        """
        connection, peak = self._connected(), 0
        try:
            self._extend_deadline()
            connection.send((room, large))
            connection.send(tasks)
            is_last = False
            while not is_last:
                self._extend_deadline()
                peak, is_last = connection.recv()
                answer = connection.recv_bytes()
                yield pickle.loads(answer), len(answer)  # noqa: S301 our own process wrote it
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
                target=_serve, args=(theirs, self._open_work, self._limits), daemon=True
            )
            with _terminal_signals_blocked():
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
        self._deadline = time.monotonic() + self._limits.wall_seconds

    def _obituary(self) -> ProcessDiedError:
        stuck = time.monotonic() > self._deadline
        status = self._bury()
        if status == -signal.SIGPROF:
            detail = f"the page took more than {self._limits.seconds:g} s of CPU time (--page-seconds)"
            return ProcessDiedError(BrokenReason.TIME_BUDGET_EXCEEDED, detail, certain=True)
        if stuck:
            detail = f"the page took longer than {self._limits.wall_seconds:g} s, most of them waiting"
            return ProcessDiedError(BrokenReason.TIME_BUDGET_EXCEEDED, detail, certain=False)
        if status == _OUT_OF_MEMORY:
            return ProcessDiedError(BrokenReason.MEMORY_BUDGET_EXCEEDED, NO_MEMORY, certain=False)
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


def _terminal_signals_blocked() -> AbstractContextManager[None]:
    """Start what inherits a mask that blocks Ctrl-C and SIGTERM, which reach the whole process group.

    The forkserver imports its modules, and a process its own, before they could ignore these signals.
    """
    resource_tracker.ensure_running()  # else the forkserver starts it, which unblocks these signals
    return blocked(signal.SIGINT, signal.SIGTERM)


def _cause(status: int | None) -> str:
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"exit status {status}"


def _serve(connection: Connection, open_work: Callable[[], Work], limits: PageLimits) -> None:
    """The life of the process: answer what is sent until the parent closes the connection."""
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)
    try:
        server = _Server(connection, open_work(), limits)
    except ConfigurationError as error:
        connection.send(error)
        return
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            server.answer()


class _Server:
    """The process's own end of the connection."""

    def __init__(self, connection: Connection, work: Work, limits: PageLimits) -> None:
        self._connection = connection
        self._work = work
        self._seconds = limits.seconds
        held = _held_memory()
        self._shares = {False: held + limits.ordinary_bytes, True: held + limits.large_bytes}
        self._take_share(large=False)

    def answer(self) -> None:
        """Receive tasks and send an answer to each, as long as there is room for them."""
        room, large = self._connection.recv()
        self._take_share(large=large)
        tasks, begun = self._receive(), time.monotonic()
        for number, task in enumerate(tasks, start=1):
            signal.setitimer(signal.ITIMER_PROF, self._seconds)
            answer = self._answer(task, large=large)
            signal.setitimer(signal.ITIMER_PROF, 0)
            room -= len(answer)
            is_late = time.monotonic() - begun > self._seconds
            is_last = number == len(tasks) or room <= 0 or is_late or answer is _OVERSIZED
            self._connection.send((_peak_memory(), is_last))
            self._connection.send_bytes(answer)
            if is_last:
                break
        self._take_share(large=False)

    def _take_share(self, *, large: bool) -> None:
        """Let the process hold as much memory as ordinary tasks may, or a large one."""
        resource.setrlimit(resource.RLIMIT_DATA, (self._shares[large], resource.RLIM_INFINITY))

    def _receive(self) -> Sequence[object]:
        try:
            tasks: Sequence[object] = self._connection.recv()
        except MemoryError:  # what is left on the connection is of no use
            os._exit(_OUT_OF_MEMORY)
        return tasks

    def _answer(self, task: object, *, large: bool) -> bytes:
        """What becomes of a task, pickled."""
        try:
            made = self._work(task)
            if large or not _lacks_memory(made):
                answer = pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
                if large or len(answer) <= _LARGEST_ANSWER:
                    return answer
        except MemoryError:
            if large:
                return pickle.dumps(Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, NO_MEMORY))
        return _OVERSIZED


def _lacks_memory(made: object) -> bool:
    """Whether a task, or one page of it, failed for want of memory."""
    found = made if isinstance(made, tuple) else (made,)
    return any(
        isinstance(each, Broken) and each.reason is BrokenReason.MEMORY_BUDGET_EXCEEDED for each in found
    )


def _held_memory() -> int:
    """The bytes of data that this process has mapped so far, as the kernel counts them for its limit."""
    pages = int(Path("/proc/self/statm").read_text().split()[5]) if sys.platform == "linux" else 0
    return pages * resource.getpagesize()


def _peak_memory() -> int:
    """The most bytes that this process has held so far."""
    unit = 1 if sys.platform == "darwin" else KIB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
