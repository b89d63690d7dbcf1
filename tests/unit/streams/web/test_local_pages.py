"""Pages for browsers of this machine."""

import asyncio
from base64 import b64encode
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web

from dehusk.streams.settings import MIB
from dehusk.streams.web.local_pages import (
    MAX_CONNECTIONS,
    embed,
    fill,
    is_loopback,
    is_own_name,
    page_policy,
    serving,
)


def test_embedded_json_has_no_markup() -> None:
    assert embed('"<>&"') == '"\\u003c\\u003e\\u0026"'


def test_what_fills_a_template_is_not_filled_itself() -> None:
    assert fill("<p>%%one%%</p>%%two%%", {"one": "%%two%%", "two": "2"}) == "<p>%%two%%</p>2"


def test_a_page_may_run_its_own_script_alone() -> None:
    digest = b64encode(sha256(b"script").digest()).decode()
    policy = page_policy("script", is_served=False)
    assert f"script-src 'sha256-{digest}';" in policy
    assert "connect-src" not in policy
    assert page_policy("script", is_served=True) == f"{policy}; connect-src 'self'"


def test_addresses_of_this_machine_alone_are_known() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "192.168.1.2", "worker.example.org")))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]"])
def test_on_this_machine_its_own_names_are_known(host: str) -> None:
    for named in ("localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080"):
        assert is_own_name(named, host)
    for named in (
        "",
        ":80",
        "evil.test",
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "192.168.1.2",
        "::1",
        "a b",
    ):
        assert not is_own_name(named, host)


def test_elsewhere_any_address_is_one_and_the_given_name() -> None:
    assert is_own_name("192.168.1.2:80", "0.0.0.0")
    assert is_own_name("Inspector.example.org:80", "inspector.example.org")
    assert not is_own_name("evil.test", "0.0.0.0")


async def test_silent_connections_give_way_to_others_and_those_with_a_request_stay() -> None:
    pages, going_on = web.Application(), asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="at once")

    async def wait(_: web.Request) -> web.Response:
        await going_on.wait()
        return web.Response(text="at last")

    pages.add_routes([web.get("/", answer), web.get("/wait", wait)])
    async with serving(pages, "127.0.0.1", 0) as address, aiohttp.ClientSession(address) as session:
        url = urlsplit(address)
        waiting = asyncio.create_task(text_of(session, "/wait"))
        silent = [await asyncio.open_connection(url.hostname, url.port) for _ in range(MAX_CONNECTIONS)]
        for _, writer in silent:
            writer.write(b"GET / HTTP/1.1\r\nHost:")
        for _ in range(3):
            assert await text_of(session, "/", headers={"Connection": "close"}) == "at once"
        async with asyncio.timeout(10):
            assert await silent[0][0].read() == b""
        assert not silent[-1][0].at_eof()
        going_on.set()
        assert await waiting == "at last"
        for _, writer in silent:
            writer.close()


async def test_a_connection_that_reads_nothing_gives_way_too() -> None:
    pages, asked, size = web.Application(), asyncio.Event(), 32 * MIB  # more than a system buffers

    async def answer(_: web.Request) -> web.Response:
        asked.set()
        return web.Response(body=bytes(size))

    pages.add_routes([web.get("/", answer)])
    async with serving(pages, "127.0.0.1", 0) as address:
        url = urlsplit(address)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await asked.wait()
        others = [await asyncio.open_connection(url.hostname, url.port) for _ in range(MAX_CONNECTIONS + 5)]
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(size)
        for _, each in ((reader, writer), *others):
            each.close()


async def text_of(session: aiohttp.ClientSession, path: str, **options: Any) -> str:
    async with session.get(path, **options) as answer:
        return await answer.text()
