"""Processes that prepare messages; one that dies or hangs costs the guilty message alone."""

import asyncio
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from schemas.outcomes import Broken
from schemas.pages import Message
from streams.preparation.preparation import Outcomes, Prepare, html_bytes
from streams.preparation.process import PreparationProcess, ProcessDiedError
from streams.settings import PageLimits

_ATTEMPTS = 2
"""Deaths on a message until it is blamed: the first may have been somebody else's kill."""


class PreparationPool:
    """Prepares batches of messages in `size` processes, each batch in one of them."""

    def __init__(self, open_preparer: Callable[[], Prepare], size: int, limits: PageLimits) -> None:
        self._processes = [PreparationProcess(open_preparer, limits) for _ in range(size)]
        self._idle: SimpleQueue[PreparationProcess] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="preparation")
        self._closed = False

    async def start(self) -> None:
        """Start all processes.

        Raises:
            ConfigurationError: they cannot start; the message says why.
        """
        loop = asyncio.get_running_loop()
        starts = (loop.run_in_executor(self._threads, process.start) for process in self._processes)
        await asyncio.gather(*starts)

    async def prepare(self, messages: Sequence[Message], room: float = math.inf) -> list[Outcomes]:
        """What became of each message, in order; of the first alone where their HTML fills `room` bytes."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._prepare, messages, room)

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

    def _prepare(self, messages: Sequence[Message], room: float) -> list[Outcomes]:
        process = self._idle.get()
        try:
            return self._outcomes(process, messages, room)
        finally:
            self._idle.put(process)

    def _outcomes(
        self, process: PreparationProcess, messages: Sequence[Message], room: float
    ) -> list[Outcomes]:
        outcomes: list[Outcomes] = []
        deaths = 0
        while len(outcomes) < len(messages) and not self._closed:
            begun, taken = len(outcomes), sum(map(html_bytes, outcomes))
            try:
                outcomes.extend(process.answers(messages[begun:], room - taken))
            except ProcessDiedError as death:
                deaths = deaths + 1 if len(outcomes) == begun else 1
                if death.certain or deaths == _ATTEMPTS:
                    outcomes.append((Broken(death.reason, str(death)),))
                    deaths = 0
            else:
                break
        return outcomes
