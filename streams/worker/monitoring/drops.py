"""Latest documents of a worker, and its drops: messages that became no document, by reason."""

import logging
import shlex
import time
from collections import defaultdict, deque
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped
from dehusk.schemas.pages import ModelVersion
from dehusk.streams.monitoring.drops import MAX_DROPS, Drop, Reason
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.wording import printable, program
from dehusk.streams.worker.results import CleanedMessage

_BUGS = (BrokenReason.INTERNAL_ERROR, BrokenReason.PROCESS_CRASHED)
"""Reasons that are always logged as warnings; the others are faults of pages, and are counted."""
_MAX_CHARACTERS = 300
"""Length at which a text from a page is cut."""
_MAX_DOCUMENTS = 30
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Published:
    """A published document."""

    time: datetime
    source: Origin
    """Position of its message."""
    url: str
    model: ModelVersion | None
    is_empty: bool


@dataclass(frozen=True, slots=True)
class DropsOfReason:
    """Pages without a document for one reason."""

    count: int
    """Since the worker started."""
    latest: tuple[Drop, ...]
    """The last five of them, oldest first."""


DropsByReason = dict[str, DropsOfReason]
_Document = tuple[float, Origin, bytes | None, ModelVersion | None, bool]
"""Time in seconds since 1970, and the fields of a `Published`, which is built on request."""


@dataclass(slots=True)
class _Drops:
    count: int = 0
    latest: deque[Drop] = field(default_factory=lambda: deque(maxlen=MAX_DROPS))


class DropLog:
    """Latest documents and drops; the first drop of each reason is logged as a warning."""

    def __init__(self, brokers: str, dead_letters: str) -> None:
        words = ["dead-letters", "list", "--topic", dead_letters]
        words += ["--brokers", brokers] if brokers != KafkaSettings().brokers else []
        self._listing = f"{program()} {shlex.join(words)}"
        self._skipped: defaultdict[str, _Drops] = defaultdict(_Drops)
        self._dead_letters: defaultdict[str, _Drops] = defaultdict(_Drops)
        self._documents: deque[_Document] = deque(maxlen=_MAX_DOCUMENTS)

    @property
    def documents(self) -> list[Published]:
        """The last 30 documents, oldest first."""
        return [_published(each) for each in self._documents]

    @property
    def skipped(self) -> DropsByReason:
        """Skipped pages."""
        return _by_reason(self._skipped)

    @property
    def dead_letters(self) -> DropsByReason:
        """Pages that became dead letters."""
        return _by_reason(self._dead_letters)

    @property
    def latest(self) -> dict[Reason, tuple[Drop, ...]]:
        """The last five of each reason, oldest first."""
        kinds = {"skipped": self._skipped, "dead_letters": self._dead_letters}
        return {
            (kind, reason): tuple(each.latest)
            for kind, drops in kinds.items()
            for reason, each in drops.items()
        }

    def note(self, cleaned: CleanedMessage) -> None:
        """Keep the documents and drops of a message, and log the drops."""
        source = origin_of(cleaned.message)
        for document in cleaned.documents:
            self._documents.append((time.time(), source, document.key, document.model, document.is_empty))
        for skipped in cleaned.skipped:
            counter = f'dehusk_skipped_total{{reason="{skipped.reason}"}}'
            is_first = _add_drop(self._skipped, skipped, source)
            self._log("skipped", skipped, source, f"{counter} counts them" if is_first else None)
        if cleaned.failure is not None:
            broken = cleaned.failure.broken
            listing = f"`{self._listing} --reason {broken.reason}` shows them"
            is_first = _add_drop(self._dead_letters, broken, source)
            self._log("dead letter", broken, source, listing if is_first else None)

    def _log(self, kind: str, drop: Skipped | Broken, source: Origin, advice: str | None) -> None:
        """Log a drop, with advice for the first one of its reason."""
        level = logging.WARNING if advice or drop.reason in _BUGS else logging.DEBUG
        location = f"{source}, {_shorten(drop.url)}" if drop.url else str(source)
        suffix = f"; the first since the start: {advice}" if advice else ""
        extra = {**asdict(source), "reason": drop.reason.value, "url": drop.url and _shorten(drop.url)}
        _log.log(
            level,
            "%s: %s: %s (%s)%s",
            kind,
            drop.reason,
            _shorten(drop.detail),
            location,
            suffix,
            extra=extra,
        )


def _published(document: _Document) -> Published:
    seconds, source, key, model, is_empty = document
    url = _shorten((key or b"").decode("utf-8", "replace"))
    return Published(datetime.fromtimestamp(seconds, UTC), source, url, model, is_empty)


def _add_drop(drops: dict[str, _Drops], drop: Skipped | Broken, source: Origin) -> bool:
    """Add a drop to those of its reason; return True if it is the first."""
    group = drops[drop.reason.value]
    group.count += 1
    url = None if drop.url is None else _shorten(drop.url)
    group.latest.append(Drop(datetime.now(UTC), source, url, _shorten(drop.detail)))
    return group.count == 1


def _by_reason(drops: dict[str, _Drops]) -> DropsByReason:
    return {reason: DropsOfReason(each.count, tuple(each.latest)) for reason, each in sorted(drops.items())}


def _shorten(text: str) -> str:
    return printable(text[:_MAX_CHARACTERS])[:_MAX_CHARACTERS]
