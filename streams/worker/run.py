"""The life of a worker: check, start, work until told to stop, finish what is in flight."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from prometheus_client import CollectorRegistry

from dehusk.schemas.errors import DehuskError
from dehusk.streams.formats import FORMATS
from dehusk.streams.group.group import Group
from dehusk.streams.preparation.extraction import Writing
from dehusk.streams.preparation.isolation import open_pool
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
from dehusk.streams.worker.availability import watch
from dehusk.streams.worker.dependencies import name_dependencies
from dehusk.streams.worker.drops import DropLog
from dehusk.streams.worker.flow import Flow
from dehusk.streams.worker.inspector.pages import inspector_pages
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.live.recorder import Recorder
from dehusk.streams.worker.live.servers import Servers
from dehusk.streams.worker.live.state import Watched
from dehusk.streams.worker.loops import Loop, running
from dehusk.streams.worker.memory import give_back_what_is_huge
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.monitoring import check_pages, monitoring
from dehusk.streams.worker.pipeline import Surroundings, open_pipeline
from dehusk.streams.worker.preflight import check_source, check_topics
from dehusk.streams.worker.progress import Progress
from dehusk.streams.worker.settings import WorkerSettings
from dehusk.streams.worker.sharing import follow_group, name_worker, open_sharing
from dehusk.streams.worker.shutdown import Shutdown, stop_with_kafka
from dehusk.streams.worker.tracing.opening import open_traces
from dehusk.streams.worker.watchdog import Watchdog

_log = logging.getLogger(__name__)
_PROGRESS_SECONDS = 10.0
_SAMPLES_SECONDS = 1.0
_STALL_SECONDS = 300.0
"""Beside what the pages of a batch may take to prepare, one after the other."""
_DRAIN_SHARE = 0.7
"""How much of a deadline the work in flight may take; the rest is for committing it."""


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
        await check_pages(settings.monitoring)
        partitions = await check_topics(settings)
        name = name_worker()
        dependencies = name_dependencies(settings)
        metrics = Metrics(CollectorRegistry(), dependencies)
        traces = await resources.enter_async_context(open_traces(settings.otlp, settings.topics.group))
        open_one = open_own or partial(open_source, settings.source, settings.source_settings)
        pool = await resources.enter_async_context(
            open_pool(open_one, settings.processes, settings.page, _writing(settings), settings.site_key)
        )
        drops = DropLog(settings.kafka.brokers, settings.topics.dead_letters)
        samples = await resources.enter_async_context(open_samples(settings.redis))
        servers = Servers()
        around = Surroundings(dependencies, metrics, traces, drops, samples.note, servers)
        pipeline = await resources.enter_async_context(open_pipeline(settings, name, pool, around))
        flow = pipeline.flow
        app = _app(settings, partitions, flow, metrics)
        metrics.in_flight.set_function(lambda: len(flow))
        metrics.lag.set_function(lambda: _known(lag(app)))
        metrics.watch_partitions(lambda: lag_by_partition(app))
        progress = Progress(
            metrics, dependencies, drops, lambda: len(flow), lambda: lag(app), notes=pipeline.notes
        )
        watchdog = Watchdog(
            lambda: dependencies.waited_for,
            lambda: max(flow.age, app.seconds_without_partitions),
            _STALL_SECONDS + settings.flow.batch_pages * settings.page.seconds,
        )
        group = _group(settings, name)
        live = Live(
            Recorder(metrics, lambda: len(flow), lambda: lag(app)),
            Watched(
                metrics,
                dependencies,
                progress.report,
                lambda: lag_by_partition(app),
                settings.flow.most_pages,
                time.time(),
                servers,
            ),
            group,
        )
        pages = monitoring(
            settings.monitoring,
            metrics.registry,
            progress.report,
            watchdog.stall,
            live,
            inspector=inspector_pages(settings, drops),
        )
        address = await resources.enter_async_context(pages)
        _log.info("monitoring pages at %s", address)
        sharing = await resources.enter_async_context(_sharing(settings, group, live, address))
        loops = (
            _live(app),
            flow.run(),
            *pipeline.beside,
            *(watch(dependency, check) for dependency, check in pipeline.checks),
            samples.write_every(_SAMPLES_SECONDS),
            commit_acknowledged(app),
            watchdog.run(),
            live.run(),
            *sharing,
            progress.log_every(_PROGRESS_SECONDS),
        )
        async with running(*loops):
            await shutdown.requested()
            await stop_with_kafka(partial(_stop, app, flow, settings), pipeline.brokers.answer)
        _log.info("stopped; %s", metrics.totals)


def _group(settings: WorkerSettings, name: str) -> Group | None:
    """What the worker knows of its group, where workers share their figures."""
    topics = settings.topics
    return None if topics.monitoring is None else Group(topics.group, name)


@asynccontextmanager
async def _sharing(
    settings: WorkerSettings, group: Group | None, live: Live, address: str
) -> AsyncIterator[list[Loop]]:
    """The loops that share its figures and follow those of others; at the end it says that it stops."""
    topic = settings.topics.monitoring
    if group is None or topic is None:
        yield []
        return
    async with open_sharing(settings.kafka, topic, group, live, address) as sharing:
        yield [sharing.run(), follow_group(settings.kafka, topic, group).run()]
        await sharing.leave()


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


async def _stop(app: FaustApp, flow: Flow, settings: WorkerSettings) -> None:
    """Finish what is in flight; nothing is read after it, for a commit would skip what had to be given up."""
    flow.finish_within(settings.flow.grace_seconds * _DRAIN_SHARE)
    await app.stop()


def _known(number: int | None) -> float:
    return math.nan if number is None else number


async def _live(app: FaustApp) -> None:
    await app.start()
    await app.wait_until_stopped()
    if app.crash_reason is not None:
        raise app.crash_reason
