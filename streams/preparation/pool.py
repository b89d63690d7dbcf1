"""Pool of processes that work on pages; a crash or a hang costs only the message that caused it.

Their temporary folder is locked while they live, so that the next pool can remove those of killed processes.
"""

import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, takewhile
from queue import SimpleQueue
from threading import Lock
from typing import TextIO, TypeVar, cast

from dehusk.inference.document.language import load_model
from dehusk.inference.sites import SiteKey, open_naming
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Encoding, Message
from dehusk.schemas.pickled import PickledByFields
from dehusk.streams.folders import claim, remove_abandoned, temporary_files, writing
from dehusk.streams.preparation.context import new_temporary_folder
from dehusk.streams.preparation.process import Oversized, PageProcess, ProcessDiedError, Work
from dehusk.streams.preparation.steps import LabeledPage, Outcomes, Preparer, Writing, WrittenDocument
from dehusk.streams.settings import MIB, PageLimits
from dehusk.streams.sources.source import Source

_ATTEMPTS = 2
"""Deaths of processes on a task done alone until the task is broken: one may be a kill from outside."""
_SENT_BYTES = 2 * MIB
"""Size from which on tasks are not sent together."""
_MAX_TASK_BYTES = 4 * MIB
"""Bytes of the largest task that is done with the ordinary share of memory."""
_LOCK = "dehusk.lock"


@dataclass(frozen=True, slots=True)
class PrepareTask(PickledByFields):
    """A message, and the optional encodings that its pages are to have."""

    message: Message
    encodings: frozenset[Encoding] = frozenset()


Task = PrepareTask | LabeledPage
Steps = Callable[[Task], Outcomes | WrittenDocument | Broken]
Answer = TypeVar("Answer")


def open_steps(
    open_source: Callable[[], Source],
    max_blocks: int,
    writing: Writing,
    site_key: SiteKey = SiteKey.HOST,
) -> Steps:
    """Open the steps for messages of a source, and for the pages that came out of them."""
    load_model()
    source, preparer = open_source(), Preparer(max_blocks, writing.options, open_naming(site_key))

    def work(task: Task) -> Outcomes | WrittenDocument | Broken:
        if isinstance(task, LabeledPage):
            return writing.extract(task)
        return preparer.prepare_message(source, task.message, task.encodings)

    return work


