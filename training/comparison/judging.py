"""Judgement of labelers on pages: agreement of texts and blocks with the gold, and time.

Pages are judged in processes. The kernel itself ends one when a labeler exceeds its time on a page, even in
native code. The process tells beforehand whom it calls, so its parent knows who hung, and has the page judged
again without them.
"""

import multiprocessing
import random
import resource
import signal
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from statistics import median
from typing import NamedTuple

import numpy as np

from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.pages import RawPage
from dehusk.streams.preparation.process import ChildProcess
from dehusk.training.arrays import Bools
from dehusk.training.comparison.labelers import Competitor, Outcome
from dehusk.training.comparison.questions import ComparedPage, Question, question_of
from dehusk.training.scores import BlockCounts, WordScores, kept_words, score_words, word_f1, word_scores

_WARM_UP = RawPage("http://example.org/", b"<article><p>The mill stood by the river, and turned.</article>")
_AHEAD = 2
"""Pages that wait for each process, so that none waits for pages."""
Watch = Callable[[str], AbstractContextManager[None]]
"""Context that is entered while the labeler of a name is at work."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Result of one labeler on one page."""

    words: WordScores
    blocks: BlockCounts
    milliseconds: float
    """CPU time from the HTML to the text, the median of some rounds."""
    problem: str = ""
    """Reason why there is no text, if so: it is scored as an empty one."""


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """Results of all labelers on one page."""

    id: str
    collection: str
    site: str
    page_type: str
    everything: float
    """F1 of the words of all units."""
    oracle: float
    """F1 of the words of the units that are content."""
    judgements: Mapping[str, Judgement]
    """Judgements by the names of labelers."""
    problem: str = ""
    """Reason why none of its units is scored, if so."""


class Timeout(NamedTuple):
    """Excess of the time limit by a labeler on a page: its message, and the CPU seconds that are charged."""

    problem: str
    seconds: float


class _Timed(NamedTuple):
    outcome: Outcome | None
    seconds: float
    problem: str


def judge(
    page: ComparedPage,
    competitors: Mapping[str, Competitor],
    rounds: int,
    turn: int,
    *,
    watch: Watch,
    timeouts: Mapping[str, Timeout],
) -> JudgedPage:
    """Judge all labelers on a page; they extract it in each round in another order, drawn by `turn`.

    Those that were given up on it are not called, and fail.
    """
    question = question_of(page)
    calls = {name: _Call(each, question, name, watch) for name, each in competitors.items()}
    timed = _timed({name: call for name, call in calls.items() if name not in timeouts}, rounds, turn)
    timed |= {name: [_Timed(None, each.seconds, each.problem)] for name, each in timeouts.items()}
    return JudgedPage(
        id=page.id,
        collection=page.collection,
        site=page.site,
        page_type=page.page_type,
        everything=word_f1(kept_words(question.units, np.ones(len(question.units))), question.gold),
        oracle=word_f1(kept_words(question.units, question.truth), question.gold),
        judgements={name: _judgement(calls[name], timed[name]) for name in competitors},
        problem=question.problem,
    )


class _Call(NamedTuple):
    """A labeler that is asked about a page, watched by its name."""

    competitor: Competitor
    question: Question
    name: str
    watch: Watch

    def extract(self) -> _Timed:
        with self.watch(self.name):
            started = _cpu_seconds()
            try:
                outcome, problem = self.competitor.extract(self.question.raw), ""
            except Exception as error:  # noqa: BLE001 -- extractors raise anything, and others go on
                outcome, problem = None, _describe(error)
            return _Timed(outcome, _cpu_seconds() - started, problem)

    def units(self, outcome: Outcome) -> Bools:
        """Label the units of the page; raise what `Competitor.units` does."""
        with self.watch(self.name):
            return self.competitor.units(self.question, outcome)


