"""A process that works on pages: the parent's side and the process's own.

It answers task by task, so its parent knows which one killed it. The kernel ends a process whose page exceeds
its CPU time, even in native code. A process whose parent is gone reads the end of its connection and exits.
"""

import gc
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.streams.heap import limit_data, release_free_memory
from dehusk.streams.preparation.channel import Channel, Head, Parts, size_of, to_parts
from dehusk.streams.preparation.context import IsolatedContext
from dehusk.streams.preparation.signals import blocked
from dehusk.streams.settings import KIB, MIB, PageLimits

_PRELOADED = [__name__, "dehusk.streams.sources.registry", "dehusk.streams.preparation.pool"]
_RETIREMENT_BYTES = 80 * MIB
"""Memory from which on a process is replaced: memory of a huge page is hardly returned to the system."""
_GROWTH_BYTES = 16 * MIB
"""Growth of a process from which it returns free memory after its tasks; typical pages take less."""
_MAX_ANSWER_BYTES = 4 * MIB
"""Bytes of the largest answer to a task that has the ordinary share of memory."""
_OUT_OF_MEMORY = 71
"""Exit status of a process that has no memory to read its tasks."""
NO_MEMORY = "the page needs more memory than a step may take; no option raises this limit"
_NEVER = float("inf")
_COLLECT_EVERY = 50_000
"""Threshold of the garbage collector: pages hold thousands of objects and no cycles."""

Work = Callable[[Any], object]
"""Handler of a task; expected failures are `Broken`, or a tuple that holds some."""


@dataclass(frozen=True, slots=True)
class Oversized:
    """Answer to a task that has to be repeated alone, as it may need the large share of memory."""


_OVERSIZED = to_parts(Oversized())


class ProcessDiedError(Exception):
    """The process died of the task that it did not answer."""

    def __init__(self, reason: BrokenReason, detail: str, *, is_certain: bool) -> None:
        super().__init__(detail)
        self.reason = reason
        self.is_certain = is_certain
        """True if the task is the cause for certain; else the process may have been killed from outside."""


