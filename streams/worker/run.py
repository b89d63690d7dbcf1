"""Life of a worker: check, start, work until told to stop, finish the messages in flight."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from prometheus_client import CollectorRegistry, disable_created_metrics

from dehusk.schemas.errors import ConfigurationError, DehuskError
from dehusk.streams.availability import Dependency, describe_unavailable, watch
from dehusk.streams.heap import configure_malloc
from dehusk.streams.kafka.reader import TopicFollower
from dehusk.streams.kafka.rights import Operation, Right
from dehusk.streams.monitoring.group import Group
from dehusk.streams.preparation.pool import open_pool, open_steps
from dehusk.streams.preparation.steps import Writing
from dehusk.streams.sites.samples import open_samples
from dehusk.streams.sources.registry import open_source
from dehusk.streams.wording import how_to_install, missing
from dehusk.streams.worker.input.app import (
    REBALANCE_SECONDS,
    FaustApp,
    create_app,
    follow_bounds,
    stay_in_group,
)
from dehusk.streams.worker.input.consumer_thread import Hooks
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker.inspector.routes import inspector_pages
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.monitoring.servers import Servers
from dehusk.streams.worker.monitoring.sharing import name_worker, open_sharing
from dehusk.streams.worker.monitoring.web import check_pages, monitoring
from dehusk.streams.worker.pipeline import Pipeline, WorkerContext, open_pipeline
from dehusk.streams.worker.preflight import (
    check_session,
    check_topics,
    check_transactions,
    name_dependencies,
    open_format,
    rights_to_clean,
)
from dehusk.streams.worker.process import (
    Loop,
    Shutdown,
    Watchdog,
    fail,
    running,
    stop_with_kafka,
)
from dehusk.streams.worker.results import UNTRACED, Traces
from dehusk.streams.worker.steps.flow import Flow
from dehusk.streams.worker_settings import WorkerSettings

_log = logging.getLogger(__name__)
_PROGRESS_SECONDS = 10.0
_STALL_SECONDS = 300.0
"""Time without progress until a stall, in addition to the CPU time that the pages of a batch may take."""
_DRAIN_SHARE = 0.7
"""Share of the grace period for the messages in flight; the rest is for committing them."""


async def run_worker(settings: WorkerSettings) -> None:
    """Work until SIGTERM or SIGINT; a bug ends the process.

    Raises:
        ConfigurationError: a setting does not fit; nothing was read.
        UnavailableError: a dependency that must be there at the start is not.
    """
    configure_malloc()
    disable_created_metrics()  # type: ignore[no-untyped-call]  # no graph reads when counters began
    shutdown = Shutdown(settings.flow.grace_seconds)
    shutdown.listen()
    try:
        await _work(settings, shutdown)
    except (asyncio.CancelledError, DehuskError):  # a cancelled client may raise UnavailableError
        if not shutdown.is_requested:
            raise
        _log.info("stopped before it had started")
    except ModuleNotFoundError as error:
        if missing(error) is None:
            fail(error)
        raise
    except Exception as error:  # noqa: BLE001 any other one is a bug
        fail(error)


async def _work(settings: WorkerSettings, shutdown: Shutdown) -> None:
    async with AsyncExitStack() as resources:
        await check_pages(settings.monitoring)
        topics = await check_topics(settings)
        await check_session(settings)
        if settings.is_transactional:
            await check_transactions(settings, topics)
        rights = rights_to_clean(settings, [topic.name for topic in topics.inputs])
        name = name_worker()
        dependencies = name_dependencies(settings)
        metrics = Metrics(CollectorRegistry(), dependencies)
        traces = await resources.enter_async_context(open_traces(settings.otlp, settings.topics.group))
        open_pages = partial(open_source, settings.source, settings.source_settings)
        form = await open_format(settings)
        writing = Writing.of(form, settings.options, settings.page, with_samples=True)
        open_work = partial(open_steps, open_pages, settings.page.max_blocks, writing, settings.site_key)
        pool = await resources.enter_async_context(open_pool(open_work, settings.processes, settings.page))
        drops = DropLog(settings.kafka.brokers, settings.topics.dead_letters)
        samples = await resources.enter_async_context(open_samples(settings.redis))
        servers = Servers()
        membership = Membership(settings.session_seconds)
        context = WorkerContext(
            dependencies,
            metrics,
            traces,
            drops,
            samples.note,
            membership,
            servers,
            rights,
            form.content_type,
        )
        pipeline = await resources.enter_async_context(open_pipeline(settings, name, pool, context))
        flow = pipeline.flow
        app = _create_app(settings, topics.partitions, pipeline, context)
        metrics.watch(flow.__len__, app.backlog)
        monitor = Monitor(
            metrics,
            dependencies,
            drops,
            flow.__len__,
            app.backlog,
            is_member=lambda: membership.is_held,
            rollout=pipeline.labeler.rollout,
            notes=lambda: [*pipeline.labeler.notes(), *describe_unavailable(beside)],
            max_in_flight=settings.flow.most_pages,
            servers=servers,
        )
        watchdog = Watchdog(
            lambda: dependencies.waited_for,
            lambda: max(flow.age, app.seconds_without_partitions, app.standstill.seconds),
            _STALL_SECONDS + settings.flow.batch_pages * settings.page.seconds,
        )
        beside: list[Dependency] = []
        group = None if settings.topics.monitoring is None else Group(settings.topics.group, name)
        live = Live(monitor, group)
        if group is not None:
            metrics.silent_workers.set_function(lambda: len(group.silent))
        inspector = inspector_pages(settings, drops)
        pages = monitoring(settings.monitoring, live, watchdog.stall, inspector=inspector)
        address = await resources.enter_async_context(pages)
        _log.info("monitoring pages at %s", address)
        sharing = await resources.enter_async_context(_sharing(settings, group, live, address, beside))
        loops: Sequence[Loop] = (
            partial(_run_app, app),
            flow.run,
            *pipeline.background,
            *(partial(watch, dependency, check) for dependency, check in pipeline.checks),
            samples.run,
            partial(stay_in_group, app),
            partial(follow_bounds, app, lambda: flow.age > 0 or dependencies.waited_for),
            watchdog.run,
            live.run,
            *sharing,
            partial(monitor.log_every, _PROGRESS_SECONDS),
        )
        async with running(*loops, is_stopping=lambda: shutdown.is_requested):
            await shutdown.requested()
            await stop_with_kafka(partial(_drain, app, flow, settings), pipeline.brokers.answer)
        _log.info("stopped; %s", metrics.totals)


@asynccontextmanager
async def _sharing(
    settings: WorkerSettings, group: Group | None, live: Live, address: str, beside: list[Dependency]
) -> AsyncIterator[list[Loop]]:
    """Yield the loops that share the worker's state and follow the group; announce the stop at the end.

    What they depend on is added to `beside`, as pages do not wait for it.
    """
    topic = settings.topics.monitoring
    if group is None or topic is None:
        yield []
        return
    follower = TopicFollower(settings.kafka, topic, group.handle, "the page shows this worker alone")
    caught_up = follower.caught_up
    opening = open_sharing(settings.kafka, topic, group, live, address=address, caught_up=caught_up)
    async with opening as sharing:
        beside += [sharing.dependency, follower.dependency]
        yield [sharing.run, follower.run]
        await sharing.leave()


@asynccontextmanager
async def open_traces(endpoint: str | None, group: str) -> AsyncIterator[Traces]:
    """Open traces that are exported to the collector at an address, over OTLP; None for no traces.

    Raises:
        ConfigurationError: OpenTelemetry is not installed, or refuses a variable.
    """
    if endpoint is None:
        yield UNTRACED
        return
    try:
        from dehusk.streams.worker.tracing.exporting import (  # noqa: PLC0415 only needed with `--otlp`
            exported_traces,
        )
    except ImportError as error:
        raise ConfigurationError(
            f"OpenTelemetry, which --otlp needs, is not installed: {how_to_install('otlp')}"
        ) from error
    except ValueError as error:  # of a limit of spans, which is read as the module is loaded
        raise ConfigurationError(f"OpenTelemetry refuses a variable OTEL_…: {error}") from error
    async with exported_traces(endpoint, group) as traces:
        yield traces


def _create_app(
    settings: WorkerSettings, partitions: int, pipeline: Pipeline, context: WorkerContext
) -> FaustApp:
    """Create the app, which sets the flow a deadline when Kafka revokes partitions."""
    loop, flow = asyncio.get_running_loop(), pipeline.flow

    def on_revoked() -> None:
        loop.call_soon_threadsafe(flow.finish_within, REBALANCE_SECONDS / 3)

    def on_assigned() -> None:
        flow.lift_deadline()
        pipeline.release()

    def on_refused(topic: str) -> None:
        """Have the right to read a topic checked that came later."""
        right = Right(Operation.READ, topic)
        if right not in context.rights:
            context.rights.append(right)

    on_removed = context.metrics.removed.inc
    hooks = Hooks(
        on_revoked,
        on_assigned,
        flow.give_up,
        on_removed,
        on_refused,
        settings.is_transactional,
        settings.kafka.rack,
    )
    return create_app(settings, partitions, flow.intake.put, hooks, context.membership)


async def _drain(app: FaustApp, flow: Flow, settings: WorkerSettings) -> None:
    """Finish the messages in flight, then stop the app, so that no commit skips abandoned ones."""
    flow.end_within(settings.flow.grace_seconds * _DRAIN_SHARE)
    await app.stop()


async def _run_app(app: FaustApp) -> None:
    await app.start()
    await app.wait_until_stopped()
    if app.crash_reason is not None:
        raise app.crash_reason
