"""The inspector among the monitoring pages of a worker without services."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from dehusk.streams.settings import KafkaSettings, PageLimits
from dehusk.streams.worker.drops import DropLog
from dehusk.streams.worker.inspector.inspector import Inspector
from dehusk.streams.worker.inspector.pages import inspector_pages
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.live.state import Watched
from dehusk.streams.worker.monitoring import monitoring
from dehusk.streams.worker.settings import MonitoringSettings, WorkerSettings

MAX_BYTES = 1 << 20
NOBODY = KafkaSettings("127.0.0.1:1")


@pytest.fixture
def settings() -> WorkerSettings:
    """Of a worker that labels by rules, of small pages, and reaches no Kafka."""
    monitored = MonitoringSettings(port=0)
    return WorkerSettings(
        kafka=NOBODY, labeler="rules", page=PageLimits(max_bytes=MAX_BYTES), monitoring=monitored
    )


@pytest.fixture
def drops() -> DropLog:
    """What the worker remembers of its latest pages."""
    return DropLog("k:1", "dead")


@pytest.fixture
def inspector(settings: WorkerSettings) -> Inspector:
    """What asks the process, which starts when it is asked."""
    return Inspector(settings)


@pytest.fixture
async def client(
    settings: WorkerSettings, drops: DropLog, inspector: Inspector, live: Live, watched: Watched
) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser, as it were, of these pages."""
    pages = inspector_pages(settings, drops, inspector)
    monitored = settings.monitoring
    async with (
        monitoring(
            monitored, CollectorRegistry(), watched.report, lambda: None, live, inspector=pages
        ) as address,
        aiohttp.ClientSession(address) as session,
    ):
        yield session
