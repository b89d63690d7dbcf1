"""Waiting until workers follow a state of a roll-out."""

import asyncio
from contextlib import aclosing

from dehusk.schemas.comparison import WorkerReport
from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.consuming import open_topics
from dehusk.streams.rollout.control import Control
from dehusk.streams.rollout.moving import live_reports
from dehusk.streams.settings import KafkaSettings


async def wait_for_workers(
    kafka: KafkaSettings, topic: str, scope: Scope, state: Rollout, seconds: float
) -> list[WorkerReport]:
    """What the workers report once each that is there follows the state.

    Raises:
        ConflictError: the state was replaced meanwhile, by a worker that takes a version back, as a rule.
        ConfigurationError: a worker does not label with a version that the state names.
        UnavailableError: not all workers follow it within the seconds, or Kafka does not answer.
    """
    control = Control()
    try:
        async with asyncio.timeout(seconds):
            return await _followed(kafka, topic, scope, state, control)
    except TimeoutError as error:
        behind = [each.worker for each in live_reports(control, scope) if each.revision < state.revision]
        named = ", ".join(behind) or "no worker reports at all"
        raise UnavailableError(f"after {seconds:g} s, these do not follow it yet: {named}") from error


async def _followed(
    kafka: KafkaSettings, topic: str, scope: Scope, state: Rollout, control: Control
) -> list[WorkerReport]:
    async with open_topics(kafka, topic) as reader:
        async with aclosing(reader.held()) as held:
            async for message, time in held:
                control.take(message, time)
        if found := _following(control, scope, state):
            return found
        async with aclosing(reader.coming()) as coming:
            async for message, time in coming:
                control.take(message, time)
                if found := _following(control, scope, state):
                    return found
    raise AssertionError("a topic ends never")


def _following(control: Control, scope: Scope, state: Rollout) -> list[WorkerReport]:
    """The reports of all workers, if each follows the state; else none."""
    current, reports = control.states.get(scope), live_reports(control, scope)
    for report in reports:
        for version, why in report.refused.items() if report.revision == state.revision else ():
            raise ConfigurationError(f"worker {report.worker} does not label with version {version}: {why}")
    if current is not None and current.revision > state.revision:
        raise ConflictError(f"{current.change.by} has changed it meanwhile: {current.change.reason}")
    return reports if all(report.revision >= state.revision for report in reports) else []
