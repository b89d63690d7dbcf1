"""Control topic: reading it, writing a state without overwriting others, and waiting for workers."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Rollout, Scope, WorkerReport
from dehusk.streams.kafka.producer import Outgoing, send
from dehusk.streams.kafka.reader import open_topics, read
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record

_STATE, _WORKER = "state", "worker"
_HEADERS = (("content-type", b"application/json"),)
REPORT_SECONDS = 10.0
"""Interval between the reports of a worker."""
_LIVE_SECONDS = 3 * REPORT_SECONDS
"""Greatest age of the last report of a live worker."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ControlTopic:
    """Topic of states and reports."""

    kafka: KafkaSettings
    name: str


@dataclass(frozen=True, slots=True)
class ControlKey:
    """Key of a record of the control topic."""

    scope: Scope
    worker: str | None = None
    """The worker that reports; None for the state."""

    def encode(self) -> bytes:
        """Return `state/MODEL/GROUP` or `worker/MODEL/GROUP/WORKER`, each part quoted as in a URL."""
        kind = _STATE if self.worker is None else _WORKER
        parts = (self.scope.model, self.scope.group, *([self.worker] if self.worker else ()))
        return "/".join([kind, *(quote(part, safe="") for part in parts)]).encode()


def decode_key(key: bytes | None) -> ControlKey | None:
    """Return the key of a record, or None if the record is neither a state nor a report."""
    kind, *parts = map(unquote, (key or b"").decode("utf-8", "replace").split("/"))
    if kind == _STATE and len(parts) == 2:
        return ControlKey(Scope(*parts))
    if kind == _WORKER and len(parts) == 3:
        return ControlKey(Scope(*parts[:2]), parts[2])
    return None


@dataclass(slots=True)
class Control:
    """The records of a control topic so far, which has one partition: all readers see the same order.

    Of two states of the same revision, the first one counts: so two writers that did not know of each other
    do not both succeed.
    """

    states: dict[Scope, Rollout] = field(default_factory=dict)
    reports: dict[ControlKey, tuple[WorkerReport, int]] = field(default_factory=dict)
    """Reports with their times, in milliseconds since 1970."""

    def apply(self, message: Message, time: int) -> Scope | None:
        """Apply a record, and return the scope whose state it has changed, if any."""
        key = decode_key(message.key)
        if key is None:
            return None
        try:
            if key.worker is None:
                return self._apply_state(key.scope, message.value)
            self._apply_report(key, message.value, time)
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
        since = int(1000 * (time.time() - _LIVE_SECONDS))
        return sorted(self.reports_of(scope, since), key=lambda report: report.worker)

    def _apply_state(self, scope: Scope, value: bytes | None) -> Scope | None:
        if value is None:
            return scope if self.states.pop(scope, None) else None
        state, before = Rollout.decode(value), self.states.get(scope)
        if before is not None and state.revision <= before.revision:
            return None
        self.states[scope] = state
        return scope

    def _apply_report(self, key: ControlKey, value: bytes | None, time: int) -> None:
        if value is None:
            self.reports.pop(key, None)
        else:
            self.reports[key] = (WorkerReport.decode(value), time)


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


async def change_state(topic: ControlTopic, scope: Scope, state: Rollout) -> None:
    """Write a state whose revision is one greater than that of the state it was made from.

    Kafka has no conditional writes, so the topic is read again afterwards: of two states of a revision the
    first one counts, even if a further revision has followed. Compaction would keep the second one instead,
    so its writer writes the current state once more.

    Raises:
        ConflictError: the current state is not the one it was made from.
        ConfigurationError: the topic does not exist, or refuses the record.
        UnavailableError: the brokers do not answer; the state may have been written.
    """
    before = (await read_control(topic)).states.get(scope)
    if (before.revision if before else 0) != state.revision - 1:
        raise _conflict(scope, before)
    await _write(topic, scope, state)
    was_current, after = await _read_again(topic, scope, state)
    if was_current:
        return
    if after is not None:
        await _write(topic, scope, after)
    raise _conflict(scope, after)


async def _read_again(topic: ControlTopic, scope: Scope, state: Rollout) -> tuple[bool, Rollout | None]:
    """Return True if a state was the current one at any time, and the current one."""
    control, was_current = Control(), False
    async with aclosing(read(topic.kafka, topic.name)) as messages:
        async for message, time in messages:
            if control.apply(message, time) == scope:
                was_current = was_current or control.states.get(scope) == state
    return was_current, control.states.get(scope)


async def _write(topic: ControlTopic, scope: Scope, state: Rollout) -> None:
    async def records() -> AsyncIterator[Outgoing]:
        yield Outgoing(topic.name, state_record(scope, state))

    async for sent in send(topic.kafka, records()):
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


async def wait_for_workers(
    topic: ControlTopic, scope: Scope, state: Rollout, seconds: float
) -> list[WorkerReport]:
    """Wait until each live worker follows the state, and return their reports.

    Raises:
        ConflictError: the state was replaced meanwhile, usually by a worker that takes a version back.
        ConfigurationError: a worker does not label with a version that the state names.
        UnavailableError: not all workers follow it within the seconds, or Kafka does not answer.
    """
    control = Control()
    try:
        async with asyncio.timeout(seconds):
            return await _followed(topic, scope, state, control)
    except TimeoutError as error:
        others = [each.worker for each in control.live_reports(scope) if each.revision < state.revision]
        named = ", ".join(others) or "no worker reports at all"
        raise UnavailableError(f"after {seconds:g} s, these do not follow it yet: {named}") from error


async def _followed(
    topic: ControlTopic, scope: Scope, state: Rollout, control: Control
) -> list[WorkerReport]:
    async with open_topics(topic.kafka, topic.name) as reader:
        async with aclosing(reader.existing()) as messages:
            async for message, time in messages:
                control.apply(message, time)
        if reports := _following(control, scope, state):
            return reports
        async with aclosing(reader.follow()) as messages:
            async for message, time in messages:
                control.apply(message, time)
                if reports := _following(control, scope, state):
                    return reports
    raise AssertionError("a followed topic never ends")


def _following(control: Control, scope: Scope, state: Rollout) -> list[WorkerReport]:
    """Return the reports of all workers if each follows the state, else none."""
    current, reports = control.states.get(scope), control.live_reports(scope)
    for report in reports:
        for version, why in report.refused.items() if report.revision == state.revision else ():
            raise ConfigurationError(f"worker {report.worker} does not label with version {version}: {why}")
    if current is not None and current.revision > state.revision:
        raise ConflictError(f"{current.change.by} has changed it meanwhile: {current.change.reason}")
    return reports if all(report.revision >= state.revision for report in reports) else []
