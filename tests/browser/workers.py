"""The monitoring pages of a worker whose counts the tests change."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from faust.types import TP
from prometheus_client import CollectorRegistry

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.monitoring.group import Group
from dehusk.streams.monitoring.state import STEP_BOUNDS, STEPS, Point
from dehusk.streams.preparation.batch import Failure
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.rollout.view import RolloutView
from dehusk.streams.worker.input.lag import Backlog
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.monitoring.web import monitoring
from dehusk.streams.worker.preflight import name_dependencies
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings

LONG_NAME = "crawl.of-a-site.with-a-name-that-is-as-long-as-names-of-topics-may-well-be.2026-11"
ANY_PORT = MonitoringSettings(port=0)
HOSTILE_URL = 'javascript:alert(1)//"></script><img src=x onerror=alert(1)>' + "x" * 200


class Worker:
    """Worker with counts and their record."""

    def __init__(self, group: Group | None = None) -> None:
        self.lags = {TP("raw-pages", number): 10 * number for number in range(8)} | {TP(LONG_NAME, 0): 123456}
        self.rollout: RolloutView | None = None
        self.dependencies = name_dependencies(WorkerSettings())
        self.metrics = Metrics(CollectorRegistry(), self.dependencies)
        self.drops = DropLog("k:1", "dead")
        self.monitor = Monitor(
            self.metrics,
            self.dependencies,
            self.drops,
            in_flight=lambda: 37,
            backlog=lambda: Backlog(self.lag(), 7530.0, 25.0, self.lags),
            rollout=lambda: self.rollout,
            max_in_flight=2048,
        )
        self.live = Live(self.monitor, group)

    def lag(self) -> int:
        """Return the lag of all partitions."""
        return sum(self.lags.values())

    def clean(self, pages: int) -> None:
        """Count documents of so many pages."""
        document = WrittenDocument(b"k", b"d", characters=300, model=ModelVersion("dehusk", "7"))
        for _ in range(pages):
            self.metrics.count(CleanedMessage(Message(None, b"x" * 1_000), [document]))

    def take_steps(self) -> None:
        """Measure each step of a batch."""
        for step in STEPS:
            with self.metrics.step(step):
                pass

    def drop(self, offset: int = 1) -> None:
        """Skip a page and give up another one, both with hostile URLs."""
        message = Message(None, b"page", (), "raw-pages", 3, offset)
        skipped = CleanedMessage(
            message, skipped=[Skipped(SkipReason.NO_BODY, "it has no body", HOSTILE_URL)]
        )
        broken = Broken(BrokenReason.TOO_MANY_BLOCKS, "100,001 blocks", HOSTILE_URL)
        for cleaned in (skipped, CleanedMessage(message, failure=Failure("prepare", broken))):
            self.metrics.count(cleaned)
            self.drops.note(cleaned)

    def remember_an_hour(self) -> None:
        """Fill the history as a worker does that has cleaned pages for more than an hour."""
        now = time.time()
        for number in range(360, 0, -1):
            share = 0.5 + (number % 37) / 74
            batches = (*(int(8 * share) for _ in range(6)), *(0 for _ in STEP_BOUNDS[6:]))
            steps = dict.fromkeys(STEPS, batches)
            at = now - 10 * number
            self.live._history.add(
                Point(
                    at, 400 * share, 3e7 * share, 0.1 * share, 90_000 + 100 * number, 37, 600_000_000, steps
                )
            )

    @asynccontextmanager
    async def serving(self, settings: MonitoringSettings = ANY_PORT) -> AsyncIterator[str]:
        """The address of its pages, while it records and serves them."""
        running = asyncio.create_task(self.live.run())
        pages = monitoring(settings, self.live, lambda: None)
        try:
            async with pages as address:
                yield address
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