class ChildProcess:
    """A process that starts when it is needed, and again after each death.

    Its target gets its end of the connection and `args`, and sends None when it is ready, or an error.
    """

    blocked_signals: tuple[signal.Signals, ...] = (signal.SIGINT,)
    """Signals that are for the parent alone, from its first import on."""
    shutdown_seconds = 0.0
    """Time to end by itself once its connection is closed."""

    def __init__(
        self, context: ForkServerContext | SpawnContext, target: Callable[..., None], *args: object
    ) -> None:
        self._context = context
        self._target = target
        self._args = args
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._is_closed = False

    def close(self) -> None:
        """End the process at once, also one that is only starting; its task is given up."""
        self._is_closed = True
        self.kill()

    def kill(self) -> None:
        """End the process at once."""
        process = self._process  # another thread may reap it meanwhile
        if process is not None:
            process.kill()

    def end(self) -> None:
        """End the process and wait for its end; no other thread uses it any more."""
        self._reap()

    def _ensure_started(self) -> Connection:
        """Start the process, if it does not live; return the connection to it."""
        if self._connection is None:
            connection, theirs = self._context.Pipe()
            process = self._context.Process(target=self._target, args=(theirs, *self._args), daemon=True)
            resource_tracker.ensure_running()  # else the start does so, which unblocks the signals
            try:
                with theirs, blocked(*self.blocked_signals):  # forkserver and process inherit the mask
                    process.start()
            except (OSError, EOFError) as error:  # the latter where the fork server could not fork
                connection.close()
                raise ConfigurationError(f"no process could be started: {error}") from error
            self._connection, self._process = connection, process
            self._await_readiness(connection)
        return self._connection

    def _await_readiness(self, connection: Connection) -> None:
        if self._is_closed:
            self.kill()
        try:
            problem = connection.recv()
        except EOFError:
            problem = ConfigurationError(f"no process could be started: {self._describe_exit(self._reap())}")
        if problem is not None:
            raise problem

    def _describe_exit(self, status: int | None) -> str:
        return f"exit status {status}"

    def _reap(self) -> int | None:
        """End and forget the process; return its exit status."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is None or connection is None:
            return None
        connection.close()
        process.join(self.shutdown_seconds)
        process.kill()
        process.join()
        return process.exitcode


class PageProcess(ChildProcess):
    """A process that starts with its first tasks, and again after each death."""

    blocked_signals = (signal.SIGINT, signal.SIGTERM)
    start_seconds = 240.0
    """Time that its start may take, less than that after which a worker counts as standing still."""

    def __init__(self, open_work: Callable[[], Work], limits: PageLimits) -> None:
        context = IsolatedContext()
        context.set_forkserver_preload(_PRELOADED)
        super().__init__(context, _serve, open_work, limits)
        self._limits = limits
        self._deadline = _NEVER
        self._channel: Channel | None = None

    def answers(
        self, tasks: Sequence[object], max_bytes: float, *, large: bool
    ) -> Iterator[tuple[object, int]]:
        """Yield the answer to each task and its size in bytes, in order.

        Answers end early after the one that fills `max_bytes`, after an `Oversized` one, and when they
        have taken the time of a page. With `large`, tasks may take the large share of memory.

        Raises:
            ProcessDiedError: the process died; the answers before have been given.
            ConfigurationError: the process could not start.
        """
        channel, peak = self._open_channel(), 0.0
        try:
            self._extend_deadline()
            channel.send(max_bytes, to_parts(tasks), flag=large)
            is_last = False
            while not is_last:
                self._extend_deadline()
                head = channel.receive_head()
                peak, is_last = head.number, head.flag
                yield channel.receive_value(head)
            if peak > _RETIREMENT_BYTES:
                self._reap()
        except (EOFError, OSError):
            raise self._death() from None
        finally:
            self._deadline = _NEVER

    def start(self) -> None:
        """Start the process, if it does not live.

        Raises:
            ConfigurationError: it cannot start.
        """
        self._ensure_started()

    def kill_if_stuck(self) -> None:
        """Kill the process if its page is overdue."""
        if time.monotonic() > self._deadline:
            self.kill()

    def _ensure_started(self) -> Connection:
        if self._connection is None:
            self._deadline = time.monotonic() + self.start_seconds
            try:
                super()._ensure_started()
            except ConfigurationError as error:
                if time.monotonic() > self._deadline:
                    raise ConfigurationError(
                        f"no process was ready within {self.start_seconds:g} s: is there CPU time left?"
                    ) from error
                raise
            finally:
                self._deadline = _NEVER
        return super()._ensure_started()

    def _open_channel(self) -> Channel:
        if self._channel is None:
            self._channel = Channel(self._ensure_started())
        return self._channel

    def _reap(self) -> int | None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        return super()._reap()

    def _extend_deadline(self) -> None:
        self._deadline = time.monotonic() + self._limits.wall_seconds

    def _death(self) -> ProcessDiedError:
        stuck = time.monotonic() > self._deadline
        status = self._reap()
        if status == -signal.SIGPROF:
            detail = f"the page took more than {self._limits.seconds:g} s of CPU time (--page-seconds)"
            return ProcessDiedError(BrokenReason.TIME_BUDGET_EXCEEDED, detail, is_certain=True)
        if stuck:
            detail = f"the page took longer than {self._limits.wall_seconds:g} s, most of them waiting"
            return ProcessDiedError(BrokenReason.TIME_BUDGET_EXCEEDED, detail, is_certain=False)
        if status == _OUT_OF_MEMORY:
            return ProcessDiedError(BrokenReason.MEMORY_BUDGET_EXCEEDED, NO_MEMORY, is_certain=False)
        detail = f"the process that worked on the page died: {self._describe_exit(status)}"
        return ProcessDiedError(BrokenReason.PROCESS_CRASHED, detail, is_certain=False)

    def _describe_exit(self, status: int | None) -> str:
        if status is not None and status < 0:
            with suppress(ValueError):  # real-time signals have no names
                return signal.Signals(-status).name
            return f"signal {-status}"
        return super()._describe_exit(status)


def _serve(connection: Connection, open_work: Callable[[], Work], limits: PageLimits) -> None:
    """Answer what is sent until the parent closes the connection."""
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
    """Process's side of the connection, which answers tasks."""

    def __init__(self, connection: Connection, work: Work, limits: PageLimits) -> None:
        self._channel = Channel(connection)
        self._work = work
        self._seconds = limits.seconds
        held = _held_memory()
        self._resident = _resident_memory()
        """Memory that it kept when it last returned some."""
        self._memory_limits = {False: held + limits.ordinary_bytes, True: held + limits.large_bytes}
        self._limit_memory(large=False)

    def answer(self) -> None:
        """Receive tasks and send an answer to each, up to the size and time limits."""
        head = self._channel.receive_head()
        bytes_left, large = head.number, head.flag
        self._limit_memory(large=large)
        tasks, begun = self._receive(head), time.monotonic()
        for number, task in enumerate(tasks, start=1):
            signal.setitimer(signal.ITIMER_PROF, self._seconds)
            answer = self._answer(task, large=large)
            signal.setitimer(signal.ITIMER_PROF, 0)
            bytes_left -= size_of(answer)
            is_late = time.monotonic() - begun > self._seconds
            is_last = number == len(tasks) or bytes_left <= 0 or is_late or answer is _OVERSIZED
            self._channel.send(_peak_memory(), answer, flag=is_last)
            if is_last:
                break
        self._limit_memory(large=False)
        del tasks, task, answer
        if _resident_memory() > self._resident + _GROWTH_BYTES:
            release_free_memory()
            self._resident = _resident_memory()

    def _limit_memory(self, *, large: bool) -> None:
        """Limit the memory of the process to that of ordinary tasks, or of a large one."""
        limit_data(self._memory_limits[large])

    def _receive(self, head: Head) -> Sequence[object]:
        try:
            tasks: Sequence[object] = self._channel.receive_value(head)[0]
        except MemoryError:  # the rest on the channel is useless
            os._exit(_OUT_OF_MEMORY)
        return tasks

    def _answer(self, task: object, *, large: bool) -> Parts:
        """Do a task and return the pickled answer."""
        try:
            result = self._work(task)
            if large or not _lacks_memory(result):
                answer = to_parts(result)
                if large or size_of(answer) <= _MAX_ANSWER_BYTES:
                    return answer
        except MemoryError:
            if large:
                return to_parts(Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, NO_MEMORY))
        return _OVERSIZED


def _lacks_memory(result: object) -> bool:
    """Return True if a task, or one page of it, failed for lack of memory."""
    outcomes = result if isinstance(result, tuple) else (result,)
    return any(
        isinstance(each, Broken) and each.reason is BrokenReason.MEMORY_BUDGET_EXCEEDED for each in outcomes
    )


def _held_memory() -> int:
    """Return the data size of this process in bytes, as the kernel counts it for RLIMIT_DATA."""
    return _statm(5)


def _resident_memory() -> int:
    """Return the memory of this process in bytes, with what it shares with others."""
    return _statm(1)


def _statm(field: int) -> int:
    """Return a field of the kernel's in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[field]) * resource.getpagesize()


def _peak_memory() -> int:
    """Return the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
