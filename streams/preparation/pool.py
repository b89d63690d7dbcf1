"""Processes that work on pages; one that dies or hangs costs the guilty message alone."""

import asyncio
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, takewhile
from queue import SimpleQueue
from threading import Lock
from typing import TypeVar, cast

from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Encoding, Message
from dehusk.streams.preparation.extraction import LabeledPage, WrittenDocument
from dehusk.streams.preparation.preparation import Outcomes
from dehusk.streams.preparation.process import Oversized, PageProcess, ProcessDiedError, Work
from dehusk.streams.preparation.steps import Task, ToEncode
from dehusk.streams.settings import MIB, PageLimits

Answer = TypeVar("Answer")
_ATTEMPTS = 2
"""Deaths on a task that is done alone until it is blamed: one may have been somebody else's kill."""
_SENT_BYTES = 2 * MIB
"""Bytes of tasks from which a process is sent no more at once."""
_LARGEST_TASK = 4 * MIB
"""Bytes of the largest task that is tried with the ordinary share of memory."""


class PreparationPool:
    """Prepares batches of messages, and extracts the documents of labeled pages, in `size` processes.

    Each batch is in one of them. The answers to it end before the first task that is huge, that needs more
    than the ordinary share of memory, or that its process died of: that one is to be done alone. One process
    at a time has the large share.
    """

    def __init__(self, open_work: Callable[[], Work], size: int, limits: PageLimits) -> None:
        self._processes = [PageProcess(open_work, limits) for _ in range(size)]
        self._idle: SimpleQueue[PageProcess] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="preparation")
        self._large = Lock()
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
        room: float = math.inf,
        encodings: frozenset[Encoding] = frozenset(),
    ) -> list[Outcomes]:
        """What became of the first messages, in order, until they fill `room` bytes.

        Their pages have those encodings beside the ones that the pool always makes.
        """
        tasks = [_to_prepare(message, encodings) for message in messages]
        answers = await self._in_process(lambda process: self._answers(process, tasks, room))
        return [_outcomes(answer) for answer in answers]

    async def prepare_alone(self, message: Message, encodings: frozenset[Encoding] = frozenset()) -> Outcomes:
        """What became of a message that may take the large share of memory."""
        return _outcomes(await self.answer_alone(_to_prepare(message, encodings)))

    async def extract(
        self, pages: Sequence[LabeledPage], room: float = math.inf
    ) -> list[WrittenDocument | Broken]:
        """The documents of the first pages, in order, until they fill `room` bytes."""
        answers = await self._in_process(lambda process: self._answers(process, pages, room))
        return cast("list[WrittenDocument | Broken]", answers)

    async def extract_alone(self, page: LabeledPage) -> WrittenDocument | Broken:
        """The document of a page that may take the large share of memory."""
        return cast("WrittenDocument | Broken", await self.answer_alone(page))

    async def answer_alone(self, task: object) -> object:
        """What became of a task of any kind that may take the large share of memory; Broken if it failed."""
        return await self._in_process(lambda process: self._answer_alone(process, task))

    async def kill_the_stuck(self) -> None:
        """Kill processes whose page is overdue, for as long as this runs."""
        while True:
            await asyncio.sleep(1)
            for process in self._processes:
                process.kill_if_stuck()

    def close(self) -> None:
        """End the processes at once; what they were working on is not answered."""
        self._closed = True
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)

    async def _in_process(self, use: Callable[[PageProcess], Answer]) -> Answer:
        """What comes of the use of the next idle process."""

        def wait_and_use() -> Answer:
            process = self._idle.get()
            try:
                return use(process)
            finally:
                self._idle.put(process)

        return await asyncio.get_running_loop().run_in_executor(self._threads, wait_and_use)

    def _answers(self, process: PageProcess, tasks: Sequence[Task], room: float) -> list[object]:
        """What became of the first tasks."""
        answers: list[object] = []
        tasks = list(takewhile(lambda task: _size(task) <= _LARGEST_TASK, tasks))
        while len(answers) < len(tasks) and room > 0 and not self._closed:
            sent, answered = _sent_together(tasks[len(answers) :]), 0
            try:
                for answer, size in process.answers(sent, room, large=False):
                    answers.append(answer)
                    answered, room = answered + 1, room - size
            except ProcessDiedError as death:
                if not death.certain:
                    break
                answers.append(Broken(death.reason, str(death)))
            else:
                if answered < len(sent) or isinstance(answers[-1], Oversized):
                    break
        return [answer for answer in answers if not isinstance(answer, Oversized)]

    def _answer_alone(self, process: PageProcess, task: object) -> object:
        """What became of a task that may take the large share of memory."""
        with self._large:
            deaths = 0
            while True:
                try:
                    ((answer, _),) = process.answers([task], math.inf, large=True)
                except ProcessDiedError as death:
                    deaths += 1
                    if self._closed:
                        raise
                    if death.certain or deaths == _ATTEMPTS:
                        return Broken(death.reason, str(death))
                else:
                    return answer


def _to_prepare(message: Message, encodings: frozenset[Encoding]) -> Task:
    return ToEncode(message, encodings) if encodings else message


def _outcomes(answer: object) -> Outcomes:
    """What became of a message, also where its process died of it."""
    return (answer,) if isinstance(answer, Broken) else cast("Outcomes", answer)


def _sent_together(tasks: Sequence[Task]) -> Sequence[Task]:
    """The first tasks, as many as a process is sent at once."""
    ends = accumulate(map(_size, tasks))
    return tasks[: 1 + sum(1 for _ in takewhile(lambda end: end < _SENT_BYTES, ends))]


def _size(task: Task) -> int:
    if isinstance(task, LabeledPage):
        return len(task.packed)
    message = task.message if isinstance(task, ToEncode) else task
    return len(message.value or b"")
