"""The worker's monitoring pages, read from the worker's own code."""

import asyncio
from dataclasses import replace

import pytest
from prometheus_client import Counter

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.outcomes import Skipped, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.local.worker import Monitoring, Report
from dehusk.streams.monitoring.state import Totals
from dehusk.streams.worker.input.lag import Backlog
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.monitoring.web import monitoring
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker_settings import MonitoringSettings


def no_stall() -> None:
    """Nothing stands still."""


@pytest.fixture
def busy(monitor: Monitor) -> Live:
    """A worker that has partitions and has skipped a page."""
    skipped = Skipped(SkipReason.NOT_HTML, "a PDF", "http://x.test/")
    cleaned = CleanedMessage(Message(None, b"x" * 100, (), "raw", 0, 7), skipped=[skipped])
    monitor.metrics.count(cleaned)
    monitor.drops.note(cleaned)
    return Live(replace(monitor, in_flight=lambda: 2, backlog=lambda: Backlog(4, partitions={})))


async def test_the_report_is_read_as_the_worker_made_it(busy: Live) -> None:
    totals = Totals(
        messages=1,
        bytes=100,
        pages=1,
        documents=0,
        empty_documents=0,
        tombstones=0,
        skipped=1,
        dead_letters=0,
    )
    async with monitoring(MonitoringSettings(port=0), busy, no_stall) as url:
        assert await asyncio.to_thread(Monitoring(url).report) == Report(totals, in_flight=2, lag=4)


async def test_skips_are_read_by_reason(live: Live) -> None:
    registry = live.monitor.metrics.registry
    skipped = Counter("dehusk_test_skips", "Messages that are no page.", ["reason"], registry=registry)
    skipped.labels("not-html").inc(2)
    skipped.labels("no-body").inc()
    skipped.labels("not-a-page")
    async with monitoring(MonitoringSettings(port=0), live, no_stall) as url:
        found = await asyncio.to_thread(Monitoring(url).metric, "dehusk_test_skips_total", "reason")
    assert found == {"not-html": 2, "no-body": 1}


async def test_skipped_pages_are_read_by_reason(busy: Live) -> None:
    async with monitoring(MonitoringSettings(port=0), busy, no_stall) as url:
        assert await asyncio.to_thread(Monitoring(url).skipped) == {"not-html": 1}


async def test_a_worker_that_misses_a_service_is_not_ready(busy: Live) -> None:
    async with monitoring(MonitoringSettings(port=0), busy, no_stall) as url:
        assert await asyncio.to_thread(Monitoring(url).is_ready)
        busy.monitor.dependencies.redis.missed(OSError("it is gone"))
        assert not await asyncio.to_thread(Monitoring(url).is_ready)


def test_a_worker_that_is_not_there_is_not_ready() -> None:
    nobody = Monitoring("http://127.0.0.1:1/")
    assert not nobody.is_ready()
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:1/report does not answer"):
        nobody.report()
