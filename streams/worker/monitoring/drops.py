"""Latest documents of a worker, and its drops: messages that became no document, by reason."""

import logging
import shlex
from collections import deque
from dataclasses import asdict, dataclass
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


@dataclass(slots=True)
class DropsOfReason:
    """Pages without a document for one reason."""

    count: int = 0
    """Since the worker started."""
    latest: tuple[Drop, ...] = ()
    """The last five of them, oldest first."""


DropsByReason = dict[str, DropsOfReason]


class DropLog:
    """Latest documents and drops; the first drop of each reason is logged as a warning."""

    def __init__(self, brokers: str, dead_letters: str) -> None:
        words = ["dead-letters", "list", "--topic", dead_letters]
        words += ["--brokers", brokers] if brokers != KafkaSettings().brokers else []
        self._listing = f"{program()} {shlex.join(words)}"
        self._skipped: DropsByReason = {}
        self._dead_letters: DropsByReason = {}
        self._documents: deque[Published] = deque(maxlen=_MAX_DOCUMENTS)

    @property
    def documents(self) -> list[Published]:
        """The last 30 documents, oldest first."""
        return list(self._documents)

    @property
    def skipped(self) -> DropsByReason:
        """Skipped pages, in the order of the reasons, as `dead_letters`."""
        return dict(sorted(self._skipped.items()))

    @property
    def dead_letters(self) -> DropsByReason:
        """Pages that became dead letters."""
        return dict(sorted(self._dead_letters.items()))

    @property
    def latest(self) -> dict[Reason, tuple[Drop, ...]]:
        """The last five of each reason, oldest first."""
        kinds = {"skipped": self._skipped, "dead_letters": self._dead_letters}
        return {
            (kind, reason): each.latest for kind, drops in kinds.items() for reason, each in drops.items()
        }

    def note(self, cleaned: CleanedMessage) -> None:
        """Keep the documents and drops of a message, and log the drops."""
        source = origin_of(cleaned.message)
        for document in cleaned.documents:
            url = _shorten((document.key or b"").decode("utf-8", "replace"))
            published = Published(datetime.now(UTC), source, url, document.model, document.is_empty)
            self._documents.append(published)
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


def _add_drop(drops: DropsByReason, drop: Skipped | Broken, source: Origin) -> bool:
    """Add a drop to those of its reason; return True if it is the first."""
    known = drops.setdefault(drop.reason.value, DropsOfReason())
    url = None if drop.url is None else _shorten(drop.url)
    known.count += 1
    known.latest = (*known.latest, Drop(datetime.now(UTC), source, url, _shorten(drop.detail)))[-MAX_DROPS:]
    return known.count == 1


def _shorten(text: str) -> str:
    return printable(text[:_MAX_CHARACTERS])[:_MAX_CHARACTERS]
