"""The life of a worker: check, start, work until told to stop, finish what is in flight."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial

from aiokafka import AIOKafkaProducer
from prometheus_client import CollectorRegistry

from dehusk.inference.site_signal import corrected
from dehusk.inference.sites import open_naming
from dehusk.schemas.errors import DehuskError
from dehusk.schemas.pages import ModelVersion, Prediction
from dehusk.streams.formats import FORMATS
from dehusk.streams.input_topics import input_topics
from dehusk.streams.preparation.extraction import Writing
from dehusk.streams.preparation.isolation import open_pool
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.producing import create_producer
from dehusk.streams.sites.redis_store import RedisSiteStatistics
from dehusk.streams.sites.revisits import FirstPages
from dehusk.streams.sites.samples import open_samples
from dehusk.streams.sources.registry import open_source
from dehusk.streams.sources.source import Source
from dehusk.streams.worker.app import (
    REBALANCE_SECONDS,
    FaustApp,
    commit_acknowledged,
    create_app,
    lag,
    lag_by_partition,
)
from dehusk.streams.worker.assembly import Assembler
from dehusk.streams.worker.availability import Check, Dependency, watch
from dehusk.streams.worker.batch import BatchCleaner, Note
from dehusk.streams.worker.brokers import Brokers, check_kafka
from dehusk.streams.worker.comments import comments_advice
from dehusk.streams.worker.delivery import Delivery
from dehusk.streams.worker.dependencies import Dependencies, name_dependencies, open_labeler, open_labeling
from dehusk.streams.worker.drops import DropLog
from dehusk.streams.worker.exit import fail
from dehusk.streams.worker.flow import Deliver, Flow
from dehusk.streams.worker.labeling import OneForAll, PageLabeling
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.live.recorder import Recorder
from dehusk.streams.worker.live.state import Watched
from dehusk.streams.worker.memory import give_back_what_is_huge
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.monitoring import check_port, monitoring
from dehusk.streams.worker.observation import Observer
from dehusk.streams.worker.preflight import check_labeler, check_source, check_topics
from dehusk.streams.worker.progress import Progress
from dehusk.streams.worker.raw_messages import open_raw_messages
from dehusk.streams.worker.requests import open_requests
from dehusk.streams.worker.revisiting import REVISION, Revisiting
from dehusk.streams.worker.rollout.opening import open_rollout
from dehusk.streams.worker.scheduling import Scheduling
from dehusk.streams.worker.settings import WorkerSettings
from dehusk.streams.worker.shutdown import Shutdown, stop_with_kafka
from dehusk.streams.worker.takeover import TakeoverLog
from dehusk.streams.worker.watchdog import Watchdog
from dehusk.streams.worker.witnesses import WitnessedLabeler

_log = logging.getLogger(__name__)
_PROGRESS_SECONDS = 10.0
_SAMPLES_SECONDS = 1.0
_STALL_SECONDS = 300.0
"""Beside what the pages of a batch may take to prepare, one after the other."""
_DRAIN_SHARE = 0.7
"""How much of a deadline the work in flight may take; the rest is for committing it."""
Loop = Coroutine[None, None, None]
Checks = Sequence[tuple[Dependency, Check]]
Notes = Callable[[], list[str]]
"""What somebody should know that keeps no page waiting."""


async def run_worker(settings: WorkerSettings, open_own: Callable[[], Source] | None = None) -> None:
    """Work until SIGTERM or SIGINT; a bug ends the process.

    Args:
        settings: what to work on.
        open_own: opens a source of the caller's own, in each preparation process.

    Raises:
        ConfigurationError: a setting does not fit; nothing was read.
        UnavailableError: a dependency that must be there at the start is not.
    """
    give_back_what_is_huge()
    shutdown = Shutdown(settings.flow.grace_seconds)
    shutdown.listen()
    try:
        await _work(settings, shutdown, open_own)
    except (asyncio.CancelledError, DehuskError):  # a client that is cancelled may say that nobody answers
        if not shutdown.is_requested:
            raise
        _log.info("stopped before it had started")


async def _work(settings: WorkerSettings, shutdown: Shutdown, open_own: Callable[[], Source] | None) -> None:
    async with AsyncExitStack() as resources:
        check_source(settings)
        await check_port(settings.monitoring)
        partitions = await check_topics(settings)
        dependencies = name_dependencies(settings)
        metrics = Metrics(CollectorRegistry(), dependencies)
        open_one = open_own or partial(open_source, settings.source, settings.source_settings)
        pool = await resources.enter_async_context(
            open_pool(open_one, settings.processes, settings.page, _writing(settings), settings.site_key)
        )
        drops = DropLog(settings.kafka.brokers, settings.topics.dead_letters)
        samples = await resources.enter_async_context(open_samples(settings.redis))
        flow, brokers, checks, revisits, notes = await resources.enter_async_context(
            _flow(settings, dependencies, pool, metrics, drops=drops, note=samples.note)
        )
        app = _app(settings, partitions, flow, metrics)
        metrics.in_flight.set_function(lambda: len(flow))
        metrics.lag.set_function(lambda: _known(lag(app)))
        metrics.watch_partitions(lambda: lag_by_partition(app))
        progress = Progress(metrics, dependencies, drops, lambda: len(flow), lambda: lag(app), notes=notes)
        watchdog = Watchdog(
            lambda: dependencies.waited_for,
            lambda: max(flow.age, app.seconds_without_partitions),
            _STALL_SECONDS + settings.flow.batch_pages * settings.page.seconds,
        )
        live = Live(
            Recorder(metrics, lambda: len(flow), lambda: lag(app)),
            Watched(
                metrics,
                dependencies,
                progress.report,
                lambda: lag_by_partition(app),
                settings.flow.most_pages,
                time.time(),
            ),
        )
        pages = monitoring(settings.monitoring, metrics.registry, progress.report, watchdog.stall, live)
        _log.info("monitoring pages at %s", await resources.enter_async_context(pages))
        loops = (
            flow.run(),
            *revisits,
            *(watch(dependency, check) for dependency, check in checks),
            samples.write_every(_SAMPLES_SECONDS),
            commit_acknowledged(app),
            watchdog.run(),
            live.run(),
            progress.log_every(_PROGRESS_SECONDS),
        )
        async with _working(app, loops):
            await shutdown.requested()
            await stop_with_kafka(partial(_stop, app, flow, settings), brokers.answer)
        _log.info("stopped; %s", metrics.totals)


@asynccontextmanager
async def _flow(
    settings: WorkerSettings,
    dependencies: Dependencies,
    pool: PreparationPool,
    metrics: Metrics,
    *,
    drops: DropLog,
    note: Note,
) -> AsyncIterator[tuple[Flow, Brokers, Checks, list[Loop], Notes]]:
    """The flow through labeler, store and producer, once the labeler has answered; its brokers and checks.

    And what has pages cleaned again beside it, where that is wanted.
    """
    async with AsyncExitStack() as resources:
        producer = create_producer(settings.kafka, settings.compression)
        resources.push_async_callback(producer.stop)
        await producer.start()
        labeling, check_labels, labels, notes = await resources.enter_async_context(
            _labeling(settings, producer, dependencies, metrics)
        )
        _announce(settings, None if labels is None else labels.model)
        if labels is not None and (advice := comments_advice(settings, labels)):
            _log.warning("%s", advice)
        store = RedisSiteStatistics(settings.redis)
        resources.push_async_callback(store.close)
        cleaner = BatchCleaner(
            pool,
            labeling,
            Observer(store, dependencies.redis),
            corrected,
            Assembler(settings.format),
            metrics,
            note,
        )
        topics = settings.topics
        delivery = Delivery(producer, topics, drops)
        deliver, revisits = await resources.enter_async_context(
            _revisits(settings, store, cleaner, delivery, dependencies=dependencies, metrics=metrics)
        )
        brokers = Brokers(producer.client, *input_topics(topics).names, *topics.written)
        check_brokers = partial(
            check_kafka, brokers, partial(check_topics, settings), lambda: delivery.failure
        )
        checks = (
            (dependencies.kafka, check_brokers),
            (dependencies.redis, store.check),
            (dependencies.labeler, check_labels),
        )
        flow = Flow(
            settings.flow,
            cleaner,
            deliver,
            dependencies.schema_registry,
            metrics,
        )
        yield flow, brokers, checks, revisits, notes


@asynccontextmanager
async def _labeling(
    settings: WorkerSettings, producer: AIOKafkaProducer, dependencies: Dependencies, metrics: Metrics
) -> AsyncIterator[tuple[PageLabeling, Check, Prediction | None, Notes]]:
    """What labels pages, how it is checked, and its answer to a line of text, if it has answered."""
    if (topic := settings.topics.control) is not None:
        async with open_rollout(settings, topic, producer, dependencies.labeler, metrics) as found:
            yield found.labeling, found.check, found.answer, found.notes
        return
    async with AsyncExitStack() as resources:
        opened = open_labeler(settings)
        resources.push_async_callback(opened.close)
        labels = await check_labeler(settings, opened)
        labeler = WitnessedLabeler(TakeoverLog(opened, None if labels is None else labels.model))
        yield OneForAll(open_labeling(settings, labeler, dependencies.labeler)), labeler.check, labels, list


@asynccontextmanager
async def _revisits(
    settings: WorkerSettings,
    store: RedisSiteStatistics,
    cleaner: BatchCleaner,
    delivery: Delivery,
    *,
    dependencies: Dependencies,
    metrics: Metrics,
) -> AsyncIterator[tuple[Deliver, list[Loop]]]:
    """How batches are delivered, and the loop that has the first pages of sites cleaned again, if any."""
    topics = settings.topics
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
            metrics,
        )
        yield scheduling.deliver, [requests.work_off(revisiting.revisit)]


def _writing(settings: WorkerSettings) -> Writing:
    """How documents are made."""
    return Writing(
        FORMATS[settings.format].write,
        with_blocks=settings.with_blocks,
        drop_hidden=settings.drop_hidden,
        comments=settings.comments,
        metadata=settings.metadata,
        most_bytes=2 * settings.page.max_bytes,
        with_samples=True,
        rendering=FORMATS[settings.format].rendering(settings.rendering),
    )


def _announce(settings: WorkerSettings, model: ModelVersion | None) -> None:
    """Tell in the log what the worker is set to do."""
    topics, named = settings.topics, settings.triton.model
    _log.info(
        "reads %s in group %s, writes %s and %s, labels by %s with %s",
        topics.input,
        topics.group,
        topics.output,
        topics.dead_letters,
        settings.labeler,
        f"{model.name} version {model.version}" if model else f"{named}, once it answers",
    )


def _app(settings: WorkerSettings, partitions: int, flow: Flow, metrics: Metrics) -> FaustApp:
    """The app, which gives the flow a deadline when Kafka wants partitions back."""
    loop = asyncio.get_running_loop()

    def on_revoked() -> None:
        loop.call_soon_threadsafe(flow.finish_within, REBALANCE_SECONDS / 3)

    return create_app(
        settings,
        partitions,
        flow.intake.put,
        on_revoked=on_revoked,
        on_assigned=flow.take_your_time,
        on_removed=metrics.removed.inc,
    )


@asynccontextmanager
async def _working(app: FaustApp, loops: Iterable[Loop]) -> AsyncIterator[None]:
    """The app and the loops at work; if one of them ends by itself, that is a bug."""
    work = [asyncio.create_task(loop) for loop in (_live(app), *loops)]
    for task in work:
        task.add_done_callback(_check)
    try:
        yield
    finally:
        for task in work:
            task.cancel()


async def _stop(app: FaustApp, flow: Flow, settings: WorkerSettings) -> None:
    """Finish what is in flight; nothing is read after it, for a commit would skip what had to be given up."""
    flow.finish_within(settings.flow.grace_seconds * _DRAIN_SHARE)
    await app.stop()


def _check(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        fail(error)


def _known(number: int | None) -> float:
    return math.nan if number is None else number


async def _live(app: FaustApp) -> None:
    await app.start()
    await app.wait_until_stopped()
    if app.crash_reason is not None:
        raise app.crash_reason
