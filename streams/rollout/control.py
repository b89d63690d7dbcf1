"""What a control topic says: the state of each roll-out, and what workers report of it."""

import logging
from dataclasses import dataclass, field

from dehusk.schemas.comparison import WorkerReport
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.rollout.keys import ControlKey, read_key

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Control:
    """The records of a control topic so far, which has one partition: all readers see the same order.

    Of two states of the same revision, the first one counts: so two writers that did not know of each other
    do not both succeed.
    """

    states: dict[Scope, Rollout] = field(default_factory=dict)
    reports: dict[ControlKey, tuple[WorkerReport, int]] = field(default_factory=dict)
    """Each with its time, in milliseconds since 1970."""

    def take(self, message: Message, time: int) -> Scope | None:
        """Note a record: the scope whose state it has changed, if it has."""
        key = read_key(message.key)
        if key is None:
            return None
        try:
            if key.worker is None:
                return self._take_state(key.scope, message.value)
            self._take_report(key, message.value, time)
        except ConfigurationError as error:
            where = f"record {message.offset} of {message.topic}"
            _log.warning("%s, %s, is passed over: %s", key.scope, where, error)
        return None

    def reports_of(self, scope: Scope, since: int) -> list[WorkerReport]:
        """What the workers of a group report that have done so since a time, in milliseconds since 1970."""
        return [
            report for key, (report, time) in self.reports.items() if key.scope == scope and time >= since
        ]

    def _take_state(self, scope: Scope, value: bytes | None) -> Scope | None:
        if value is None:
            return scope if self.states.pop(scope, None) else None
        state, before = Rollout.read(value), self.states.get(scope)
        if before is not None and state.revision <= before.revision:
            return None
        self.states[scope] = state
        return scope

    def _take_report(self, key: ControlKey, value: bytes | None, time: int) -> None:
        if value is None:
            self.reports.pop(key, None)
        else:
            self.reports[key] = (WorkerReport.read(value), time)
