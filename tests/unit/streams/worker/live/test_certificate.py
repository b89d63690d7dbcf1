"""The monitoring pages by HTTPS."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.worker.live.certificate import Certificate
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.live.state import Watched
from dehusk.streams.worker.monitoring import check_pages, monitoring
from dehusk.streams.worker.settings import MonitoringSettings
from tests.authority import Authority

TOKEN = "correct-horse-battery"


def no_stall() -> None:
    """Nothing stands still."""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def trusting(authority: Authority) -> ssl.SSLContext:
    """What checks the pages' certificate."""
    return ssl.create_default_context(cafile=authority.file)


@pytest.fixture
async def address(authority: Authority, live: Live, watched: Watched) -> AsyncIterator[str]:
    certificate, key = authority.certify("worker", "127.0.0.1")
    settings = MonitoringSettings(port=0, token=TOKEN, certificate_file=certificate, key_file=key)
    await check_pages(settings)
    async with monitoring(settings, CollectorRegistry(), watched.report, no_stall, live) as given:
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
    monkeypatch.setattr("dehusk.streams.worker.live.certificate._CHECK_SECONDS", 0.01)
    certificate, key = authority.certify("worker", "127.0.0.1")
    pages = Certificate(certificate, key)
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=pages.context)
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
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=pages.context)
    served = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    renewed, new_key = authority.certify("renewed", "127.0.0.1")
    renewed.replace(certificate)
    for _ in range(3):
        pages._take_up()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"{key} is not the key" in record.message
    assert await shown_by(served, trusting) == "worker"
    new_key.replace(key)
    pages._take_up()
    assert await shown_by(served, trusting) == "renewed"
    server.close()


async def test_files_that_cannot_be_used_end_the_start(tmp_path: Path, authority: Authority) -> None:
    certificate, _ = authority.certify("worker", "127.0.0.1")
    missing = tmp_path / "missing.key"
    with pytest.raises(ConfigurationError, match=r"missing\.key"):
        await check_pages(MonitoringSettings(port=0, certificate_file=certificate, key_file=missing))
