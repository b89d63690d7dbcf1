"""Steps of a worker, built from its settings: from messages to delivered documents."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from dehusk.inference.labelers.labeler import ServedLabeler
from dehusk.inference.sites import open_naming
from dehusk.schemas.pages import Prediction
from dehusk.streams.availability import Check, Dependencies, Dependency, watch_silence
from dehusk.streams.kafka.brokers import Brokers, check_kafka, check_login
from dehusk.streams.kafka.client import check_rights_by
from dehusk.streams.kafka.hanging import GroupOffsets
from dehusk.streams.kafka.input_topics import input_topics
from dehusk.streams.kafka.producer import create_producer, open_producer
from dehusk.streams.kafka.raw_messages import open_raw_messages
from dehusk.streams.kafka.rights import Right
from dehusk.streams.labelers import comments_advice, open_labeler
from dehusk.streams.preparation.batch import BatchCleaner, Note, UniformBatchLabeler
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.sites.redis_store import RedisSiteStatistics
from dehusk.streams.sites.revisits import FirstPages
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.monitoring.servers import Servers
from dehusk.streams.worker.preflight import check_labeler, check_topics
from dehusk.streams.worker.process import Loop
from dehusk.streams.worker.results import Traces
from dehusk.streams.worker.revisits.requests import open_requests
from dehusk.streams.worker.revisits.revisiting import REVISION, Revisiting, Scheduling
from dehusk.streams.worker.steps.batch import MAX_BATCH_BYTES, MessageCleaner, StoreObserver
from dehusk.streams.worker.steps.delivery import Delivery, ResultWriter
from dehusk.streams.worker.steps.flow import DeliveryProtocol, Flow
from dehusk.streams.worker.steps.labeling import (
    OpenLabeler,
    ProbedLabeler,
    TakeoverLog,
    open_labeling,
)
from dehusk.streams.worker.steps.transactions import TransactionalDelivery
from dehusk.streams.worker_settings import WorkerSettings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """Parts that the steps of a worker share with its monitoring."""

    dependencies: Dependencies
    metrics: Metrics
    traces: Traces
    drops: DropLog
    note: Note
    membership: Membership
    servers: Servers
    rights: list[Right]
    """Rights that Kafka must give the worker while it runs."""
    content_type: str
    """Content type of documents."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Steps of a worker, ready for messages."""

    flow: Flow
    release: Callable[[], None]
    """Gives back what is held of partitions of which nothing is in flight."""
    brokers: Brokers
    checks: Sequence[tuple[Dependency, Check]]
    background: Sequence[Loop]
    """Loops that read the metrics of servers, ask for signs of life, clean pages again, and return memory."""
    labeler: OpenLabeler


@asynccontextmanager
async def open_pipeline(
    settings: WorkerSettings, name: str, pool: PreparationPool, context: WorkerContext
) -> AsyncIterator[Pipeline]:
    """Open the steps of a named worker, once its labeler has answered or is known to be optional.

    Raises:
        ConfigurationError: a setting does not fit.
        UnavailableError: a dependency that must be there at the start is not.
    """
    async with AsyncExitStack() as resources:
        opened = await resources.enter_async_context(_open_labeler(settings, name, context))
        _log_settings(settings, opened.answer)
        store = RedisSiteStatistics(settings.redis)
        resources.push_async_callback(store.close)
        observer = StoreObserver(store, context.dependencies.redis)
        batches = BatchCleaner(pool, opened.labeler, observer, context.note, max_bytes=MAX_BATCH_BYTES)
        cleaner = MessageCleaner(batches, context.content_type, context.metrics, context.traces)
        producer = await resources.enter_async_context(open_producer(settings.kafka, settings.compression))
        context.membership.guard(producer)
        writer = ResultWriter(settings.topics, context.drops, settings.unsure_below)
        sender = Delivery(producer, writer, context.membership)
        delivery: Delivery | TransactionalDelivery = sender
        if settings.is_transactional:
            delivery = _create_transactions(settings, writer, context.membership)
        resources.push_async_callback(delivery.close)
        delivers, revisits = await resources.enter_async_context(
            _open_revisits(settings, store, cleaner, delivery, sender=sender, writer=writer, context=context)
        )
        served = await resources.enter_async_context(_open_monitored_labeler(settings))
        cleaned = (*input_topics(settings.topics).names, *settings.topics.written)
        brokers = Brokers(producer.client, *(each for each in cleaned if each not in settings.topics.beside))
        check_brokers = partial(
            check_kafka,
            brokers,
            partial(check_login, settings.kafka),
            partial(check_rights_by, producer.client, settings.kafka, context.rights),
            partial(check_topics, settings),
            lambda: delivery.failure or sender.failure,
        )
        yield Pipeline(
            Flow(
                settings.flow,
                cleaner,
                delivers,
                context.dependencies.schema_registry,
                context.metrics,
                by_partition=settings.is_transactional,
            ),
            delivery.release,
            brokers,
            (
                (context.dependencies.kafka, check_brokers),
                (context.dependencies.redis, store.check),
                (context.dependencies.labeler, opened.check),
            ),
            (
                partial(context.servers.run, served, store),
                partial(watch_silence, context.dependencies.redis, store.ping),
                *([partial(watch_silence, context.dependencies.labeler, served.activity)] if served else []),
                *revisits,
                cleaner.heap.run,
            ),
            opened,
        )


