"""The steps of a worker, put together by its settings, from the messages to what is delivered."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from aiokafka import AIOKafkaProducer

from dehusk.inference.labeler import ServedLabeler
from dehusk.inference.site_signal import corrected
from dehusk.inference.sites import open_naming
from dehusk.schemas.pages import Encoding, ModelVersion, Prediction
from dehusk.streams.input_topics import input_topics
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.producing import create_producer
from dehusk.streams.sites.redis_store import RedisSiteStatistics
from dehusk.streams.sites.revisits import FirstPages
from dehusk.streams.worker.assembly import Assembler
from dehusk.streams.worker.availability import Check, Dependency
from dehusk.streams.worker.batch import BatchCleaner, Note
from dehusk.streams.worker.brokers import Brokers, check_kafka
from dehusk.streams.worker.comments import comments_advice
from dehusk.streams.worker.delivery import Delivery
from dehusk.streams.worker.dependencies import Dependencies, open_labeler, open_labeling
from dehusk.streams.worker.drops import DropLog
from dehusk.streams.worker.flow import Deliver, Flow
from dehusk.streams.worker.labeling import OneForAll, PageLabeling
from dehusk.streams.worker.live.servers import Servers
from dehusk.streams.worker.loops import Loop
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.observation import Observer
from dehusk.streams.worker.preflight import check_labeler, check_topics
from dehusk.streams.worker.raw_messages import open_raw_messages
from dehusk.streams.worker.requests import open_requests
from dehusk.streams.worker.revisiting import REVISION, Revisiting
from dehusk.streams.worker.rollout.opening import open_rollout
from dehusk.streams.worker.scheduling import Scheduling
from dehusk.streams.worker.settings import WorkerSettings
from dehusk.streams.worker.takeover import TakeoverLog
from dehusk.streams.worker.tracing.traces import Traces
from dehusk.streams.worker.witnesses import WitnessedLabeler

_log = logging.getLogger(__name__)
Notes = Callable[[], list[str]]
"""What somebody should know that keeps no page waiting, in words."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the steps of a worker are given, and its monitoring is shown."""

    dependencies: Dependencies
    metrics: Metrics
    traces: Traces
    drops: DropLog
    note: Note
    servers: Servers


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The steps of a worker, ready for messages."""

    flow: Flow
    brokers: Brokers
    checks: Sequence[tuple[Dependency, Check]]
    beside: Sequence[Loop]
    """What is done beside the flow: asking the servers for their figures, and cleaning pages again."""
    notes: Notes


@asynccontextmanager
async def open_pipeline(
    settings: WorkerSettings, name: str, pool: PreparationPool, around: Surroundings
) -> AsyncIterator[Pipeline]:
    """The steps of the worker of a name, once its labeler has answered, or may be done without.

    Raises:
        ConfigurationError: a setting does not fit.
        UnavailableError: a dependency that must be there at the start is not.
    """
    async with AsyncExitStack() as resources:
        producer = create_producer(settings.kafka, settings.compression)
        resources.push_async_callback(producer.stop)
        await producer.start()
        labeled = await resources.enter_async_context(_labeling(settings, name, producer, around))
        _announce(settings, labeled.answer)
        store = RedisSiteStatistics(settings.redis)
        resources.push_async_callback(store.close)
        cleaner = BatchCleaner(
            pool,
            labeled.labeling,
            Observer(store, around.dependencies.redis),
            corrected,
            Assembler(settings.format),
            around.metrics,
            around.note,
            _traces=around.traces,
            _encodings=labeled.encodings,
        )
        delivery = Delivery(producer, settings.topics, around.drops)
        deliver, revisits = await resources.enter_async_context(
            _revisits(settings, store, cleaner, delivery, around)
        )
        brokers = Brokers(producer.client, *input_topics(settings.topics).names, *settings.topics.written)
        check_brokers = partial(
            check_kafka, brokers, partial(check_topics, settings), lambda: delivery.failure
        )
        yield Pipeline(
            Flow(settings.flow, cleaner, deliver, around.dependencies.schema_registry, around.metrics),
            brokers,
            (
                (around.dependencies.kafka, check_brokers),
                (around.dependencies.redis, store.check),
                (around.dependencies.labeler, labeled.check),
            ),
            (
                around.servers.run(await resources.enter_async_context(_server(settings)), store),
                *revisits,
            ),
            labeled.notes,
        )


@dataclass(frozen=True, slots=True)
class _Labeled:
    """What labels pages."""

    labeling: PageLabeling
    check: Check
    answer: Prediction | None
    """To a line of text; None where it has not answered yet."""
    notes: Notes
    encodings: Callable[[], frozenset[Encoding]]
    """What is read now of a page beside what each page has."""


@asynccontextmanager
async def _labeling(
    settings: WorkerSettings, name: str, producer: AIOKafkaProducer, around: Surroundings
) -> AsyncIterator[_Labeled]:
    """Labeling by the versions that the control topic names or, without one, that the labeler chooses."""
    dependency = around.dependencies.labeler
    if (topic := settings.topics.control) is not None:
        async with open_rollout(
            settings, topic, name, producer, dependency=dependency, metrics=around.metrics
        ) as rollout:
            yield _Labeled(rollout.labeling, rollout.check, rollout.answer, rollout.notes, rollout.encodings)
        return
    async with AsyncExitStack() as resources:
        opened = open_labeler(settings)
        resources.push_async_callback(opened.close)
        answer = await check_labeler(settings, opened)
        labeler = WitnessedLabeler(TakeoverLog(opened, answer.model if answer else None))
        labeling = OneForAll(open_labeling(settings, labeler, dependency))
        yield _Labeled(labeling, labeler.check, answer, list, lambda: labeler.encodings)


@asynccontextmanager
async def _server(settings: WorkerSettings) -> AsyncIterator[ServedLabeler | None]:
    """Who is asked what the labeler's server does, for all versions; None where it has no server."""
    if settings.labeler != "triton":
        yield None
        return
    labeler = open_labeler(settings)
    try:
        yield labeler if isinstance(labeler, ServedLabeler) else None
    finally:
        await labeler.close()


