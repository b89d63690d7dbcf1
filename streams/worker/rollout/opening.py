"""Roll-out in a worker: opened once the control topic is read, reported to it, closed with the worker."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.availability import Dependency, describe_unavailable
from dehusk.streams.kafka.client import check_control_topic, find_topics
from dehusk.streams.kafka.errors import refusal_or
from dehusk.streams.kafka.producer import Outgoing, enqueue, open_producer
from dehusk.streams.kafka.rights import Operation
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import Moved, unload
from dehusk.streams.models.store import Guard
from dehusk.streams.rollout.control import REPORT_SECONDS, ControlKey, change_state, write
from dehusk.streams.settings import ControlTopic, WhenTritonIsUnavailable
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.process import running
from dehusk.streams.worker.rollout.labeling import RolloutBatchLabeler
from dehusk.streams.worker.rollout.observing import Observations
from dehusk.streams.worker.rollout.plan import Plan, Plans, open_version
from dehusk.streams.worker.rollout.steering import StateReader, Steering
from dehusk.streams.worker.rollout.stepping import Stepping
from dehusk.streams.worker.rollout.unloading import Unloading
from dehusk.streams.worker.rollout.webhook import GoneWorkers, Webhook, changed
from dehusk.streams.worker.steps.labeling import OpenLabeler, open_labeling
from dehusk.streams.worker_settings import WorkerSettings

_WITHDRAW_SECONDS = 2.0
_KEPT_SECONDS = 3600.0
"""Age of a report from which it is removed as stale."""
_SETTINGS_SECONDS = 60.0
"""Interval of the checks of the topic's settings."""
CATCH_UP_SECONDS = 30.0
"""Time limit for reading the control topic to its end."""
_log = logging.getLogger(__name__)


class Reporting:
    """Writer of a report every few seconds, and at once when the worker adopts another state."""

    def __init__(
        self, producer: AIOKafkaProducer, topic: ControlTopic, reader: StateReader, steering: Steering
    ) -> None:
        self._producer = producer
        self._topic = topic
        self.dependency = Dependency(
            f"sending to topic {topic.name}",
            "`dehusk model` does not see which versions this worker labels with",
        )
        self._reader = reader
        self._steering = steering
        self._key = ControlKey(reader.scope, steering.worker)

    async def run(self) -> None:
        """Report until cancelled; first remove the reports of workers that were killed."""
        for key in self._reader.stale(int(1000 * (time.time() - _KEPT_SECONDS))):
            await self._write(self._reader.withdrawal(key))
        while True:
            self._steering.adopted.clear()
            await self._write([Record(self._key.encode(), self._steering.report().encode())])
            with suppress(TimeoutError):
                await asyncio.wait_for(self._steering.adopted.wait(), REPORT_SECONDS)

    async def withdraw(self) -> None:
        """Remove the report, but for what was seen of trials, if Kafka answers soon."""
        records = self._reader.withdrawal(self._key, self._steering.report())
        with suppress(TimeoutError):
            await asyncio.wait_for(self._write(records), _WITHDRAW_SECONDS)

    async def _write(self, records: Sequence[Record]) -> None:
        try:
            for record in records:
                await (await enqueue(self._producer, Outgoing(self._topic.name, record)))
        except (KafkaError, OSError) as error:
            self.dependency.missed(refusal_or(error, self._topic.kafka, Operation.WRITE))
        else:
            self.dependency.answered()


class TopicCheck:
    """Check of a control topic's settings, which somebody may change while the worker runs."""

    def __init__(self, topic: ControlTopic) -> None:
        self._topic = topic
        self.dependency = Dependency(
            f"keeping the state on topic {topic.name}", "workers that start later may not find it"
        )

    async def run(self) -> None:
        """Check every minute that the topic keeps the last record of each key, until cancelled.

        That brokers do not answer, or the topic is not there, is told elsewhere.
        """
        while True:
            try:
                for topic in (await find_topics(self._topic.kafka, [self._topic.name])).values():
                    check_control_topic(topic)
            except UnavailableError:
                pass
            except ConfigurationError as error:
                self.dependency.missed(error)
            else:
                self.dependency.answered()
            await asyncio.sleep(_SETTINGS_SECONDS)


