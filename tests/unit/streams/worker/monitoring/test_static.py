"""The live page, as browsers and other clients get it."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import orjson
import pytest

import dehusk.streams.worker.monitoring
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.monitoring.web import monitoring
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker_settings import MonitoringSettings

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
FILES = Path(dehusk.streams.worker.monitoring.__file__).parent / "static"
PAGE = (FILES / "index.html").read_text()
SCRIPT = "".join((FILES / name).read_text() for name in ("shared.js", "zoom.js", "charts.js", "live.js"))
HOSTILE = 'javascript:alert(1)//"></script><img src=x onerror=alert(1)>\n\nevent: state\ndata: {}'


@pytest.fixture
async def client(live: Live) -> AsyncIterator[aiohttp.ClientSession]:
    def no_stall() -> None:
        """Nothing stands still."""

    settings = MonitoringSettings(port=0)
    async with (
        monitoring(settings, live, no_stall) as address,
        aiohttp.ClientSession(address) as session,
    ):
        yield session


async def events(client: aiohttp.ClientSession) -> tuple[dict[str, object], dict[str, object]]:
    """The history and the first state."""
    async with client.get("/events") as answer:
        texts = [await answer.content.readuntil(b"\n\n") for _ in range(2)]
    names, lines = zip(*(text.rstrip(b"\n").split(b"\ndata: ") for text in texts), strict=True)
    assert names == (b"event: history", b"event: state")
    return orjson.loads(lines[0]), orjson.loads(lines[1])


async def test_browsers_get_a_page_and_others_a_text(client: aiohttp.ClientSession) -> None:
    async with client.get("/", headers=BROWSER) as answer:
        assert (answer.status, answer.content_type) == (200, "text/html")
        assert await answer.text() == PAGE
    for accept in ("*/*", "text/plain", "application/json"):
        async with client.get("/", headers={"Accept": accept}) as answer:
            assert (answer.content_type, answer.headers["Vary"]) == ("text/plain", "Accept")
            assert (await answer.text()).startswith("0 pages/s")


@pytest.mark.parametrize("path", ["/", "/events", "/report", "/live/live.js", "/nothing"])
async def test_a_page_loads_own_files_alone(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path, headers=BROWSER) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == "'none'"
    assert set(rules.values()) == {"'none'", "'self'"}


async def test_all_files_of_the_page_are_served(client: aiohttp.ClientSession) -> None:
    files = re.findall(r'(?:src|href)="(live/[^"]+)"', PAGE)
    assert len(files) == 8
    for file in files:
        async with client.get(f"/{file}") as answer:
            assert answer.status == 200
            assert await answer.read() == (FILES / file.removeprefix("live/")).read_bytes()


async def test_no_other_file_is_served(client: aiohttp.ClientSession) -> None:
    for path in ("/live/", "/live/../live.py", "/live/%2e%2e/live.py", "/live/..%2flive.py"):
        async with client.get(path) as answer:
            assert answer.status in {403, 404}


def test_nothing_comes_from_elsewhere_and_nothing_is_inline() -> None:
    assert not re.search(r'(?:src|href)="(?:https?:)?//', PAGE)
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", PAGE)


def test_the_script_writes_texts_and_never_html() -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", SCRIPT)
    assert "textContent" in SCRIPT


def test_the_script_finds_its_elements() -> None:
    ids = set(re.findall(r'\bid="([^"]+)"', PAGE))
    assert set(re.findall(r'byId\("([^"$]+)"\)', SCRIPT)) <= ids
    assert set(re.findall(r'aria-labelledby="([^"]+)"', PAGE)) <= ids


def test_the_licence_of_the_charts_is_there() -> None:
    assert "MIT" in (FILES / "uPlot-LICENSE.txt").read_text()


async def test_events_begin_with_the_hour(client: aiohttp.ClientSession, live: Live) -> None:
    history, state = await events(client)
    assert (history["seconds"], history["slot_seconds"]) == (3600, 10)
    assert isinstance(history["points"], list)
    assert history["points"][-1] == state["point"]


async def test_what_a_page_says_of_itself_stays_data(monitor: Monitor) -> None:
    drops = DropLog("k:1", "dead")
    hostile = CleanedMessage(Message(None, b""))
    hostile.fail("prepare", Broken(BrokenReason.TOO_MANY_BLOCKS, HOSTILE, HOSTILE))
    drops.note(hostile)
    live = Live(replace(monitor, drops=drops))
    async with (
        monitoring(MonitoringSettings(port=0), live, lambda: None) as address,
        aiohttp.ClientSession(address) as client,
    ):
        _, state = await events(client)
    letters = orjson.loads(orjson.dumps(state["dead_letters"]))
    (letter,) = letters["too-many-blocks"]["latest"]
    assert letter["url"] == letter["detail"] == HOSTILE.replace("\n", r"\n")
