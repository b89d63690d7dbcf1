"""Messages that give no document: a warning of the first for each reason, and the latest of each.

And the latest documents, beside them.
"""

import logging
import shlex
import time
from collections import defaultdict, deque
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from dehusk.schemas.documents import Origin
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped
from dehusk.schemas.pages import ModelVersion
from dehusk.streams.printable import printable
from dehusk.streams.program import program
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.assembly import CleanedMessage, Document, origin_of

_BUGS = (BrokenReason.INTERNAL_ERROR, BrokenReason.PROCESS_CRASHED)
"""Reasons of which every message is worth a warning; the others tell of the web, and are counted."""
_SHOWN = 300
"""Characters of what strangers wrote."""
_KEPT = 5
_DOCUMENTS = 30
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Drop:
    """A page that gives no document."""

    time: datetime
    source: Origin
    url: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Made:
    """A document that a page gave."""

    time: datetime
    source: Origin
    """Where its message is."""
    url: str
    model: ModelVersion | None
    is_empty: bool


_Kept = tuple[float, Origin, bytes | None, ModelVersion | None, bool]
"""Of a document: seconds since 1970, and what `Made` is made of when somebody looks."""


@dataclass(slots=True)
class _Drops:
    count: int = 0
    latest: deque[Drop] = field(default_factory=lambda: deque(maxlen=_KEPT))


@dataclass(frozen=True, slots=True)
class DropsOfReason:
    """The pages that give no document for one reason."""

    count: int
    """Since the worker started."""
    latest: tuple[Drop, ...]
    """The last five of them, oldest first."""


DropsByReason = dict[str, DropsOfReason]


class DropLog:
    """Warns of the first message that is skipped, or becomes a dead letter, for each reason."""

    def __init__(self, brokers: str, dead_letters: str) -> None:
        words = ["dead-letters", "list", "--topic", dead_letters]
        words += ["--brokers", brokers] if brokers != KafkaSettings().brokers else []
        self._listing = f"{program()} {shlex.join(words)}"
        self._skipped: defaultdict[str, _Drops] = defaultdict(_Drops)
        self._dead_letters: defaultdict[str, _Drops] = defaultdict(_Drops)
        self._documents: deque[_Kept] = deque(maxlen=_DOCUMENTS)

    @property
    def documents(self) -> list[Made]:
        """The last 30 documents, oldest first."""
        return [_made(each) for each in self._documents]

    @property
    def skipped(self) -> DropsByReason:
        """What was skipped."""
        return _by_reason(self._skipped)

    @property
    def dead_letters(self) -> DropsByReason:
        """What became dead letters."""
        return _by_reason(self._dead_letters)

    def note(self, cleaned: CleanedMessage) -> None:
        """Log what of the message gives no document, and keep what does."""
        source = origin_of(cleaned.message)
        for record in cleaned.records:
            if isinstance(record, Document):
                self._documents.append((time.time(), source, record.key, record.model, record.is_empty))
        for skipped in cleaned.skipped:
            counter = f'dehusk_skipped_total{{reason="{skipped.reason}"}}'
            is_first = _is_first(self._skipped, skipped, source)
            self._say("skipped", skipped, source, f"{counter} counts them" if is_first else None)
        if cleaned.failure is not None:
            broken = cleaned.failure.broken
            listing = f"`{self._listing} --reason {broken.reason}` shows them"
            is_first = _is_first(self._dead_letters, broken, source)
            self._say("dead letter", broken, source, listing if is_first else None)

    def _say(self, what: str, drop: Skipped | Broken, source: Origin, advice: str | None) -> None:
        """Log one; advice is for the first of its reason."""
        level = logging.WARNING if advice or drop.reason in _BUGS else logging.DEBUG
        location = f"{source}, {_shown(drop.url)}" if drop.url else str(source)
        after = f"; the first since the start: {advice}" if advice else ""
        about = {**asdict(source), "reason": drop.reason.value, "url": drop.url and _shown(drop.url)}
        _log.log(
            level, "%s: %s: %s (%s)%s", what, drop.reason, _shown(drop.detail), location, after, extra=about
        )


def _made(kept: _Kept) -> Made:
    seconds, source, key, model, is_empty = kept
    url = _shown((key or b"").decode("utf-8", "replace"))
    return Made(datetime.fromtimestamp(seconds, UTC), source, url, model, is_empty)


def _is_first(drops: dict[str, _Drops], drop: Skipped | Broken, source: Origin) -> bool:
    """Whether it is the first of its reason, once it is among them."""
    of_reason = drops[drop.reason.value]
    of_reason.count += 1
    url = None if drop.url is None else _shown(drop.url)
    of_reason.latest.append(Drop(datetime.now(UTC), source, url, _shown(drop.detail)))
    return of_reason.count == 1


def _by_reason(drops: dict[str, _Drops]) -> DropsByReason:
    return {reason: DropsOfReason(each.count, tuple(each.latest)) for reason, each in sorted(drops.items())}


def _shown(text: str) -> str:
    return printable(text[:_SHOWN])