@asynccontextmanager
async def open_rollout(
    settings: WorkerSettings,
    topic: str,
    worker: str,
    *,
    dependency: Dependency,
    metrics: Metrics,
) -> AsyncIterator[OpenLabeler]:
    """Open the labeler by the state on the control topic, which is followed until the end.

    Raises:
        UnavailableError: the topic cannot be read, or the labeler does not answer.
        ConfigurationError: neither the version that is to serve nor the one before labels.
    """
    scope = Scope(settings.triton.model, settings.topics.group)
    reader = StateReader(settings.kafka, topic, scope)
    async with AsyncExitStack() as resources:
        await resources.enter_async_context(running(reader.following.run))
        await catch_up(reader, topic)
        may_be_away = settings.when_triton_is_unavailable is WhenTritonIsUnavailable.RULES
        plans = Plans(await first_plan(settings, reader.state, may_be_away=may_be_away))
        resources.push_async_callback(plans.close)
        observations = Observations()
        resources.push_async_callback(observations.close)
        control = ControlTopic(settings.kafka, topic)
        change = partial(change_state, control)
        webhook = Webhook(settings.webhook) if settings.webhook else None
        notify = partial(_notify, webhook, scope)
        steering = Steering(
            reader,
            plans,
            partial(open_version, settings),
            change,
            worker,
            observations,
            metrics,
            notify,
        )
        reader.changed.clear()
        await steering.adopt(reader.state)
        producer = await resources.enter_async_context(open_producer(settings.kafka))
        reporting = Reporting(producer, control, reader, steering)
        resources.push_async_callback(reporting.withdraw)
        stepping = Stepping(reader, change, worker, notify)
        comparing = [each.run for each in observations.comparing.values()]
        checking = TopicCheck(control)
        loops = [steering.run, reporting.run, stepping.run, checking.run, *comparing]
        if settings.labeler == "triton":
            loops.append(Unloading(reader, worker, partial(_unload, settings)).run)
        if webhook is not None:
            gone = GoneWorkers(reader, worker, partial(_withdraw, control, reader), webhook.send)
            loops += [webhook.run, gone.run]
        await resources.enter_async_context(running(*loops))
        if webhook is not None:
            resources.push_async_callback(webhook.close)
        labeler = RolloutBatchLabeler(plans, partial(open_labeling, settings), dependency, observations)
        beside = (reporting.dependency, reader.following.dependency, checking.dependency)
        yield OpenLabeler(
            labeler,
            plans.check,
            plans.current.serving.answer,
            lambda: [*steering.notes(), *describe_unavailable(beside)],
            reader.view,
        )


async def _unload(settings: WorkerSettings, gone: set[str], moved: Moved, guard: Guard) -> None:
    """Have Triton unload versions that nobody labels with, and move its trusted version."""
    async with ModelServer(settings.triton.address) as server:
        await unload(server, settings.triton.model, gone, moved, guard=guard)


def _notify(webhook: Webhook | None, scope: Scope, state: Rollout) -> None:
    """Tell the webhook of a state by which this worker has taken a version back, or paused steps."""
    if webhook is not None:
        webhook.send(changed(scope, state))


async def _withdraw(topic: ControlTopic, reader: StateReader, key: ControlKey) -> None:
    await write(topic, reader.withdrawal(key))


async def catch_up(reader: StateReader, topic: str) -> None:
    """Wait until a topic has been read to its end.

    Raises:
        UnavailableError: it was not read in time.
    """
    _log.info("reads topic %s to its end, to know which version labels", topic)
    try:
        await asyncio.wait_for(reader.following.caught_up.wait(), CATCH_UP_SECONDS)
    except TimeoutError as error:
        reason = reader.following.dependency.reason or "it is too long"
        raise UnavailableError(
            f"topic {topic} was not read to its end within {CATCH_UP_SECONDS:.0f} s: {reason}"
        ) from error


async def first_plan(settings: WorkerSettings, state: Rollout | None, *, may_be_away: bool) -> Plan:
    """Return the first plan: the serving version of the state alone or, if unfit, the previous one.

    Raises:
        ConfigurationError: none of them labels; the message says what to do about the state.
    """
    if state is None:
        return Plan(await open_version(settings, "", may_be_away=may_be_away))
    unfit: list[str] = []
    for version in filter(None, (state.serving, state.previous)):
        try:
            return Plan(await open_version(settings, version, may_be_away=may_be_away))
        except ConfigurationError as error:
            _log.warning("version %s does not label: %s", version, error)
            unfit.append(str(error))
    raise ConfigurationError(
        f"{Scope(settings.triton.model, settings.topics.group)}, revision {state.revision}, has version "
        f"{state.serving} serve: {'; '.join(unfit)}; put that version there, or have another one serve by "
        "`dehusk model promote`"
    )
