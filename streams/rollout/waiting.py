"""Waiting until the live workers of a group follow a state."""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing

from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.schemas.trials import WorkerReport
from dehusk.streams.kafka.reader import open_topics
from dehusk.streams.rollout.control import Control
from dehusk.streams.settings import ControlTopic


async def wait_for_workers(
    topic: ControlTopic, scope: Scope, state: Rollout, seconds: float
) -> list[WorkerReport]:
    """Wait until each live worker follows the state, and return their reports.

    Raises:
        ConflictError: the state was replaced meanwhile, usually by a worker that takes a version back.
        ConfigurationError: a worker ignores the state, or does not label with a version that it names.
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


def ignored_by(state: Rollout | None, reports: Iterable[WorkerReport]) -> str | None:
    """Return who ignores a state, as the topic has lost a later one, and until when; None if nobody does."""
    revision = state.revision if state else 0
    names = [each.worker for each in reports if each.revision > revision]
    if not names:
        return None
    return (
        "the control topic was emptied or created anew; workers that have followed a later revision ignore "
        f"it until they are restarted: {', '.join(names)}"
    )


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
    if ignored := ignored_by(state, reports):
        raise ConfigurationError(ignored)
    return reports if all(report.revision >= state.revision for report in reports) else []
