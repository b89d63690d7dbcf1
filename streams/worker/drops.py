"""What the log says of messages that give no document: a warning of the first for each reason."""

import logging
import shlex

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped
from dehusk.streams.printable import printable
from dehusk.streams.program import program
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.assembly import CleanedMessage

_BUGS = (BrokenReason.INTERNAL_ERROR, BrokenReason.PROCESS_CRASHED)
"""Reasons of which every message is worth a warning; the others tell of the web, and are counted."""
_SHOWN = 300
"""Characters of what strangers wrote."""
_log = logging.getLogger(__name__)


class DropLog:
    """Warns of the first message that is skipped, or becomes a dead letter, for each reason."""

    def __init__(self, brokers: str, dead_letters: str) -> None:
        words = ["dead-letters", "list", "--topic", dead_letters]
        words += ["--brokers", brokers] if brokers != KafkaSettings().brokers else []
        self._listing = f"{program()} {shlex.join(words)}"
        self._warned: set[str] = set()

    def note(self, cleaned: CleanedMessage) -> None:
        """Log what of the message gives no document."""
        message = cleaned.message
        where = f"{message.topic}/{message.partition}/{message.offset}"
        for skipped in cleaned.skipped:
            counter = f'dehusk_skipped_total{{reason="{skipped.reason}"}}'
            self._say("skipped", skipped, where, f"{counter} counts them")
        if cleaned.failure is not None:
            broken = cleaned.failure.broken
            self._say("dead letter", broken, where, f"`{self._listing} --reason {broken.reason}` shows them")

    def _say(self, what: str, drop: Skipped | Broken, where: str, advice: str) -> None:
        is_first = drop.reason not in self._warned
        self._warned.add(drop.reason)
        level = logging.WARNING if is_first or drop.reason in _BUGS else logging.DEBUG
        location = f"{where}, {_shown(drop.url)}" if drop.url else where
        after = f"; the first since the start: {advice}" if is_first else ""
        _log.log(level, "%s: %s: %s (%s)%s", what, drop.reason, _shown(drop.detail), location, after)


def _shown(text: str) -> str:
    return printable(text[:_SHOWN])
