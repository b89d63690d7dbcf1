"""A page and its message, which the tests of several steps share."""

import pytest
from prometheus_client import CollectorRegistry

from dehusk.inference.preparing import prepare
from dehusk.schemas.pages import Encoding, Message, PreparedPage, RawPage
from dehusk.streams.preparation.steps import PackedPage, pack
from dehusk.streams.worker.input.lag import Backlog
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.preflight import name_dependencies
from dehusk.streams.worker_settings import WorkerSettings

URL = "https://example.org/a"


@pytest.fixture
def html() -> bytes:
    paragraph = "A paragraph of some length, which is what rules and models take for the content of a page. "
    navigation = "<nav><a href=/>Home</a></nav>"
    return f"<html><title>T</title><body>{navigation}<p>{paragraph * 3}</p></body></html>".encode()


@pytest.fixture
def page(html: bytes) -> PackedPage:
    prepared = prepare(RawPage(URL, html), encodings=(Encoding.SITE_KEYS,))
    assert isinstance(prepared, PreparedPage)
    return pack(prepared)


@pytest.fixture
def message(html: bytes) -> Message:
    headers = (("content-type", b"text/html"), ("traceparent", b"00-1-2-01"))
    return Message(URL.encode(), html, headers, "raw", 3, 41)


@pytest.fixture
def monitor() -> Monitor:
    """The monitor of a worker that has done nothing, without partitions."""
    return idle_monitor()


def idle_monitor() -> Monitor:
    dependencies = name_dependencies(WorkerSettings())
    metrics = Metrics(CollectorRegistry(), dependencies)
    return Monitor(metrics, dependencies, DropLog("k:1", "dead"), lambda: 0, Backlog, max_in_flight=100)


@pytest.fixture
def live(monitor: Monitor) -> Live:
    """The record of this worker."""
    return Live(monitor)
