"""Pages judged by several processes, each with its own labelers, in order."""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue

from dehusk.training.comparison.judging import JudgedPage
from dehusk.training.comparison.pages import ComparedPage
from dehusk.training.comparison.process import JudgingProcess, Terms

_AHEAD = 2
"""Pages that wait for each process, so that none waits for pages."""


def judge_pages(
    pages: Iterable[ComparedPage], terms: Terms, processes: int
) -> Generator[JudgedPage, None, None]:
    """How well all do on each page, as soon as it and those before it are judged.

    Raises:
        ConfigurationError: a process died, but not by the limit of time; the message names the page.
    """
    crew = [JudgingProcess(terms) for _ in range(processes)]
    idle: SimpleQueue[JudgingProcess] = SimpleQueue()
    for each in crew:
        idle.put(each)
    threads = ThreadPoolExecutor(processes)
    waiting: deque[Future[JudgedPage]] = deque()
    try:
        for turn, page in enumerate(pages):
            waiting.append(threads.submit(_judged, idle, page, turn))
            if len(waiting) > _AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for each in crew:
            each.close()


def _judged(idle: SimpleQueue[JudgingProcess], page: ComparedPage, turn: int) -> JudgedPage:
    """A page as the next idle process judges it."""
    process = idle.get()
    try:
        return process.judge(page, turn)
    finally:
        idle.put(process)
