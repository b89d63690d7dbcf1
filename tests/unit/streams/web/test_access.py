"""Access to the monitoring pages."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.web.access import Certificate
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.web import check_pages, monitoring
from dehusk.streams.worker_settings import MonitoringSettings
from tests.authority import Authority

TOKEN = "correct-horse-battery"
BROWSER = {"Accept": "text/html,*/*"}
GUARDED = ("/", "/report", "/metrics", "/events", "/live/live.js", "/nothing")


def no_stall() -> None:
    """Nothing stands still."""


@pytest.fixture
async def client(live: Live) -> AsyncIterator[aiohttp.ClientSession]:
    settings = MonitoringSettings(port=0, token=TOKEN)
    jar = aiohttp.CookieJar(unsafe=True)  # it keeps cookies of addresses, too
    async with (
        monitoring(settings, live, no_stall) as address,
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
async def test_on_this_machine_other_names_are_refused(live: Live, path: str, named: str) -> None:
    async with (
        monitoring(MonitoringSettings(port=0), live, no_stall) as address,
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
async def test_other_names_are_answered(live: Live, settings: MonitoringSettings, named: str) -> None:
    async with (
        monitoring(settings, live, no_stall) as address,
        aiohttp.ClientSession(address) as client,
    ):
        assert await status(client, "/report", Host=named, Authorization=f"Bearer {TOKEN}") == 200


async def test_a_program_that_names_no_host_is_answered(live: Live) -> None:
    pages = monitoring(MonitoringSettings(port=0), live, no_stall)
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
    caplog: pytest.LogCaptureFixture,
    settings: MonitoringSettings,
    warnings: int,
) -> None:
    async with monitoring(settings, live, no_stall):
        pass
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings
    assert all("--monitoring-token" in record.message for record in caplog.records)


def test_the_token_is_in_no_printed_settings() -> None:
    assert TOKEN not in repr(MonitoringSettings(token=TOKEN))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def trusting(authority: Authority) -> ssl.SSLContext:
    """Return the context that checks the pages' certificate."""
    return ssl.create_default_context(cafile=authority.file)


@pytest.fixture
async def address(authority: Authority, live: Live) -> AsyncIterator[str]:
    certificate, key = authority.certify("worker", "127.0.0.1")
    settings = MonitoringSettings(port=0, token=TOKEN, certificate_file=certificate, key_file=key)
    await check_pages(settings)
    async with monitoring(settings, live, no_stall) as given:
        yield given


async def test_pages_come_by_https_and_their_cookie_goes_by_it_alone(
    address: str, trusting: ssl.SSLContext
) -> None:
    assert address.startswith("https://127.0.0.1:")
    async with (
        aiohttp.ClientSession(address, connector=aiohttp.TCPConnector(ssl=trusting)) as client,
        client.get(f"/?token={TOKEN}", headers={"Accept": "text/html"}) as answer,
    ):
        assert answer.status == 200
        (cookie,) = answer.cookies.values()
    assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Strict")


async def test_without_tls_nothing_is_answered(address: str) -> None:
    with pytest.raises(aiohttp.ClientError):
        async with aiohttp.ClientSession() as client, client.get(address.replace("https", "http")):
            pass


async def shown_by(address: str, trusting: ssl.SSLContext) -> str:
    """Whom the certificate of the pages names."""
    url = aiohttp.client.URL(address)
    _, writer = await asyncio.open_connection(url.host, url.port, ssl=trusting)
    subject = writer.get_extra_info("peercert")["subject"]
    writer.close()
    return str(dict(field for (field,) in subject)["commonName"])


async def test_a_renewed_certificate_is_taken_up(
    authority: Authority,
    trusting: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dehusk.streams.web.access.CHECK_SECONDS", 0.01)
    certificate, key = authority.certify("worker", "127.0.0.1")
    pages = Certificate(certificate, key)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=pages.context)
    served = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    assert await shown_by(served, trusting) == "worker"
    for old, new in zip((certificate, key), authority.certify("renewed", "127.0.0.1"), strict=True):
        new.replace(old)
    following = asyncio.create_task(pages.follow())
    while True:
        await asyncio.sleep(0.01)
        if await shown_by(served, trusting) == "renewed":
            break
    following.cancel()
    server.close()


async def test_a_broken_renewal_leaves_the_old_certificate(
    authority: Authority, trusting: ssl.SSLContext, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = authority.certify("worker", "127.0.0.1")
    pages = Certificate(certificate, key)
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=pages.context)
    served = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    renewed, new_key = authority.certify("renewed", "127.0.0.1")
    renewed.replace(certificate)
    for _ in range(3):
        pages.reload()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"{key} is not the key" in record.message
    assert await shown_by(served, trusting) == "worker"
    new_key.replace(key)
    pages.reload()
    assert await shown_by(served, trusting) == "renewed"
    server.close()


async def test_files_that_cannot_be_used_end_the_start(tmp_path: Path, authority: Authority) -> None:
    certificate, _ = authority.certify("worker", "127.0.0.1")
    missing = tmp_path / "missing.key"
    with pytest.raises(ConfigurationError, match=r"missing\.key"):
        await check_pages(MonitoringSettings(port=0, certificate_file=certificate, key_file=missing))
