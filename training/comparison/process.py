"""One process that judges pages, seen from both of its ends.

The kernel itself ends it when a labeler exceeds its time on a page, even in native code. It says beforehand
whom it calls, so its parent knows who hung, and has the page judged again without them.
"""

import multiprocessing
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import RawPage
from dehusk.streams.signals import blocked
from dehusk.training.comparison.judging import Abandoned, JudgedPage, judge
from dehusk.training.comparison.labelers import Compared
from dehusk.training.comparison.pages import ComparedPage

_WARM_UP = RawPage("http://example.org/", b"<article><p>The mill stood by the river, and turned.</article>")
_LAST_SECONDS = 10.0
"""For a process to end by itself, so that its exit status says of what."""
_Task = tuple[ComparedPage, int, Mapping[str, Abandoned]]


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms pages are judged; processes are sent it, so it has to be picklable."""

    names: Sequence[str]
    opens: Callable[[str], Compared]
    """What opens whom a name stands for."""
    rounds: int
    seconds: float
    """CPU time that each may take for a page, each time."""
    wall_seconds: float
    """The same by the clock, for what waits takes no CPU time."""


class JudgingProcess:
    """A process with labelers of its own; it starts with its first page, and again when it has died."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._closed = False

    def judge(self, page: ComparedPage, turn: int) -> JudgedPage:
        """How well all do on a page; who exceeds the time fails on it.

        Raises:
            ConfigurationError: the process died of something else, or could not start.
        """
        abandoned: dict[str, Abandoned] = {}
        while True:
            name, judged = self._judged((page, turn, abandoned))
            if judged is not None:
                return judged
            abandoned[name] = self._abandoned(page)

    def close(self) -> None:
        """End the process at once; a page that it was judging is given up."""
        self._closed = True
        self._kill()

    def _judged(self, task: _Task) -> tuple[str, JudgedPage | None]:
        """Who was called last; and the page as it was judged, or None where the process died of them."""
        connection, name = self._connected(), ""
        with suppress(EOFError, OSError):
            connection.send(task)
            while isinstance(said := connection.recv(), str):
                name = said
            return name, said
        return name, None

    def _connected(self) -> Connection:
        if self._connection is None:
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, self._terms), daemon=True)
            resource_tracker.ensure_running()  # else the start does so, which unblocks Ctrl-C
            with blocked(signal.SIGINT):  # which is for the parent
                process.start()
            theirs.close()
            self._process = process
            if self._closed:
                self._kill()
            self._await_readiness(self._connection)
        return self._connection

    def _await_readiness(self, connection: Connection) -> None:
        try:
            connection.recv()
        except EOFError:
            status = self._bury()
            raise ConfigurationError(f"no process could be started: exit status {status}") from None

    def _abandoned(self, page: ComparedPage) -> Abandoned:
        """Why the process died while it judged a page.

        Raises:
            ConfigurationError: not by its limits of time.
        """
        status, terms = self._bury(), self._terms
        if status == -signal.SIGPROF:
            problem = f"time-limit: it took more than {terms.seconds:g} s of CPU time (--page-seconds)"
            return Abandoned(problem, terms.seconds)
        if status == -signal.SIGALRM:
            problem = f"time-limit: it took longer than {terms.wall_seconds:g} s, most of them waiting"
            return Abandoned(problem, terms.seconds)
        cause = "perhaps for want of memory" if status == -signal.SIGKILL else f"with exit status {status}"
        raise ConfigurationError(f"a process died, {cause}, on page {page.id}: leave it out")

    def _bury(self) -> int | None:
        """The exit status of a process that has closed its connection."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is None or connection is None:
            return None
        connection.close()
        process.join(_LAST_SECONDS)
        process.kill()
        process.join()
        return process.exitcode

    def _kill(self) -> None:
        process = self._process  # another thread may bury it meanwhile
        if process is not None:
            process.kill()


def _serve(connection: Connection, terms: Terms) -> None:
    """The life of the process: judge pages until the parent closes the connection."""
    compared = _opened(terms)

    @contextmanager
    def limited(name: str) -> Iterator[None]:
        connection.send(name)
        _allow(terms.seconds, terms.wall_seconds)
        try:
            yield
        finally:
            _allow(0, 0)

    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            page, turn, abandoned = connection.recv()
            connection.send(judge(page, compared, terms.rounds, turn, watch=limited, abandoned=abandoned))


def _opened(terms: Terms) -> dict[str, Compared]:
    """All labelers, each of which has seen a page, as the first takes longer."""
    warnings.simplefilter("ignore")
    compared = {name: terms.opens(name) for name in terms.names}
    for each in compared.values():
        with suppress(Exception):  # who fails does so on the pages, too, and is named there
            each.extract(_WARM_UP)
    return compared


def _allow(seconds: float, wall_seconds: float) -> None:
    """Have the kernel end this process after so much CPU time, or so much time by the clock; 0 for never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)
