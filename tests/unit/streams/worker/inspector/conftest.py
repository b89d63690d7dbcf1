"""The inspector among the monitoring pages of a worker without services."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import pytest_asyncio

from dehusk.streams.settings import KafkaSettings, PageLimits
from dehusk.streams.worker.inspector.inspector import Inspector
from dehusk.streams.worker.inspector.routes import inspector_pages
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.web import monitoring
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings
from tests.unit.streams.conftest import idle_monitor

MAX_BYTES = 1 << 20
NOBODY = KafkaSettings("127.0.0.1:1")
SETTINGS = WorkerSettings(
    kafka=NOBODY,
    labeler="rules",
    page=PageLimits(max_bytes=MAX_BYTES),
    monitoring=MonitoringSettings(port=0),
)
BY_ONE_PROCESS = pytest.mark.asyncio(loop_scope="module")
"""Marks a test of `shared_client`."""


@pytest.fixture
def settings() -> WorkerSettings:
    """Of a worker that labels by rules, of small pages, and reaches no Kafka."""
    return SETTINGS


@pytest.fixture
def drops() -> DropLog:
    """Return the worker's memory of its latest pages."""
    return DropLog("k:1", "dead")


@pytest.fixture
def inspector(settings: WorkerSettings, request: pytest.FixtureRequest) -> Inspector:
    """Return the front of the process, which starts when it is asked."""
    return Inspector(settings, **getattr(request, "param", {}))


@pytest.fixture
async def client(drops: DropLog, inspector: Inspector, live: Live) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser, as it were, of these pages."""
    async with browsing(drops, inspector, live) as session:
        yield session


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_client() -> AsyncIterator[aiohttp.ClientSession]:
    """The same for tests that may ask one process after each other, as each start takes a second."""
    async with browsing(DropLog("k:1", "dead"), Inspector(SETTINGS), Live(idle_monitor())) as session:
        yield session


@asynccontextmanager
async def browsing(drops: DropLog, inspector: Inspector, live: Live) -> AsyncIterator[aiohttp.ClientSession]:
    pages = inspector_pages(SETTINGS, drops, inspector)
    async with (
        monitoring(SETTINGS.monitoring, live, lambda: None, inspector=pages) as address,
        aiohttp.ClientSession(address) as session,
    ):
        yield session
