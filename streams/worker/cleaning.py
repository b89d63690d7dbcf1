"""The cleaning of entries: with others, or alone where that takes much memory."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Protocol

from dehusk.schemas.pages import Message
from dehusk.streams.preparation.preparation import Postponed
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.worker.acknowledging import Acknowledgments, Entry
from dehusk.streams.worker.assembly import CleanedMessage

Result = CleanedMessage | Postponed | Oversized
"""What became of a message, or why it is to be cleaned again."""


class Cleaner(Protocol):
    """What takes messages through all steps but delivery."""

    async def clean(self, messages: Sequence[Message]) -> list[Result]:
        """What became of the first messages, in order, of one at least."""
        ...

    async def clean_alone(self, message: Message) -> CleanedMessage | Postponed:
        """What became of a message, whatever memory it needs."""
        ...


class Cleaning:
    """Cleans entries; those that have to be cleaned alone are packed until then."""

    def __init__(self, cleaner: Cleaner, unacknowledged: Acknowledgments) -> None:
        self._cleaner = cleaner
        self._unacknowledged = unacknowledged

    async def clean(self, entries: Sequence[Entry]) -> list[Result]:
        """What became of the first entries of a batch, of one at least."""
        results = await self._cleaner.clean([entry.arrival.message for entry in entries])
        if isinstance(results[0], Oversized):
            await self._unacknowledged.pack(entries[0])
        return results

    async def clean_again(self, entries: Sequence[Entry], *, alone: bool) -> list[Result]:
        """What became of the first entries of a lane, of one at least; it may clean the first one alone."""
        if unpacked := list(takewhile(lambda entry: not entry.is_packed, entries)):
            return await self.clean(unpacked)
        if alone:
            return [await self._cleaner.clean_alone(await asyncio.to_thread(entries[0].unpacked))]
        return [Oversized()]


def end_traces(results: Iterable[Result]) -> None:
    """End the traces of the batches that gave the results, whether or not these were delivered."""
    traces = (result.trace for result in results if isinstance(result, CleanedMessage))
    for batch in dict.fromkeys(trace.batch for trace in traces):
        batch.end()
