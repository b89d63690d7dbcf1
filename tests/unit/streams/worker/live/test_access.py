"""Who may see the monitoring pages."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.live.state import Watched
from dehusk.streams.worker.monitoring import monitoring
from dehusk.streams.worker.settings import MonitoringSettings

TOKEN = "correct-horse-battery"
BROWSER = {"Accept": "text/html,*/*"}
GUARDED = ("/", "/report", "/metrics", "/events", "/live/live.js", "/nothing")


def no_stall() -> None:
    """Nothing stands still."""


@pytest.fixture
async def client(live: Live, watched: Watched) -> AsyncIterator[aiohttp.ClientSession]:
    settings = MonitoringSettings(port=0, token=TOKEN)
    jar = aiohttp.CookieJar(unsafe=True)  # it keeps cookies of addresses, too
    async with (
        monitoring(settings, CollectorRegistry(), watched.report, no_stall, live) as address,
        aiohttp.ClientSession(address, cookie_jar=jar) as session,
    ):
        yield session


async def status(client: aiohttp.ClientSession, path: str, **headers: str) -> int:
    async with client.get(path, headers=headers) as answer:
        return answer.status


@pytest.mark.parametrize("path", GUARDED)
async def test_without_the_token_nothing_is_shown(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path) as answer:
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert not answer.cookies
        assert TOKEN not in await answer.text()


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_the_health_is_for_everyone(client: aiohttp.ClientSession, path: str) -> None:
    assert await status(client, path) in {200, 503}


@pytest.mark.parametrize("path", ["/", "/report", "/metrics", "/live/live.js", "/events"])
async def test_programs_send_it_in_a_header(client: aiohttp.ClientSession, path: str) -> None:
    assert await status(client, path, Authorization=f"Bearer {TOKEN}") == 200
    assert await status(client, path, Authorization=f"bearer {TOKEN}") == 200


@pytest.mark.parametrize(
    "header",
    [TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer é"],
)
async def test_another_header_is_refused(client: aiohttp.ClientSession, header: str) -> None:
    assert await status(client, "/report", Authorization=header) == 401


async def test_a_browser_gives_it_once(client: aiohttp.ClientSession) -> None:
    async with client.get(f"/?token={TOKEN}", headers=BROWSER) as answer:
        assert (answer.status, answer.content_type) == (200, "text/html")
        (cookie,) = answer.cookies.values()
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
    assert TOKEN not in cookie.OutputString()
    for path in ("/", "/report", "/live/live.js", "/events"):
        assert await status(client, path) == 200


@pytest.mark.parametrize("path", ["/?token=wrong", "/?token=", "/?token=%ff", f"/report?token={TOKEN}"])
async def test_a_wrong_url_gives_no_cookie(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path, headers=BROWSER) as answer:
        assert answer.status == 401
        assert not answer.cookies


async def test_a_wrong_cookie_is_refused(client: aiohttp.ClientSession) -> None:
    async with client.get(f"/?token={TOKEN}") as answer:
        ((name, cookie),) = answer.cookies.items()
    client.cookie_jar.clear()
    assert await status(client, "/report", Cookie=f"{name}={cookie.value}") == 200
    for wrong in (TOKEN, "", cookie.value[:-1], cookie.value + "0"):
        assert await status(client, "/report", Cookie=f"{name}={wrong}") == 401


@pytest.mark.parametrize("path", [*GUARDED, "/healthz"])
@pytest.mark.parametrize("named", ["evil.test", "evil.test:8080", "192.168.1.2:8080", ""])
async def test_on_this_machine_other_names_are_refused(
    live: Live, watched: Watched, path: str, named: str
) -> None:
    async with (
        monitoring(
            MonitoringSettings(port=0), CollectorRegistry(), watched.report, no_stall, live
        ) as address,
        aiohttp.ClientSession(address) as client,
        client.get(path, headers={"Host": named}) as answer,
    ):
        assert answer.status == 421
        assert "ask for localhost" in await answer.text()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (MonitoringSettings(port=0), "localhost:8080"),
        (MonitoringSettings(port=0), "[::1]:1"),
        (MonitoringSettings("0.0.0.0", 0), "worker.example.org"),
        (MonitoringSettings(port=0, token=TOKEN), "worker.example.org"),
    ],
    ids=["localhost", "an address", "open to others", "with a token"],
)
async def test_other_names_are_answered(
    live: Live, watched: Watched, settings: MonitoringSettings, named: str
) -> None:
    async with (
        monitoring(settings, CollectorRegistry(), watched.report, no_stall, live) as address,
        aiohttp.ClientSession(address) as client,
    ):
        assert await status(client, "/report", Host=named, Authorization=f"Bearer {TOKEN}") == 200


async def test_a_program_that_names_no_host_is_answered(live: Live, watched: Watched) -> None:
    pages = monitoring(MonitoringSettings(port=0), CollectorRegistry(), watched.report, no_stall, live)
    async with pages as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
        writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b" 200 " in await reader.readline()
        writer.close()


@pytest.mark.parametrize(
    ("settings", "warnings"),
    [
        (MonitoringSettings("0.0.0.0", 0), 1),
        (MonitoringSettings("0.0.0.0", 0, TOKEN), 0),
        (MonitoringSettings("127.0.0.1", 0), 0),
    ],
)
async def test_pages_that_are_open_to_others_are_worth_a_warning(
    live: Live,
    watched: Watched,
    caplog: pytest.LogCaptureFixture,
    settings: MonitoringSettings,
    warnings: int,
) -> None:
    async with monitoring(settings, CollectorRegistry(), watched.report, no_stall, live):
        pass
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings
    assert all("--monitoring-token" in record.message for record in caplog.records)


def test_the_token_is_in_no_printed_settings() -> None:
    assert TOKEN not in repr(MonitoringSettings(token=TOKEN))
