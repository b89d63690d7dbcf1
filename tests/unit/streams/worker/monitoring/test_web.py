"""The pages by which a worker is watched."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count

import aiohttp
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Skipped, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.local.folder import free_ports
from dehusk.streams.worker.input.lag import Backlog
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.monitoring.web import check_pages, monitoring
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker.run import run_worker
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings
from tests.settling import settle

ANY_PORT = MonitoringSettings(port=0)


def no_stall() -> None:
    """Nothing stands still."""


@pytest.fixture
def monitor(monitor: Monitor, message: Message) -> Monitor:
    """The monitor of a worker that has skipped a page."""
    monitor.metrics.count(CleanedMessage(message, skipped=[Skipped(SkipReason.NO_BODY, "")]))
    return replace(monitor, in_flight=lambda: 7, backlog=lambda: Backlog(9, partitions={}))


@asynccontextmanager
async def serving(monitor: Monitor) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of its pages."""
    async with (
        monitoring(ANY_PORT, Live(monitor), no_stall) as address,
        aiohttp.ClientSession(address) as session,
    ):
        yield session


@pytest.fixture
async def client(monitor: Monitor) -> AsyncIterator[aiohttp.ClientSession]:
    async with serving(monitor) as session:
        yield session


async def get(client: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with client.get(path) as answer:
        return answer.status, await answer.text()


async def test_the_report_is_for_people_and_programs(client: aiohttp.ClientSession) -> None:
    status, text = await get(client, "/")
    assert status == 200
    assert "1 page = 0 documents (0 empty) + 0 tombstones + 1 skipped + 0 dead letters" in text
    assert "7 in flight, lag 9" in text
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
    client: aiohttp.ClientSession, monitor: Monitor
) -> None:
    assert await get(client, "/readyz") == (200, "ok\n")
    monitor.dependencies.redis.missed(OSError("refused"))
    assert await get(client, "/readyz") == (503, "redis is unavailable: refused\n")
    assert await get(client, "/healthz") == (200, "redis is unavailable: refused\n")
    assert "redis is unavailable: refused" in (await get(client, "/"))[1]


async def test_a_short_silence_of_a_server_shows_and_leaves_the_worker_ready(monitor: Monitor) -> None:
    now, ticks, silent = [1000.0], count(), "triton is unavailable: it answers no status request"
    triton = monitor.dependencies.labeler
    async with serving(replace(monitor, clock=lambda: now[0] + next(ticks) / 1e6)) as client:
        triton.fell_silent(now[0] - 2, "it answers no status request")
        assert await get(client, "/readyz") == (200, f"ok; {silent}\n")
        assert silent in (await get(client, "/"))[1]
        now[0] += 7.9
        assert (await get(client, "/readyz"))[0] == 200
        now[0] += 0.2
        assert await get(client, "/readyz") == (503, f"{silent}\n")
        triton.silent_since = None
        assert await get(client, "/readyz") == (200, "ok\n")
        triton.fell_silent(now[0] - 2, "it answers no status request")
        triton.missed(OSError("refused"))
        assert await get(client, "/readyz") == (503, "triton is unavailable: refused\n")


async def test_what_keeps_no_page_waiting_is_said_of_a_worker_that_is_ready(monitor: Monitor) -> None:
    async with serving(replace(monitor, notes=lambda: ["version 9 is odd"])) as client:
        assert await get(client, "/readyz") == (200, "ok; version 9 is odd\n")
        assert "lag 9; version 9 is odd" in (await get(client, "/"))[1]
        monitor.dependencies.redis.missed(OSError("refused"))
        assert await get(client, "/readyz") == (503, "redis is unavailable: refused; version 9 is odd\n")


async def test_a_worker_without_partitions_says_so_and_is_not_ready(monitor: Monitor) -> None:
    monitor.dependencies.redis.missed(OSError("refused"))
    async with serving(replace(monitor, backlog=Backlog)) as client:
        assert await get(client, "/readyz") == (
            503,
            "waits for its partitions; redis is unavailable: refused\n",
        )
        assert (
            "7 in flight; waits for its partitions; redis is unavailable: refused"
            in (await get(client, "/"))[1]
        )


async def test_a_port_that_is_taken_is_said(live: Live) -> None:
    async with monitoring(ANY_PORT, live, no_stall) as address:
        taken = MonitoringSettings(port=int(address.rstrip("/").rpartition(":")[2]))
        with pytest.raises(ConfigurationError, match="--monitoring HOST:PORT"):
            async with monitoring(taken, live, no_stall):
                pass
        with pytest.raises(ConfigurationError, match="--monitoring HOST:PORT"):
            await check_pages(taken)
        with pytest.raises(ConfigurationError, match="cannot listen"):
            await run_worker(WorkerSettings(monitoring=taken))  # of which neither Kafka nor Triton answers


async def test_a_port_that_was_checked_is_free(live: Live) -> None:
    (port,) = free_ports(1)
    await check_pages(MonitoringSettings(port=port))
    async with monitoring(MonitoringSettings(port=port), live, no_stall) as address:
        assert address == f"http://127.0.0.1:{port}/"


async def test_the_log_tells_of_progress(
    monitor: Monitor, message: Message, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for _ in range(3):
        monitor.metrics.count(CleanedMessage(message, skipped=[Skipped(SkipReason.NO_BODY, "")]))
    logging = asyncio.create_task(monitor.log_every(0.01))
    await settle()
    logging.cancel()
    assert "4 pages = 0 documents" in caplog.records[0].message
    assert not caplog.records[0].message.startswith("0 pages/s")


async def test_a_stranger_who_speaks_no_http_1_is_refused_and_fills_no_log(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    async with monitoring(ANY_PORT, live, no_stall) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.0 400 ")
    assert not caplog.records


async def test_the_report_has_the_latest_pages_without_a_document(monitor: Monitor, message: Message) -> None:
    skipped = Skipped(SkipReason.NOT_HTML, "a PDF", "http://x.test/a")
    monitor.drops.note(CleanedMessage(message, skipped=[skipped]))
    async with serving(monitor) as client, client.get("/report") as answer:
        report = await answer.json()
    (latest,) = report["skipped"]["not-html"]["latest"]
    assert (latest["url"], latest["detail"]) == ("http://x.test/a", "a PDF")
    assert (report["skipped"]["not-html"]["count"], report["dead_letters"]) == (1, {})


async def test_the_report_has_the_fields_of_its_format(client: aiohttp.ClientSession) -> None:
    async with client.get("/report") as answer:
        report = await answer.json()
    assert list(report) == [
        "totals",
        "pages_per_second",
        "bytes_per_second",
        "in_flight",
        "lag",
        "unavailable",
        "skipped",
        "dead_letters",
        "notes",
    ]


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
async def test_a_worker_that_stands_still_is_not_alive(path: str, live: Live) -> None:
    stalls: list[str | None] = [None, "a batch has taken 700 s"]
    async with (
        monitoring(ANY_PORT, live, lambda: stalls.pop(0)) as address,
        aiohttp.ClientSession(address) as client,
    ):
        assert await get(client, path) == (200, "ok\n")
        assert await get(client, path) == (503, "a batch has taken 700 s\n")


async def test_a_bug_in_a_page_is_logged(monitor: Monitor, caplog: pytest.LogCaptureFixture) -> None:
    def notes() -> list[str]:
        raise KeyError("bug")

    async with serving(replace(monitor, notes=notes)) as client:
        assert (await get(client, "/"))[0] == 500
    assert "KeyError: 'bug'" in caplog.text