def _create_transactions(
    settings: WorkerSettings, writer: ResultWriter, membership: Membership
) -> TransactionalDelivery:
    return TransactionalDelivery(
        partial(create_producer, settings.kafka, settings.compression),
        settings.topics.group,
        writer,
        membership,
        GroupOffsets(settings.kafka, settings.topics.group, settings.topics.of_results),
        settings.kafka,
    )


@asynccontextmanager
async def _open_labeler(
    settings: WorkerSettings, name: str, context: WorkerContext
) -> AsyncIterator[OpenLabeler]:
    """Open the labeler by the versions on the control topic or, without one, by the labeler's own."""
    dependency = context.dependencies.labeler
    if (topic := settings.topics.control) is not None:
        from dehusk.streams.worker.rollout.opening import open_rollout  # noqa: PLC0415 Triton's client comes with it

        async with open_rollout(
            settings, topic, name, dependency=dependency, metrics=context.metrics
        ) as rollout:
            yield rollout
        return
    async with AsyncExitStack() as resources:
        opened = open_labeler(settings)
        resources.push_async_callback(opened.close)
        answer = await check_labeler(settings, opened)
        labeler = ProbedLabeler(TakeoverLog(opened, answer.model if answer else None))
        batches = UniformBatchLabeler(open_labeling(settings, labeler, dependency), lambda: labeler.encodings)
        yield OpenLabeler(batches, labeler.check, answer)


@asynccontextmanager
async def _open_monitored_labeler(settings: WorkerSettings) -> AsyncIterator[ServedLabeler | None]:
    """Open the labeler whose server's metrics are read; None where it has no server."""
    if settings.labeler != "triton":
        yield None
        return
    labeler = open_labeler(settings)
    try:
        yield labeler if isinstance(labeler, ServedLabeler) else None
    finally:
        await labeler.close()


@asynccontextmanager
async def _open_revisits(
    settings: WorkerSettings,
    store: RedisSiteStatistics,
    cleaner: MessageCleaner,
    delivery: DeliveryProtocol,
    *,
    sender: Delivery,
    writer: ResultWriter,
    context: WorkerContext,
) -> AsyncIterator[tuple[DeliveryProtocol, list[Loop]]]:
    """Open the delivery of batches, and the loop that cleans first pages of sites again, if wanted."""
    topics, dependencies = settings.topics, context.dependencies
    if topics.revisits is None:
        yield delivery, []
        return
    first_pages = FirstPages(store, topics.group, settings.revisit_after)
    scheduling = Scheduling(
        delivery,
        context.membership,
        sender.send,
        first_pages,
        dependencies.redis,
        open_naming(settings.site_key),
        topics.revisits,
        topics.group,
    )
    membership = Membership(settings.session_seconds)
    async with (
        open_producer(settings.kafka, settings.compression) as producer,
        open_requests(settings, topics.revisits, membership) as requests,
        open_raw_messages(settings.kafka) as raw,
    ):
        membership.guard(producer)
        publishing = Delivery(producer, writer, membership)
        revisiting = Revisiting(
            first_pages,
            raw,
            replace(cleaner, _revision=REVISION),
            partial(publishing.try_to_send, topics.output),
            dependencies,
            settings.flow,
            context.metrics,
        )
        yield scheduling, [partial(requests.run, revisiting.revisit, publishing.renew)]


def _log_settings(settings: WorkerSettings, answer: Prediction | None) -> None:
    """Log the settings of the worker, and options that its model does not support."""
    topics = settings.topics
    _log.info(
        "reads %s in group %s, writes %s and %s, labels by %s with %s",
        topics.input,
        topics.group,
        topics.output,
        topics.dead_letters,
        settings.labeler,
        f"{answer.model.name} version {answer.model.version}"
        if answer
        else f"{settings.triton.model}, once it answers",
    )
    if answer is not None and (advice := comments_advice(settings, answer)):
        _log.warning("%s", advice)
