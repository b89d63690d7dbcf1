"""Pages judged by several processes, each with its own labelers, in order."""

import signal
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import RawPage
from dehusk.streams.signals import blocked
from dehusk.training.comparison.judging import JudgedPage, judge
from dehusk.training.comparison.labelers import Compared, open_compared
from dehusk.training.comparison.pages import ComparedPage

_WARM_UP = RawPage("http://example.org/", b"<article><p>The mill stood by the river, and turned.</article>")
_AHEAD = 2
"""Pages that wait for each process, so that none waits for pages."""

_compared: dict[str, Compared]
"""By name, in each process."""


def judge_pages(
    pages: Iterable[ComparedPage], names: Sequence[str], repository: Path, rounds: int, processes: int
) -> Iterator[JudgedPage]:
    """How well all named do on each page, as soon as it and those before it are judged.

    Raises:
        ConfigurationError: a process died; the message names the pages that it may have died of.
    """
    executor = ProcessPoolExecutor(
        processes, get_context("spawn"), initializer=_open, initargs=(names, repository)
    )
    waiting: deque[tuple[ComparedPage, Future[JudgedPage]]] = deque()
    try:
        for turn, page in enumerate(pages):
            with blocked(signal.SIGINT):  # processes start with the first pages, and Ctrl-C is for this one
                waiting.append((page, executor.submit(_judge, page, rounds, turn)))
            if len(waiting) > _AHEAD * processes:
                yield _next(waiting)
        while waiting:
            yield _next(waiting)
    except BrokenProcessPool as error:
        named = ", ".join(page.id for page, _ in waiting)
        raise ConfigurationError(
            f"a process died, perhaps for want of memory, on one of the pages {named}: leave it out"
        ) from error
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _next(waiting: deque[tuple[ComparedPage, Future[JudgedPage]]]) -> JudgedPage:
    """The first page that waits; it goes on waiting if its process dies."""
    judged = waiting[0][1].result()
    waiting.popleft()
    return judged


def _open(names: Sequence[str], repository: Path) -> None:
    """Open the labelers of a process, and let each see a page, as the first takes longer."""
    global _compared  # noqa: PLW0603 -- they live as long as the process
    warnings.simplefilter("ignore")
    _compared = {name: open_compared(name, repository) for name in names}
    for compared in _compared.values():
        with suppress(Exception):  # who fails does so on the pages, too, and is named there
            compared.extract(_WARM_UP)


def _judge(page: ComparedPage, rounds: int, turn: int) -> JudgedPage:
    return judge(page, _compared, rounds, turn)
