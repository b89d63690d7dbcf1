"""The inspector as it is served."""

import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.inspection.server import serving

PAGE = b"<title>T</title><p>Some words of a page that is inspected</p><p>and others of it"


@pytest.fixture
async def client(inspecting) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        inspecting(PAGE) as inspection,
        serving(inspection, "127.0.0.1", 0) as address,
        aiohttp.ClientSession(address) as session,
    ):
        yield session


async def test_the_page_comes_with_its_policy(client: aiohttp.ClientSession) -> None:
    async with client.get("/") as answer:
        headers, text = answer.headers, await answer.text()
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("frame-ancestors 'none'")
    assert "script-src 'unsafe" not in policy
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
    assert "Some words of a page that is inspected" in text


async def test_views_are_made_when_they_are_asked_for(client: aiohttp.ClientSession) -> None:
    async with client.get("/views/0") as answer:
        view = json.loads(await answer.text())
        assert answer.content_type == "application/json"
    assert (view["model"], len(view["kinds"])) == ("boilerpipe/1", 2)
    async with client.get("/views/1") as answer:
        assert (await answer.json())["labeler"] == "onnx"


@pytest.mark.parametrize("path", ["/views/999", "/views/x", "/views/-1", "/etc/passwd"])
async def test_nothing_else_is_served(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path) as answer:
        assert answer.status == 404


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("evil.test:80", 421), ("", 421)],
)
async def test_another_site_cannot_have_its_name_lead_here(
    client: aiohttp.ClientSession, host: str, status: int
) -> None:
    async with client.get("/", headers={"Host": host}) as answer:
        assert answer.status == status
        assert ("inspected" in await answer.text()) == (status == 200)


async def test_a_port_that_is_taken_is_named(inspecting, client: aiohttp.ClientSession) -> None:
    base = client._base_url
    assert base is not None
    async with inspecting(PAGE) as inspection:
        with pytest.raises(
            ConfigurationError, match=f"cannot listen on 127.0.0.1:{base.port}: .*another port"
        ):
            async with serving(inspection, "127.0.0.1", base.port or 0):
                pass
