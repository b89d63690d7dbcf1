"""Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from tests.browser.proxy import recording
from tests.browser.visits import Visit, visit

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-features=AutofillServerCommunication",
    "--disable-sync",
    "--no-first-run",
]
expect.set_options(timeout=60_000)  # a busy machine is no defect
Visiting = Callable[..., Awaitable[Visit]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One browser for all tests."""
    program = shutil.which("chromium")
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield launched
        await launched.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visiting(browser: Browser) -> AsyncIterator[Visiting]:
    """Opens a page of a server, in a profile of its own that may have settings of its own."""
    async with AsyncExitStack() as resources:

        async def opened(address: str, **settings: object) -> Visit:
            proxy, asked = await resources.enter_async_context(recording())
            context = await browser.new_context(proxy={"server": proxy, "bypass": "127.0.0.1"}, **settings)
            resources.push_async_callback(context.close)
            return await visit(context, address, asked)

        yield opened
