"""The worker's monitoring pages, read from the worker's own code."""

import asyncio
from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry, Counter

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import UnavailableError
from dehusk.streams.local.monitoring import Monitoring
from dehusk.streams.worker.counts import Totals
from dehusk.streams.worker.drops import Drop, DropsOfReason
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.monitoring import monitoring
from dehusk.streams.worker.progress import Report
from dehusk.streams.worker.settings import MonitoringSettings

TOTALS = Totals(
    messages=9, bytes=900, pages=9, documents=6, empty_documents=1, tombstones=0, skipped=3, dead_letters=0
)

DROP = Drop(datetime(2026, 1, 2, tzinfo=UTC), Origin("raw", 0, 7), "http://x.test/", "a PDF")


def no_stall() -> None:
    """Nothing stands still."""


def report(*unavailable: str) -> Report:
    return Report(
        TOTALS,
        pages_per_second=1.5,
        bytes_per_second=2.5,
        in_flight=2,
        lag=4,
        unavailable=dict.fromkeys(unavailable, "it is gone"),
        skipped={"not-html": DropsOfReason(3, (DROP,))},
        dead_letters={},
        notes=[],
    )


async def test_the_report_is_read_as_the_worker_made_it(live: Live) -> None:
    async with monitoring(MonitoringSettings(port=0), CollectorRegistry(), report, no_stall, live) as url:
        assert await asyncio.to_thread(Monitoring(url).report) == report()


async def test_skips_are_read_by_reason(live: Live) -> None:
    registry = CollectorRegistry()
    skipped = Counter("dehusk_skipped", "Messages that are no page.", ["reason"], registry=registry)
    skipped.labels("not-html").inc(2)
    skipped.labels("no-body").inc()
    skipped.labels("not-a-page")
    async with monitoring(MonitoringSettings(port=0), registry, report, no_stall, live) as url:
        assert await asyncio.to_thread(Monitoring(url).skipped) == {"not-html": 2, "no-body": 1}


async def test_a_worker_that_misses_a_service_is_not_ready(live: Live) -> None:
    async with monitoring(MonitoringSettings(port=0), CollectorRegistry(), report, no_stall, live) as url:
        assert await asyncio.to_thread(Monitoring(url).is_ready)
    async with monitoring(
        MonitoringSettings(port=0), CollectorRegistry(), lambda: report("redis"), no_stall, live
    ) as url:
        assert not await asyncio.to_thread(Monitoring(url).is_ready)


def test_a_worker_that_is_not_there_is_not_ready() -> None:
    nobody = Monitoring("http://127.0.0.1:1/")
    assert not nobody.is_ready()
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:1/report does not answer"):
        nobody.report()
