"""The messages that wait for the schema registry, while others go on."""

import asyncio
from collections.abc import Sequence

from schemas.errors import UnavailableError
from streams.preparation.preparation import Postponed
from streams.worker.acknowledging import Entry
from streams.worker.assembly import CleanedMessage
from streams.worker.availability import Dependency
from streams.worker.backoff import back_off

Result = CleanedMessage | Postponed
"""What became of a message, or that it has to wait."""
Cleaned = list[tuple[Entry, CleanedMessage]]


class PostponedMessages:
    """Postponed messages, and behind them those of the same key: the newest version of a page comes last."""

    def __init__(self, schema_registry: Dependency, at_once: int) -> None:
        self._schema_registry = schema_registry
        self._at_once = at_once
        self._entries: list[Entry] = []
        self._some = asyncio.Event()
        self._trial = 0

    def hold_back(self, entries: Sequence[Entry], results: Sequence[Result]) -> Cleaned:
        """What need not wait of the results to the first of the entries; the others are kept."""
        ready, kept = _parted(entries, results, {entry.arrival.message.key for entry in self._entries})
        self._entries += kept
        self._note(results)
        return ready

    async def due(self) -> list[Entry]:
        """The first of those kept, once there are some and it is time to try them again."""
        await self._some.wait()
        await back_off(self._trial)
        return self._entries[: self._at_once]

    def try_again(self, entries: Sequence[Entry], results: Sequence[Result]) -> Cleaned:
        """What need not wait any longer of the results to the first of those that were due."""
        ready, kept = _parted(entries, results, set())
        self._entries[: len(results)] = kept
        self._trial = 0 if ready else self._trial + 1
        if not kept:
            self._schema_registry.answered()
        self._note(results)
        return ready

    def clear(self) -> None:
        """Forget all of them: this worker no longer waits for the schema registry."""
        self._entries.clear()
        self._trial = 0
        self._some.clear()
        self._schema_registry.unavailable_since = None

    def _note(self, results: Sequence[Result]) -> None:
        postponed = next((result for result in results if isinstance(result, Postponed)), None)
        if postponed:
            self._schema_registry.missed(UnavailableError(postponed.detail))
        if self._entries:
            self._some.set()
        else:
            self._some.clear()


def _parted(
    entries: Sequence[Entry], results: Sequence[Result], keys: set[bytes | None]
) -> tuple[Cleaned, list[Entry]]:
    """What goes on, and what waits: postponed messages, and others behind one of the same key."""
    ready: Cleaned = []
    kept: list[Entry] = []
    for entry, result in zip(entries, results, strict=False):
        key = entry.arrival.message.key
        if isinstance(result, Postponed) or (key is not None and key in keys):
            keys.add(key)
            kept.append(entry)
        else:
            ready.append((entry, result))
    return ready, kept
