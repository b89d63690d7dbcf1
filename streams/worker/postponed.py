"""The messages that wait for the schema registry, while others go on."""

import asyncio
from collections.abc import Sequence

from schemas.errors import UnavailableError
from streams.preparation.preparation import Postponed
from streams.worker.acknowledging import Place
from streams.worker.assembly import CleanedMessage
from streams.worker.availability import Dependency
from streams.worker.backoff import back_off

Result = CleanedMessage | Postponed
"""What became of a message, or that it has to wait."""
Cleaned = list[tuple[Place, CleanedMessage]]


class PostponedMessages:
    """Postponed messages, and behind them those of the same key: the newest version of a page comes last."""

    def __init__(self, schema_registry: Dependency, at_once: int) -> None:
        self._schema_registry = schema_registry
        self._at_once = at_once
        self._places: list[Place] = []
        self._some = asyncio.Event()
        self._trial = 0

    def hold_back(self, places: Sequence[Place], results: Sequence[Result]) -> Cleaned:
        """What need not wait of the results to the first of the places; the others are kept."""
        ready, kept = _parted(places, results, {place.arrival.message.key for place in self._places})
        self._places += kept
        self._note(results)
        return ready

    async def due(self) -> list[Place]:
        """The first of those kept, once there are some and it is time to try them again."""
        await self._some.wait()
        await back_off(self._trial)
        return self._places[: self._at_once]

    def try_again(self, places: Sequence[Place], results: Sequence[Result]) -> Cleaned:
        """What need not wait any longer of the results to the first of those that were due."""
        ready, kept = _parted(places, results, set())
        self._places[: len(results)] = kept
        self._trial = 0 if ready else self._trial + 1
        if not kept:
            self._schema_registry.answered()
        self._note(results)
        return ready

    def clear(self) -> None:
        """Forget all of them: this worker no longer waits for the schema registry."""
        self._places.clear()
        self._trial = 0
        self._some.clear()
        self._schema_registry.unavailable_since = None

    def _note(self, results: Sequence[Result]) -> None:
        postponed = next((result for result in results if isinstance(result, Postponed)), None)
        if postponed:
            self._schema_registry.missed(UnavailableError(postponed.detail))
        if self._places:
            self._some.set()
        else:
            self._some.clear()


def _parted(
    places: Sequence[Place], results: Sequence[Result], keys: set[bytes | None]
) -> tuple[Cleaned, list[Place]]:
    """What goes on, and what waits: postponed messages, and others behind one of the same key."""
    ready: Cleaned = []
    kept: list[Place] = []
    for place, result in zip(places, results, strict=False):
        key = place.arrival.message.key
        if isinstance(result, Postponed) or (key is not None and key in keys):
            keys.add(key)
            kept.append(place)
        else:
            ready.append((place, result))
    return ready, kept