@asynccontextmanager
async def _revisits(
    settings: WorkerSettings,
    store: RedisSiteStatistics,
    cleaner: BatchCleaner,
    delivery: Delivery,
    around: Surroundings,
) -> AsyncIterator[tuple[Deliver, list[Loop]]]:
    """How batches are delivered, and the loop that has the first pages of sites cleaned again, if any."""
    topics, dependencies = settings.topics, around.dependencies
    if topics.revisits is None:
        yield delivery.deliver, []
        return
    first_pages = FirstPages(store, topics.group, settings.revisit_after)
    scheduling = Scheduling(
        delivery,
        first_pages,
        dependencies.redis,
        open_naming(settings.site_key),
        topic=topics.revisits,
        group=topics.group,
    )
    async with open_requests(settings, topics.revisits) as requests, open_raw_messages(settings.kafka) as raw:
        revisiting = Revisiting(
            first_pages,
            raw,
            replace(cleaner, _revision=REVISION),
            partial(delivery.send, topics.output),
            dependencies,
            settings.flow,
            around.metrics,
        )
        yield scheduling.deliver, [requests.work_off(revisiting.revisit)]


def _announce(settings: WorkerSettings, answer: Prediction | None) -> None:
    """Tell in the log what the worker is set to do, and what it cannot do with its model."""
    topics = settings.topics
    _log.info(
        "reads %s in group %s, writes %s and %s, labels by %s with %s",
        topics.input,
        topics.group,
        topics.output,
        topics.dead_letters,
        settings.labeler,
        _said(answer.model) if answer else f"{settings.triton.model}, once it answers",
    )
    if answer is not None and (advice := comments_advice(settings, answer)):
        _log.warning("%s", advice)


def _said(model: ModelVersion) -> str:
    return f"{model.name} version {model.version}"
