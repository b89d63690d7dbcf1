"""Control topic: reading it, and changing a state by compare-and-set.

The topic is compacted and has one partition, so all readers see its records in one order. A change is one
batch of records, which Kafka appends together or not at all: the change under a key of its own, what was seen
of the trials that it ends, and the state that it makes under the key of the roll-out. Each state has a
revision, one greater than that of the state it was made from. Of several changes of a revision the first one
in the topic counts, and the last one that counts is the current state, also where compaction has left
another one.
"""

import logging
import time
from collections.abc import AsyncIterator, Container, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from urllib.parse import quote, unquote
from uuid import uuid4

from dehusk.schemas.errors import ConfigurationError, ConflictError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Claim, Rollout, Scope
from dehusk.schemas.trials import EndedTrial, WorkerReport
from dehusk.streams.kafka.producer import Outgoing, send, send_together
from dehusk.streams.kafka.reader import read
from dehusk.streams.models.store import Guard, unguarded
from dehusk.streams.rollout.evidence import Begins, begins, counting, ended_trials
from dehusk.streams.settings import ControlTopic
from dehusk.streams.sources.source import Record

_STATE, _WORKER, _CHANGE, _CLAIM, _TRIAL, _STOPPED = "state", "worker", "change", "claim", "trial", "stopped"
_HEADERS = (("content-type", b"application/json"),)
REPORT_SECONDS = 10.0
"""Interval between the reports of a worker."""
LIVE_SECONDS = 3 * REPORT_SECONDS
"""Greatest age of the last report of a live worker."""
MAX_HISTORY = 500
"""Changes of a roll-out that the topic keeps."""
MAX_STOPPED = 500
"""Workers that have stopped during the trials of a roll-out, and whose last reports the topic keeps."""
MAX_TRIALS = 20
"""Trials of a roll-out that have ended, and that the topic keeps."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ControlKey:
    """Key of a record of the control topic; one that names nothing but its scope is that of the state."""

    scope: Scope
    worker: str | None = None
    """The worker that reports."""
    change: str | None = None
    """Random name of a change."""
    claim: str | None = None
    """Random name of a claim."""
    stopped: str | None = None
    """The worker that has stopped, and had seen something of a trial."""
    trial: str | None = None
    """Name of the change that has ended a trial, and of the trial."""

    def encode(self) -> bytes:
        """Return `state/MODEL/GROUP`, or KIND/MODEL/GROUP/NAME of another one, quoted as in a URL."""
        names = {
            _WORKER: self.worker,
            _CHANGE: self.change,
            _CLAIM: self.claim,
            _TRIAL: self.trial,
            _STOPPED: self.stopped,
        }
        kind, *name = next((each for each in names.items() if each[1]), (_STATE,))
        parts = [kind, self.scope.model, self.scope.group, *map(str, name)]
        return "/".join(quote(part, safe="") for part in parts).encode()


def decode_key(key: bytes | None) -> ControlKey | None:
    """Return the key of a record, or None if nothing is known of such records."""
    kind, *parts = map(unquote, (key or b"").decode("utf-8", "replace").split("/"))
    if kind == _STATE and len(parts) == 2:
        return ControlKey(Scope(*parts))
    if kind in {_WORKER, _CHANGE, _CLAIM, _TRIAL, _STOPPED} and len(parts) == 3:
        return ControlKey(Scope(*parts[:2]), **{kind: parts[2]})
    return None


@dataclass(slots=True)
class Control:
    """The records of a control topic so far."""

    states: dict[Scope, Rollout] = field(default_factory=dict)
    reports: dict[ControlKey, tuple[WorkerReport, int]] = field(default_factory=dict)
    """Reports with their times, in milliseconds since 1970."""
    stopped: dict[ControlKey, WorkerReport] = field(default_factory=dict)
    """Last reports of workers that have stopped, during a trial."""
    changes: dict[ControlKey, Rollout] = field(default_factory=dict)
    """Changes in the order of the topic, each with the state that it makes if it counts."""
    claims: dict[ControlKey, Claim] = field(default_factory=dict)
    """Claims in the order of the topic, some of them expired."""
    trials: dict[ControlKey, EndedTrial] = field(default_factory=dict)
    """Trials in the order of the topic, each ended by a change that may not count."""
    _claimed_at: int = 0
    """Latest time of a record of a claim, in milliseconds since 1970."""
    _reported_at: int = 0
    """Offset of the latest report."""

    def apply(self, message: Message, time: int) -> Scope | None:
        """Apply a record, and return the scope whose state it has changed, if any."""
        key = decode_key(message.key)
        if key is None:
            return None
        try:
            return self._apply(key, message, time)
        except ConfigurationError as error:
            _log.warning(
                "%s, record %d of %s, is skipped: %s", key.scope, message.offset, message.topic, error
            )
        return None

    def reports_of(self, scope: Scope, since: int) -> list[WorkerReport]:
        """Return the reports of a group's workers since a time, in milliseconds since 1970."""
        return [
            report for key, (report, time) in self.reports.items() if key.scope == scope and time >= since
        ]

    def live_reports(self, scope: Scope) -> list[WorkerReport]:
        """Return the reports of a group's live workers, by name."""
        since = int(1000 * (time.time() - LIVE_SECONDS))
        return sorted(self.reports_of(scope, since), key=lambda report: report.worker)

    def evidence(self, scope: Scope, but: Container[str | None] = ()) -> list[WorkerReport]:
        """Return what the workers of a group have seen of the trials of its state, but for some workers.

        Those that have stopped, or report no more, are among them.
        """
        state = self.states.get(scope)
        if state is None:
            return []
        stopped = {key.stopped: report for key, report in self.stopped.items() if key.scope == scope}
        last = {key.worker: report for key, (report, _) in self.reports.items() if key.scope == scope}
        reports = [report for name, report in {**stopped, **last}.items() if name not in but]
        return counting(reports, self._states_until(scope, state)) if reports else []

    def begins(self, scope: Scope, state: Rollout) -> Begins:
        """Return the revisions from which on what is seen counts for a state of a roll-out."""
        return begins(self._states_until(scope, state))

    def _states_until(self, scope: Scope, state: Rollout) -> list[Rollout]:
        """Return the states of a roll-out that there were before a state, and that one, oldest first."""
        return [*(each for each in self.history(scope).values() if each.revision < state.revision), state]

    def withdrawal(self, key: ControlKey, report: WorkerReport | None = None) -> list[Record]:
        """Return the records that take away a worker's report, and keep what it has seen of trials.

        By default, that is its last report on the topic. It goes last, so that what was seen is there if not
        all is written. What was seen by those that stopped first goes, where too many have stopped.
        """
        if report is None and key in self.reports:
            report, _ = self.reports[key]
        records: list[Record] = []
        if report is not None and (report.comparison or report.trials):
            before = [each for each in self.stopped if each.scope == key.scope and each.stopped != key.worker]
            records.append(Record(ControlKey(key.scope, stopped=key.worker).encode(), report.encode()))
            records += [Record(each.encode(), None) for each in before[: 1 - MAX_STOPPED]]
        return [*records, Record(key.encode(), None)]

    def history(self, scope: Scope) -> dict[ControlKey, Rollout]:
        """Return the changes of a roll-out that count, the first one of each revision, oldest first."""
        counting: dict[int, ControlKey] = {}
        for key, state in self.changes.items():
            if key.scope == scope:
                counting.setdefault(state.revision, key)
        return {counting[revision]: self.changes[counting[revision]] for revision in sorted(counting)}

    def ended(self, scope: Scope) -> list[EndedTrial]:
        """Return the trials of a roll-out that changes have ended which count, oldest first."""
        counting = {key.change for key in self.history(scope)}
        trials = [(key, each) for key, each in self.trials.items() if key.scope == scope]
        return [each for key, each in trials if (key.trial or "").partition(":")[0] in counting]

    def claim_on(self, model: str, now: datetime) -> ControlKey | None:
        """Return the key of the claim that holds at a time: the first one that has not expired."""
        claims = self.claims.items()
        return next((key for key, each in claims if key.scope.model == model and each.until > now), None)

    def _apply(self, key: ControlKey, message: Message, time: int) -> Scope | None:
        value = message.value
        if key.change:
            _put(self.changes, key, None if value is None else Rollout.decode(value))
        elif key.claim:
            self._apply_claim(key, None if value is None else Claim.decode(value), time)
        elif key.trial:
            _put(self.trials, key, None if value is None else EndedTrial.decode(value))
        elif key.stopped:
            _put(self.stopped, key, None if value is None else WorkerReport.decode(value))
        elif key.worker:
            self._apply_report(key, message, time)
        else:
            return self._apply_state(key.scope, value)
        return None

    def _apply_state(self, scope: Scope, value: bytes | None) -> Scope | None:
        if value is None:
            for key in self.history(scope):
                del self.changes[key]
            return scope if self.states.pop(scope, None) else None
        written, before = Rollout.decode(value), self.states.get(scope)
        counting = [each for each in self.history(scope).values() if each.revision >= written.revision]
        state = counting[-1] if counting else written
        if before is not None and state.revision <= before.revision:
            return None
        self.states[scope] = state
        return scope

    def _apply_report(self, key: ControlKey, message: Message, time: int) -> None:
        """Apply a report unless it is read again, after an outage: later ones are known."""
        if message.offset < self._reported_at:
            return
        self._reported_at, value = message.offset, message.value
        _put(self.reports, key, None if value is None else (WorkerReport.decode(value), time))

    def _apply_claim(self, key: ControlKey, claim: Claim | None, time: int) -> None:
        """Apply a claim; one that is renewed after it has expired comes after those made until then."""
        self._claimed_at = max(self._claimed_at, time)
        before = self.claims.get(key)
        if before is not None and 1000 * before.until.timestamp() <= self._claimed_at:
            del self.claims[key]
        _put(self.claims, key, claim)


