"""Latest drops of a group: messages that became no document, a few of each reason."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Annotated

from msgspec import Meta

from dehusk.schemas.documents import Origin
from dehusk.streams.monitoring.history import HOUR_SECONDS
from dehusk.streams.monitoring.state import Text

MAX_DROPS = 5
"""Drops of a reason that are kept."""
_MAX_REASONS = 100
Reason = tuple[str, str]
"""Kind of drops, `skipped` or `dead_letters`, and the reason of them."""


@dataclass(frozen=True, slots=True)
class Drop:
    """A page without a document."""

    time: Annotated[datetime, Meta(tz=True)]
    source: Origin
    url: Text | None
    detail: Text


@dataclass(frozen=True, slots=True)
class _Held:
    """Drops of the last message of a reason."""

    time: float
    """Time of the message, in monotonic seconds."""
    drops: frozenset[Drop]


_NONE_HELD = _Held(-math.inf, frozenset())


class GroupDrops:
    """Latest drops of all workers of a group, by the messages of its topic, each of one reason.

    A worker replaces such a message by what it knows if drops of its own are missing. Of two that do so at
    once, one finds its own missing again.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._latest: dict[Reason, tuple[Drop, ...]] = {}
        self._held: dict[Reason, _Held] = {}

    def add(self, reason: Reason, drops: tuple[Drop, ...], age: float = 0.0) -> None:
        """Add the drops of the last message of a reason, of an age in seconds.

        Reasons beyond the limit are left out.
        """
        if reason in self._latest or len(self._latest) < _MAX_REASONS:
            self._held[reason] = _Held(self._monotonic() - age, frozenset(drops))
            self._latest[reason] = merge_drops(self._latest.get(reason, ()), drops)

    def latest(self, reason: Reason, own: Iterable[Drop] = ()) -> tuple[Drop, ...]:
        """Return the latest drops of a reason, with those of the own worker."""
        return merge_drops(self._latest.get(reason, ()), own)

    def to_share(self, own: Mapping[Reason, Iterable[Drop]]) -> dict[Reason, tuple[Drop, ...]]:
        """Return the latest drops of the reasons whose message lacks some of the own worker's, or is old."""
        oldest = self._monotonic() - HOUR_SECONDS  # the topic deletes messages some time later
        shared: dict[Reason, tuple[Drop, ...]] = {}
        for reason, drops in own.items():
            latest, held = self.latest(reason, drops), self._held.get(reason, _NONE_HELD)
            owned = {*drops}.intersection(latest)
            if owned and (held.time < oldest or not owned <= held.drops):
                shared[reason] = latest
        return shared


def merge_drops(*drops: Iterable[Drop]) -> tuple[Drop, ...]:
    """Return the latest of drops, oldest first; a page that was dropped again counts once."""
    pages = {(each.source, each.url, each.detail): each for each in sorted(chain(*drops), key=_order)}
    return tuple(sorted(pages.values(), key=_order)[-MAX_DROPS:])


def _order(drop: Drop) -> tuple[datetime, str]:
    return drop.time, str(drop.source)