class PreparationPool:
    """Pool of `size` processes that prepare batches of messages, and extract the documents of labeled pages.

    One process works on a batch. Its answers end before the first task that is huge, needs more than the
    ordinary share of memory, or killed the process: that task is to be done alone. Only one process at a time
    has the large share.
    """

    def __init__(self, open_work: Callable[[], Work], size: int, limits: PageLimits) -> None:
        self._processes = [PageProcess(open_work, limits) for _ in range(size)]
        self._idle: SimpleQueue[PageProcess] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="preparation")
        self._large = Lock()
        self._look_seconds = min(1.0, limits.wall_seconds / 10)
        self._closed = False

    async def start(self) -> None:
        """Start all processes.

        Raises:
            ConfigurationError: they cannot start; the message says why.
        """
        loop = asyncio.get_running_loop()
        starts = (loop.run_in_executor(self._threads, process.start) for process in self._processes)
        await asyncio.gather(*starts)

    async def prepare(
        self,
        messages: Sequence[Message],
        max_bytes: float = math.inf,
        encodings: frozenset[Encoding] = frozenset(),
    ) -> list[Outcomes]:
        """Prepare the first messages with optional encodings, in order, until they fill `max_bytes`."""
        tasks = [PrepareTask(message, encodings) for message in messages]
        answers = await self._in_process(lambda process: self._answers(process, tasks, max_bytes))
        return [_outcomes(answer) for answer in answers]

    async def prepare_alone(self, message: Message, encodings: frozenset[Encoding] = frozenset()) -> Outcomes:
        """Prepare a message that may take the large share of memory."""
        return _outcomes(await self.answer_alone(PrepareTask(message, encodings)))

    async def extract(
        self, pages: Sequence[LabeledPage], max_bytes: float = math.inf
    ) -> list[WrittenDocument | Broken]:
        """Make the documents of the first pages, in order, until they fill `max_bytes`."""
        answers = await self._in_process(lambda process: self._answers(process, pages, max_bytes))
        return cast("list[WrittenDocument | Broken]", answers)

    async def extract_alone(self, page: LabeledPage) -> WrittenDocument | Broken:
        """Make the document of a page that may take the large share of memory."""
        return cast("WrittenDocument | Broken", await self.answer_alone(page))

    async def answer_alone(self, task: object) -> object:
        """Do a task of any kind that may take the large share of memory; return Broken if it failed."""
        return await self._in_process(lambda process: self._answer_alone(process, task))

    async def kill_stuck(self) -> None:
        """Kill processes whose page is overdue, until cancelled."""
        while True:
            await asyncio.sleep(self._look_seconds)
            for process in self._processes:
                process.kill_if_stuck()

    def close(self) -> None:
        """Kill the processes; their tasks get no answer."""
        self._closed = True
        for process in self._processes:
            process.close()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.end()

    async def _in_process(self, use: Callable[[PageProcess], Answer]) -> Answer:
        def wait_and_use() -> Answer:
            process = self._idle.get()
            try:
                return use(process)
            finally:
                self._idle.put(process)

        return await asyncio.get_running_loop().run_in_executor(self._threads, wait_and_use)

    def _answers(self, process: PageProcess, tasks: Sequence[Task], max_bytes: float) -> list[object]:
        answers: list[object] = []
        bytes_left = max_bytes
        tasks = list(takewhile(lambda task: _size(task) <= _MAX_TASK_BYTES, tasks))
        while len(answers) < len(tasks) and bytes_left > 0 and not self._closed:
            sent, answered = _first_chunk(tasks[len(answers) :]), 0
            try:
                for answer, size in process.answers(sent, bytes_left, large=False):
                    answers.append(answer)
                    answered, bytes_left = answered + 1, bytes_left - size
            except ProcessDiedError as death:
                if not death.is_certain:
                    break
                answers.append(Broken(death.reason, str(death)))
            else:
                if answered < len(sent) or isinstance(answers[-1], Oversized):
                    break
        return [answer for answer in answers if not isinstance(answer, Oversized)]

    def _answer_alone(self, process: PageProcess, task: object) -> object:
        with self._large:
            deaths = 0
            while True:
                try:
                    ((answer, _),) = process.answers([task], math.inf, large=True)
                except ProcessDiedError as death:
                    deaths += 1
                    if self._closed:
                        raise
                    if death.is_certain or deaths == _ATTEMPTS:
                        return Broken(death.reason, str(death))
                else:
                    return answer


def _outcomes(answer: object) -> Outcomes:
    """Return the outcomes of a message; Broken if its process died of it."""
    return (answer,) if isinstance(answer, Broken) else cast("Outcomes", answer)


def _first_chunk(tasks: Sequence[Task]) -> Sequence[Task]:
    """Return the first tasks that are sent together."""
    ends = accumulate(map(_size, tasks))
    return tasks[: 1 + sum(1 for _ in takewhile(lambda end: end < _SENT_BYTES, ends))]


def _size(task: Task) -> int:
    return len(task.packed if isinstance(task, LabeledPage) else task.message.value or b"")


_claiming = Lock()
"""Held while a folder is claimed, as threads may open pools at once, and while this process is forked."""


def claim_folder() -> None:
    """Remove the temporary folders of killed processes, and lock a new one of this process while it lives.

    Raises:
        ConfigurationError: it cannot be made.
    """
    with _claiming:
        _claim_once()


@cache
def _claim_once() -> TextIO:
    parent = temporary_files()
    with writing(parent):
        remove_abandoned(parent, "pymp-*", _LOCK)
        return claim(new_temporary_folder(), _LOCK)  # open until the end, as the cache keeps it


os.register_at_fork(
    before=_claiming.acquire, after_in_parent=_claiming.release, after_in_child=_claiming.release
)
os.register_at_fork(after_in_child=_claim_once.cache_clear)  # a forked process has a folder of its own


@asynccontextmanager
async def open_pool(
    open_work: Callable[[], Work], processes: int, limits: PageLimits
) -> AsyncIterator[PreparationPool]:
    """Open a pool of processes that do some work; tasks that take too long are killed.

    Raises:
        ConfigurationError: the work or the processes cannot be opened.
    """
    claim_folder()
    pool = PreparationPool(open_work, processes, limits)
    guard = asyncio.create_task(pool.kill_stuck())
    try:
        await pool.start()
        yield pool
    finally:
        guard.cancel()
        pool.close()
