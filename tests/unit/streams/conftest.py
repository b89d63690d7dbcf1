"""A page and its message, which the tests of several steps share."""

import time

import pytest
from prometheus_client import CollectorRegistry

from dehusk.inference.cleaning import PreparedPage, prepare
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.preparation.preparation import PackedPage, pack
from dehusk.streams.worker.dependencies import name_dependencies
from dehusk.streams.worker.drops import DropLog
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.live.recorder import Recorder
from dehusk.streams.worker.live.state import Watched
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.progress import Progress
from dehusk.streams.worker.settings import WorkerSettings

URL = "https://example.org/a"


@pytest.fixture
def html() -> bytes:
    paragraph = "A paragraph of some length, which is what rules and models take for the content of a page. "
    navigation = "<nav><a href=/>Home</a></nav>"
    return f"<html><title>T</title><body>{navigation}<p>{paragraph * 3}</p></body></html>".encode()


@pytest.fixture
def page(html: bytes) -> PackedPage:
    prepared = prepare(RawPage(URL, html))
    assert isinstance(prepared, PreparedPage)
    return pack(prepared)


@pytest.fixture
def message(html: bytes) -> Message:
    headers = (("content-type", b"text/html"), ("traceparent", b"00-1-2-01"))
    return Message(URL.encode(), html, headers, "raw", 3, 41)


@pytest.fixture
def watched() -> Watched:
    """What is watched of a worker that has done nothing, without partitions."""
    dependencies = name_dependencies(WorkerSettings())
    metrics = Metrics(CollectorRegistry(), dependencies)
    progress = Progress(metrics, dependencies, DropLog("k:1", "dead"), lambda: 0, lambda: None)
    return Watched(metrics, dependencies, progress.report, lambda: None, 100, time.time())


@pytest.fixture
def live(watched: Watched) -> Live:
    """The record of this worker."""
    return Live(Recorder(watched.metrics, lambda: 0, lambda: None), watched)