Value = TypeVar("Value")


def _put(records: dict[ControlKey, Value], key: ControlKey, value: Value | None) -> None:
    """Put a record, or take it away if there is no value any more."""
    if value is None:
        records.pop(key, None)
    else:
        records[key] = value


async def read_control(topic: ControlTopic) -> Control:
    """Read the topic to its end.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    control = Control()
    async with aclosing(read(topic.kafka, topic.name)) as messages:
        async for message, time in messages:
            control.apply(message, time)
    return control


async def change_state(
    topic: ControlTopic,
    scope: Scope,
    state: Rollout,
    own: WorkerReport | None = None,
    *,
    guard: Guard = unguarded,
) -> None:
    """Write a state of the next revision, if the state it was made from is still the current one.

    What workers have seen of the trials that it ends is written with it; `own` is what the worker has seen
    that writes it. Nothing is written if the guard raises an error.

    The topic is read again afterwards, to see which change counts. One that came second is taken away.

    Raises:
        ConflictError: the current state is not the one it was made from; the roll-out is as it was.
        ConfigurationError: the topic does not exist, or refuses the record.
        UnavailableError: the brokers do not answer; the state may have been written.
    """
    control = await read_control(topic)
    check_revision(control, scope, state.revision - 1)
    guard()
    await write(topic, [Record(key.encode(), None) for key in _outdated(control, scope, state)])
    change = ControlKey(scope, change=uuid4().hex)
    added = [Record(change.encode(), state.encode(), _HEADERS), *_trial_records(control, change, state, own)]
    guard()
    await send_together(topic.kafka, topic.name, [*added, state_record(scope, state)])
    control = await read_control(topic)
    if change in control.history(scope):
        return
    await write(topic, [Record(each.key, None) for each in added])
    raise _conflict(scope, control.states.get(scope))


def _trial_records(
    control: Control, change: ControlKey, state: Rollout, own: WorkerReport | None
) -> list[Record]:
    """Return the records of the trials that a change ends."""
    before = control.states.get(change.scope)
    if before is None:
        return []
    others = control.evidence(change.scope, {own.worker} if own else ())
    ended = ended_trials(before, state, [*others, own] if own else others)
    keys = [ControlKey(change.scope, trial=f"{change.change}:{each.trial}") for each in ended]
    return [Record(key.encode(), each.encode(), _HEADERS) for key, each in zip(keys, ended, strict=True)]


def check_revision(control: Control, scope: Scope, revision: int) -> None:
    """Check that a state is the current one; revision 0 stands for none.

    Raises:
        ConflictError: it is not.
    """
    current = control.states.get(scope)
    if (current.revision if current else 0) != revision:
        raise _conflict(scope, current)


def _outdated(control: Control, scope: Scope, state: Rollout) -> list[ControlKey]:
    """Return what goes with a new state: the oldest changes and trials, and reports that count no more.

    Before the first state, that is all.
    """
    is_first = scope not in control.states
    kept_from = state.revision - MAX_HISTORY
    changes = [(key, each.revision) for key, each in control.changes.items() if key.scope == scope]
    trials = [key for key in control.trials if key.scope == scope]
    seen = {each.worker for each in control.evidence(scope)}
    return [
        *(key for key in control.stopped if key.scope == scope and key.stopped not in seen),
        *(key for key, revision in changes if is_first or revision <= kept_from),
        *(trials if is_first else trials[:-MAX_TRIALS]),
    ]


async def write(topic: ControlTopic, records: Sequence[Record]) -> None:
    """Write records, in order.

    Raises:
        ConfigurationError: the topic does not exist, or refuses a record.
        UnavailableError: the brokers do not answer; the records may have been written.
    """

    async def outgoing() -> AsyncIterator[Outgoing]:
        for record in records:
            yield Outgoing(topic.name, record)

    if not records:
        return
    async for sent in send(topic.kafka, outgoing()):
        if sent.refusal is not None:
            raise ConfigurationError(sent.refusal)


def state_record(scope: Scope, state: Rollout) -> Record:
    """Return the record of a state."""
    return Record(ControlKey(scope).encode(), state.encode(), _HEADERS)


def _conflict(scope: Scope, current: Rollout | None) -> ConflictError:
    if current is None:
        return ConflictError(f"the roll-out of {scope} was removed meanwhile; look at it and try again")
    change = current.change
    return ConflictError(
        f"the roll-out of {scope} was changed meanwhile by {change.by} ({change.reason}, revision "
        f"{current.revision}); look at it and try again"
    )