def _cpu_seconds() -> float:
    """Return the CPU time of this process; under `_allow`, the one of `time` advances by ticks alone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _timed(calls: Mapping[str, _Call], rounds: int, turn: int) -> dict[str, list[_Timed]]:
    """Return what each made of the page in each round."""
    everyone, orders = list(calls), random.Random(turn)  # noqa: S311 no secret
    timed: dict[str, list[_Timed]] = {name: [] for name in everyone}
    for _ in range(rounds):
        for name in orders.sample(everyone, len(everyone)):
            timed[name].append(calls[name].extract())
    return timed


def _judgement(call: _Call, timed: list[_Timed]) -> Judgement:
    question, (outcome, _, problem) = call.question, timed[0]
    found = np.zeros(len(question.units), np.bool_)
    if outcome is not None:
        try:
            found = call.units(outcome)
        except PageError as error:
            problem = _describe(error)
    return Judgement(
        words=word_scores(score_words(outcome.text if outcome is not None else ""), question.gold),
        blocks=BlockCounts.of(question.truth, found),
        milliseconds=1000 * median(each.seconds for each in timed),
        problem=problem,
    )


def _describe(error: Exception) -> str:
    kind = error.reason if isinstance(error, PageError) else type(error).__name__
    return f"{kind}: {error}"


_Task = tuple[ComparedPage, int, Mapping[str, Timeout]]


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """Options of judging pages; processes are sent them, so they have to be picklable."""

    names: Sequence[str]
    opens: Callable[[str], Competitor]
    """Function that opens the labeler of a name."""
    rounds: int
    seconds: float
    """CPU time that each labeler may take for a page, each time."""
    wall_seconds: float
    """Limit of wall time: a labeler that waits takes no CPU time."""


class JudgingProcess(ChildProcess):
    """A process with labelers of its own; it starts with its first page, and again when it has died."""

    shutdown_seconds = 10.0  # so that its exit status tells the cause

    def __init__(self, options: JudgingOptions) -> None:
        super().__init__(multiprocessing.get_context("spawn"), _serve, options)
        self._options = options

    def judge(self, page: ComparedPage, turn: int) -> JudgedPage:
        """Judge all labelers on a page; one that exceeds the time fails on it.

        Raises:
            ConfigurationError: the process died of something else, or could not start.
        """
        timeouts: dict[str, Timeout] = {}
        while True:
            name, judged = self._judged((page, turn, timeouts))
            if judged is not None:
                return judged
            timeouts[name] = self._timeout(page)

    def _judged(self, task: _Task) -> tuple[str, JudgedPage | None]:
        """Return who was called last, and the judged page, or None where the process died."""
        connection, name = self._ensure_started(), ""
        with suppress(EOFError, OSError):
            connection.send(task)
            while isinstance(message := connection.recv(), str):
                name = message
            return name, message
        return name, None

    def _timeout(self, page: ComparedPage) -> Timeout:
        """Return why the process died while it judged a page.

        Raises:
            ConfigurationError: not by its limits of time.
        """
        status, options = self._reap(), self._options
        if status == -signal.SIGPROF:
            problem = f"time-limit: it took more than {options.seconds:g} s of CPU time (--page-seconds)"
            return Timeout(problem, options.seconds)
        if status == -signal.SIGALRM:
            problem = f"time-limit: it took longer than {options.wall_seconds:g} s, most of them waiting"
            return Timeout(problem, options.seconds)
        cause = "perhaps for want of memory" if status == -signal.SIGKILL else f"with exit status {status}"
        raise ConfigurationError(f"a process died, {cause}, on page {page.id}: leave it out")


def _serve(connection: Connection, options: JudgingOptions) -> None:
    """Judge pages in the process until the parent closes the connection."""
    competitors = _opened(options)

    @contextmanager
    def limited(name: str) -> Iterator[None]:
        connection.send(name)
        _allow(options.seconds, options.wall_seconds)
        try:
            yield
        finally:
            _allow(0, 0)

    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            page, turn, timeouts = connection.recv()
            connection.send(judge(page, competitors, options.rounds, turn, watch=limited, timeouts=timeouts))


def _opened(options: JudgingOptions) -> dict[str, Competitor]:
    """Open all labelers, and have each see a page, as the first takes longer."""
    warnings.simplefilter("ignore")
    competitors = {name: options.opens(name) for name in options.names}
    for each in competitors.values():
        with suppress(Exception):  # who fails does so on the pages, too, and is named there
            each.extract(_WARM_UP)
    return competitors


def _allow(seconds: float, wall_seconds: float) -> None:
    """Have the kernel end this process after so much CPU time, or so much time by the clock; 0 for never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)


def judge_pages(
    pages: Iterable[ComparedPage], options: JudgingOptions, processes: int
) -> Generator[JudgedPage, None, None]:
    """Judge all labelers on each page; yield it as soon as it and those before it are judged.

    Raises:
        ConfigurationError: a process died, but not by the limit of time; the message names the page.
    """
    crew = [JudgingProcess(options) for _ in range(processes)]
    idle: SimpleQueue[JudgingProcess] = SimpleQueue()
    for each in crew:
        idle.put(each)
    threads = ThreadPoolExecutor(processes)
    waiting: deque[Future[JudgedPage]] = deque()
    try:
        for turn, page in enumerate(pages):
            waiting.append(threads.submit(_judge_in_turn, idle, page, turn))
            if len(waiting) > _AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for each in crew:
            each.close()


def _judge_in_turn(idle: SimpleQueue[JudgingProcess], page: ComparedPage, turn: int) -> JudgedPage:
    process = idle.get()
    try:
        return process.judge(page, turn)
    finally:
        idle.put(process)
