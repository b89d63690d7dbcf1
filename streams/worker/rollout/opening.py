"""Labeling by a roll-out: opened once the control topic is read to its end, closed with the worker."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from aiokafka import AIOKafkaProducer

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.pages import Encoding, Prediction
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.rollout.keys import ControlKey
from dehusk.streams.rollout.writing import change_state
from dehusk.streams.settings import WhenTritonIsUnavailable
from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.dependencies import open_labeling
from dehusk.streams.worker.loops import running
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.rollout.aside import Aside
from dehusk.streams.worker.rollout.labeling import RolloutLabeling
from dehusk.streams.worker.rollout.plan import Plan, Plans
from dehusk.streams.worker.rollout.reporting import Reporting
from dehusk.streams.worker.rollout.seen import Seen
from dehusk.streams.worker.rollout.steering import StateReader, Steering
from dehusk.streams.worker.rollout.versions import open_version
from dehusk.streams.worker.settings import WorkerSettings

_log = logging.getLogger(__name__)
_CATCH_UP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class OpenRollout:
    """A roll-out that a worker follows."""

    labeling: RolloutLabeling
    plans: Plans
    steering: Steering

    @property
    def answer(self) -> Prediction | None:
        """What the version that serves gave for a line of text; None where it did not answer yet."""
        return self.plans.current.serving.answer

    def encodings(self) -> frozenset[Encoding]:
        """What the versions of the current plan read of a page beside what each page has."""
        return self.plans.current.encodings

    async def check(self) -> None:
        """See whether the labeler answers; raises what it does."""
        plan = self.plans.current
        await (plan.trusted or plan.serving).labeler.check()

    def notes(self) -> list[str]:
        """What of the state is not followed, in words."""
        return [f"version {version} does not label: {why}" for version, why in self.steering.refused.items()]


@asynccontextmanager
async def open_rollout(
    settings: WorkerSettings,
    topic: str,
    worker: str,
    producer: AIOKafkaProducer,
    *,
    dependency: Dependency,
    metrics: Metrics,
) -> AsyncIterator[OpenRollout]:
    """Labeling by the state on the control topic, which is followed from here on.

    Raises:
        UnavailableError: the topic cannot be read, or the labeler does not answer.
        ConfigurationError: neither the version that is to serve nor the one before labels.
    """
    scope = Scope(settings.triton.model, settings.topics.group)
    reader = StateReader(settings.kafka, topic, scope)
    async with AsyncExitStack() as resources:
        await resources.enter_async_context(running(reader.following.run()))
        await _caught_up(reader, topic)
        may_be_away = settings.when_triton_is_unavailable is WhenTritonIsUnavailable.RULES
        plans = Plans(await _first_plan(settings, reader.state, may_be_away=may_be_away))
        resources.push_async_callback(plans.close)
        seen = Seen()
        resources.push_async_callback(seen.shadow.close)
        steering = Steering(
            reader,
            scope,
            plans,
            partial(open_version, settings),
            partial(change_state, settings.kafka, topic),
            worker=worker,
            seen=seen,
            metrics=metrics,
        )
        reader.changed.clear()
        await steering.adopt(reader.state)
        reporting = Reporting(
            producer,
            topic,
            ControlKey(scope, worker),
            reader.stale,
            steering=steering,
            plans=plans,
            seen=seen,
            metrics=metrics,
        )
        resources.push_async_callback(reporting.withdraw)
        await resources.enter_async_context(running(steering.run(), seen.shadow.run(), reporting.run()))
        aside = Aside()
        resources.push_async_callback(aside.close)
        labeling = RolloutLabeling(plans, partial(open_labeling, settings), dependency, seen, aside)
        yield OpenRollout(labeling, plans, steering)


async def _caught_up(reader: StateReader, topic: str) -> None:
    _log.info("reads topic %s to its end, to know which version labels", topic)
    try:
        await asyncio.wait_for(reader.following.caught_up.wait(), _CATCH_UP_SECONDS)
    except TimeoutError as error:
        reason = reader.following.dependency.reason or "it is too long"
        raise UnavailableError(
            f"topic {topic} was not read to its end within {_CATCH_UP_SECONDS:.0f} s: {reason}"
        ) from error


async def _first_plan(settings: WorkerSettings, state: Rollout | None, *, may_be_away: bool) -> Plan:
    """The plan of a worker that starts: the version that is to serve, or the one before, alone."""
    serving = state.serving if state else ""
    try:
        return Plan(await open_version(settings, serving, may_be_away=may_be_away))
    except ConfigurationError as error:
        if state is None or state.previous is None:
            raise
        _log.warning("version %s does not label: %s", serving, error)
        return Plan(await open_version(settings, state.previous, may_be_away=may_be_away))
