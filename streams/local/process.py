"""Services of the local stack as processes: started, watched, stopped, killed, restarted."""

import os
import shutil
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.folders import writing
from dehusk.streams.local import guard
from dehusk.streams.settings import MIB

_TAIL_LINES = 20
_MIN_FREE_BYTES = 4 * MIB
"""Free bytes below which a disk counts as full; a service may have freed a file that it could not finish."""
_MAX_LOG_BYTES = 16 * MIB
"""Size of a log from which on it is begun anew; one older is kept."""


def guarded(command: Sequence[str]) -> list[str]:
    """Return the command of a guard that runs another one, and ends it with this process."""
    return [sys.executable, "-IS", guard.__file__, str(os.getpid()), *command]


class Program(ABC):
    """The program of a service, with the command that runs it and a test of its readiness."""

    name: str
    """Name of the service and of its log file."""

    def preparation(self) -> Sequence[str]:
        """Return the command that must succeed before the service starts; empty for none."""
        return ()

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return the command that runs until the service is stopped."""

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables of the commands; those of this process by default."""
        return os.environ

    def is_ready(self) -> bool:
        """Return True once the service answers its own protocol; never raises before that."""
        return True


class Service:
    """One service of the local stack; started again after a stop, it answers at the same port."""

    def __init__(
        self,
        program: Program,
        log: Path,
        *,
        start_seconds: float = 90.0,
        stop_seconds: float = 20.0,
        min_free_bytes: float = _MIN_FREE_BYTES,
        max_log_bytes: int = _MAX_LOG_BYTES,
    ) -> None:
        self.name = program.name
        self.log = log
        self._program = program
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._min_free_bytes = min_free_bytes
        self._max_log_bytes = max_log_bytes
        self._guard: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the service, unless it runs, and wait until it is ready.

        Raises:
            ConfigurationError: its files or its log cannot be written.
            UnavailableError: it ended or did not get ready; the message holds the end of its log.
        """
        if self.running:
            return
        with writing(self.log.parent):
            self._launch()
        self._wait_until_ready()

    def stop(self) -> None:
        """Ask the service to end, wait for it, and kill it if it takes too long."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the service at once with SIGKILL."""
        self._end(signal.SIGQUIT)

    def restart(self) -> None:
        """Stop the service and start it again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze the service with SIGSTOP: its port stays open, but nobody answers."""
        self._signal(signal.SIGTSTP)

    def resume(self) -> None:
        """Let a paused service go on."""
        self._signal(signal.SIGCONT)

    @property
    def running(self) -> bool:
        """True while the service's process lives."""
        return self._guard is not None and self._guard.poll() is None

    @property
    def state(self) -> str:
        """State of the service in words: running, or its exit status."""
        return "it still runs" if self.status is None else f"it ended with {_status_in_words(self.status)}"

    @property
    def status(self) -> int | None:
        """Exit status of the service's process; None while it runs, or before it was started."""
        return None if self._guard is None else self._guard.poll()

    def rotate_log(self) -> None:
        """Begin a large log anew, and keep what it held beside it, unless the disk has no room for that.

        The service has it open and appends to it; what it writes at the very moment may be lost.

        Raises:
            ConfigurationError: the log cannot be written.
        """
        with writing(self.log.parent):
            size = self.log.stat().st_size if self.log.exists() else 0
            if size <= self._max_log_bytes or self._free_bytes() < size + self._min_free_bytes:
                return
            shutil.copyfile(self.log, self.log.with_name(f"{self.log.name}.1"))
            os.truncate(self.log, 0)

    def _free_bytes(self) -> int:
        return shutil.disk_usage(self.log.parent).free

    def last_words(self) -> str:
        """Return the service's state and the last lines of its log, for an error message."""
        if self._free_bytes() < self._min_free_bytes:
            return f"{self.state}; there is no room left in {self.log.parent}"
        try:
            lines = self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        except OSError as error:
            return f"{self.state}; its log {self.log} cannot be read: {error.strerror}"
        return "\n".join([f"{self.state}; the end of {self.log}:", *lines])

    def _launch(self) -> None:
        if preparation := self._program.preparation():
            self._run(preparation)
            if self._guard is not None and self._guard.wait():
                raise UnavailableError(f"{self.name} could not be prepared; {self.last_words()}")
        self._run(self._program.command())

    def _run(self, command: Sequence[str]) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._guard = subprocess.Popen(
                guarded(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._program.environment(),
                start_new_session=True,
            )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + self._start_seconds
        while not self._program.is_ready():
            if not self.running:
                raise UnavailableError(f"{self.name} ended at its start; {self.last_words()}")
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"{self.name} was not ready in {self._start_seconds:.0f} s; {self.last_words()}"
                )
            time.sleep(0.1)

    def _end(self, number: signal.Signals) -> None:
        if self._guard is None:
            return
        self.resume()
        self._signal(number)
        try:
            self._guard.wait(self._stop_seconds)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGQUIT)
            self._guard.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._guard is not None and self._guard.poll() is None:
            self._guard.send_signal(number)


def _status_in_words(status: int) -> str:
    """Return an exit status, and the signal that it stands for, as the guard and shells encode it."""
    name = next((f" ({number.name})" for number in signal.Signals if number == status - 128), "")
    return f"status {status}{name}"
