"""The pages by which a worker is watched."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Skipped, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.local.addresses import free_ports
from dehusk.streams.worker.assembly import CleanedMessage
from dehusk.streams.worker.dependencies import Dependencies, name_dependencies
from dehusk.streams.worker.drops import DropLog
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.monitoring import check_pages, monitoring
from dehusk.streams.worker.progress import Progress, Report
from dehusk.streams.worker.run import run_worker
from dehusk.streams.worker.settings import MonitoringSettings, WorkerSettings
from tests.settling import settle

ANY_PORT = MonitoringSettings(port=0)
DROPS = DropLog("k:1", "dead")


def no_stall() -> None:
    """Nothing stands still."""


@pytest.fixture
def dependencies() -> Dependencies:
    return name_dependencies(WorkerSettings())


@pytest.fixture
def metrics(dependencies: Dependencies, message: Message) -> Metrics:
    counted = Metrics(CollectorRegistry(), dependencies)
    counted.count(CleanedMessage(message, skipped=[Skipped(SkipReason.NO_BODY, "")]))
    return counted


@pytest.fixture
async def client(
    dependencies: Dependencies, metrics: Metrics, live: Live
) -> AsyncIterator[aiohttp.ClientSession]:
    progress = Progress(metrics, dependencies, DROPS, in_flight=lambda: 7, lag=lambda: 9)
    async with (
        monitoring(ANY_PORT, metrics.registry, progress.report, no_stall, live) as address,
        aiohttp.ClientSession(address) as session,
    ):
        yield session


async def get(client: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with client.get(path) as answer:
        return answer.status, await answer.text()


async def test_the_report_is_for_people_and_programs(client: aiohttp.ClientSession) -> None:
    status, text = await get(client, "/")
    assert status == 200
    assert "1 page = 0 documents (0 empty) + 0 tombstones + 1 skipped + 0 dead letters" in text
    assert "7 in flight, 9 to come" in text
    async with client.get("/report") as answer:
        report = await answer.json()
    assert (report["totals"]["skipped"], report["in_flight"], report["lag"], report["unavailable"]) == (
        1,
        7,
        9,
        {},
    )


async def test_prometheus_finds_its_metrics(client: aiohttp.ClientSession) -> None:
    status, text = await get(client, "/metrics")
    assert status == 200
    assert "dehusk_pages_total 1.0" in text


async def test_a_worker_whose_dependencies_are_unavailable_is_alive_but_not_ready(
    client: aiohttp.ClientSession, dependencies: Dependencies
) -> None:
    assert await get(client, "/readyz") == (200, "ok\n")
    dependencies.redis.missed(OSError("refused"))
    assert await get(client, "/readyz") == (503, "redis is unavailable: refused\n")
    assert (await get(client, "/healthz"))[0] == 200
    assert "redis is unavailable: refused" in (await get(client, "/"))[1]


async def test_what_keeps_no_page_waiting_is_said_of_a_worker_that_is_ready(
    metrics: Metrics, dependencies: Dependencies, live: Live
) -> None:
    progress = Progress(
        metrics, dependencies, DROPS, lambda: 7, lambda: 9, notes=lambda: ["version 9 is odd"]
    )
    async with (
        monitoring(ANY_PORT, metrics.registry, progress.report, no_stall, live) as address,
        aiohttp.ClientSession(address) as client,
    ):
        assert await get(client, "/readyz") == (200, "ok; version 9 is odd\n")
        assert "9 to come; version 9 is odd" in (await get(client, "/"))[1]
        dependencies.redis.missed(OSError("refused"))
        assert await get(client, "/readyz") == (503, "redis is unavailable: refused; version 9 is odd\n")


async def test_a_worker_without_partitions_says_so_and_is_not_ready(
    metrics: Metrics, dependencies: Dependencies, live: Live
) -> None:
    progress = Progress(metrics, dependencies, DROPS, in_flight=lambda: 7, lag=lambda: None)
    dependencies.redis.missed(OSError("refused"))
    async with (
        monitoring(ANY_PORT, metrics.registry, progress.report, no_stall, live) as address,
        aiohttp.ClientSession(address) as client,
    ):
        assert await get(client, "/readyz") == (
            503,
            "waits for its partitions; redis is unavailable: refused\n",
        )
        assert (
            "7 in flight; waits for its partitions; redis is unavailable: refused"
            in (await get(client, "/"))[1]
        )


async def test_a_port_that_is_taken_is_said(metrics: Metrics, dependencies: Dependencies, live: Live) -> None:
    progress = Progress(metrics, dependencies, DROPS, lambda: 0, lambda: 0)
    async with monitoring(ANY_PORT, metrics.registry, progress.report, no_stall, live) as address:
        taken = MonitoringSettings(port=int(address.rstrip("/").rpartition(":")[2]))
        with pytest.raises(ConfigurationError, match=r"cannot listen .*; choose another with --monitoring"):
            async with monitoring(taken, metrics.registry, progress.report, no_stall, live):
                pass
        with pytest.raises(ConfigurationError, match=r"cannot listen .*; choose another with --monitoring"):
            await check_pages(taken)
        with pytest.raises(ConfigurationError, match="cannot listen"):
            await run_worker(WorkerSettings(monitoring=taken))  # of which neither Kafka nor Triton answers


async def test_a_port_that_was_checked_is_free(
    metrics: Metrics, dependencies: Dependencies, live: Live
) -> None:
    progress = Progress(metrics, dependencies, DROPS, lambda: 0, lambda: 0)
    (port,) = free_ports(1)
    await check_pages(MonitoringSettings(port=port))
    async with monitoring(
        MonitoringSettings(port=port), metrics.registry, progress.report, no_stall, live
    ) as address:
        assert address == f"http://127.0.0.1:{port}/"


async def test_the_log_tells_of_progress(
    metrics: Metrics, dependencies: Dependencies, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    progress = Progress(metrics, dependencies, DROPS, lambda: 0, lambda: 0)
    for _ in range(3):
        metrics.count(CleanedMessage(message, skipped=[Skipped(SkipReason.NO_BODY, "")]))
    logging = asyncio.create_task(progress.log_every(0.01))
    await settle()
    logging.cancel()
    assert "4 pages = 0 documents" in caplog.records[0].message
    assert not caplog.records[0].message.startswith("0 pages/s")


async def test_a_stranger_who_speaks_no_http_1_is_refused_and_fills_no_log(
    metrics: Metrics, dependencies: Dependencies, caplog: pytest.LogCaptureFixture, live: Live
) -> None:
    progress = Progress(metrics, dependencies, DROPS, lambda: 0, lambda: 0)
    async with monitoring(ANY_PORT, metrics.registry, progress.report, no_stall, live) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.0 400 ")
    assert not caplog.records


async def test_the_report_has_the_latest_pages_without_a_document(
    metrics: Metrics, dependencies: Dependencies, message: Message, live: Live
) -> None:
    drops = DropLog("k:1", "dead")
    drops.note(CleanedMessage(message, skipped=[Skipped(SkipReason.NOT_HTML, "a PDF", "http://x.test/a")]))
    progress = Progress(metrics, dependencies, drops, lambda: 0, lambda: 0)
    async with (
        monitoring(ANY_PORT, metrics.registry, progress.report, no_stall, live) as address,
        aiohttp.ClientSession(address) as client,
        client.get("/report") as answer,
    ):
        report = await answer.json()
    (latest,) = report["skipped"]["not-html"]["latest"]
    assert (latest["url"], latest["detail"]) == ("http://x.test/a", "a PDF")
    assert (report["skipped"]["not-html"]["count"], report["dead_letters"]) == (1, {})


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
async def test_a_worker_that_stands_still_is_not_alive(
    metrics: Metrics, dependencies: Dependencies, path: str, live: Live
) -> None:
    progress = Progress(metrics, dependencies, DROPS, lambda: 0, lambda: 0)
    said: list[str | None] = [None, "a batch has taken 700 s"]
    async with (
        monitoring(ANY_PORT, metrics.registry, progress.report, lambda: said.pop(0), live) as address,
        aiohttp.ClientSession(address) as client,
    ):
        assert await get(client, path) == (200, "ok\n")
        assert await get(client, path) == (503, "a batch has taken 700 s\n")


async def test_a_bug_in_a_page_is_logged(
    metrics: Metrics, caplog: pytest.LogCaptureFixture, live: Live
) -> None:
    def report() -> Report:
        raise KeyError("bug")

    async with (
        monitoring(ANY_PORT, metrics.registry, report, no_stall, live) as address,
        aiohttp.ClientSession(address) as client,
    ):
        assert (await get(client, "/"))[0] == 500
    assert "KeyError: 'bug'" in caplog.text
