"""The pages of the inspector: what they list, and whom they answer."""

import re
from pathlib import Path

import aiohttp
import pytest

import dehusk.streams.worker.inspector
from dehusk.schemas.documents import Origin
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.worker.inspector.inspector import Inspector
from dehusk.streams.worker.inspector.routes import inspector_pages, latest_position
from dehusk.streams.worker.monitoring.drops import DropLog
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.web import monitoring
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings
from tests.unit.streams.worker.inspector.conftest import BY_ONE_PROCESS

FILES = Path(dehusk.streams.worker.inspector.__file__).parent / "static"
PAGE = (FILES / "index.html").read_text()
SCRIPT = (FILES / "inspect.js").read_text()
URL = "https://example.org/a"
TOKEN = "correct-horse-battery"


def document(offset: int, url: str = URL) -> CleanedMessage:
    record = WrittenDocument(url.encode(), b"{}", model=ModelVersion("dehusk", "7"))
    return CleanedMessage(Message(b"k", b"v", (), "raw", 3, offset), records=[record])


def dead_letter(offset: int, url: str) -> CleanedMessage:
    cleaned = CleanedMessage(Message(b"k", b"v", (), "raw", 3, offset))
    cleaned.fail("prepare", Broken(BrokenReason.TOO_MANY_BLOCKS, "<img src=x onerror=alert(1)>", url))
    return cleaned


async def test_the_latest_pages_are_listed(client: aiohttp.ClientSession, drops: DropLog) -> None:
    for offset in range(40):
        drops.note(document(offset, f"{URL}/{offset}"))
    drops.note(dead_letter(40, URL))
    async with client.get("/inspect/recent") as answer:
        recent = await answer.json()
    assert [each["url"] for each in recent["documents"]] == [f"{URL}/{offset}" for offset in range(10, 40)]
    newest = recent["documents"][-1]
    assert newest["source"] == {"topic": "raw", "partition": 3, "offset": 39}
    assert (newest["model"], newest["is_empty"]) == ({"name": "dehusk", "version": "7"}, False)
    (letter,) = recent["dead_letters"]["too-many-blocks"]["latest"]
    assert (letter["url"], letter["source"]["offset"]) == (URL, 40)


def test_the_latest_message_of_a_url_is_found(drops: DropLog) -> None:
    drops.note(document(7))
    drops.note(dead_letter(8, URL))
    drops.note(document(9, f"{URL}/b"))
    assert latest_position(drops, URL) == Origin("raw", 3, 8)
    assert latest_position(drops, f"{URL}/c") is None


async def test_the_page_and_its_files_are_served(client: aiohttp.ClientSession) -> None:
    async with client.get("/inspect") as answer:
        assert (str(answer.url.path), answer.status, await answer.text()) == ("/inspect/", 200, PAGE)
        policy = answer.headers["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["form-action"] == "'none'"
    assert set(rules.values()) == {"'none'", "'self'"}
    for file in re.findall(r'(?:src|href)="([^"]+)"', PAGE):
        async with client.get(f"/inspect/{file}") as answer:
            assert answer.status == 200


def test_the_page_holds_nothing_inline_and_its_script_writes_texts() -> None:
    assert not re.search(r'(?:src|href)="(?:https?:)?//', PAGE)
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", PAGE)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", SCRIPT)
    ids = set(re.findall(r'\bid="([^"]+)"', PAGE))
    assert set(re.findall(r'(?:byId|onSubmit)\("([^"$]+)"', SCRIPT)) <= ids
    assert set(re.findall(r'aria-labelledby="([^"]+)"', PAGE)) <= ids


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1"},
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
    ],
)
async def test_another_site_has_nothing_inspected(
    client: aiohttp.ClientSession, inspector: Inspector, headers: dict[str, str]
) -> None:
    for path in ("pastes", "documents?url=x", "positions?topic=raw-pages&partition=0&offset=0"):
        async with client.post(f"/inspect/{path}", data=b"<p>words", headers=headers) as answer:
            assert answer.status == 403
    assert inspector.process.pid is None


@BY_ONE_PROCESS
@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "own"}])
async def test_these_pages_and_programs_may_ask(
    shared_client: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    own = str(shared_client._base_url).rstrip("/")
    sent = {name: value.replace("own", own) if name == "Origin" else value for name, value in headers.items()}
    async with shared_client.post("/inspect/positions?topic=t&partition=x&offset=0", headers=sent) as answer:
        assert answer.status == 400


async def test_another_site_reads_nothing(client: aiohttp.ClientSession) -> None:
    for path in ("recent", "pages/x/", "pages/x/views/0"):
        async with client.get(f"/inspect/{path}", headers={"Sec-Fetch-Site": "cross-site"}) as answer:
            assert answer.status == 403


@pytest.mark.parametrize("path", ["pastes", "documents", "positions"])
async def test_a_link_has_nothing_inspected(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(f"/inspect/{path}") as answer:
        assert answer.status == 405


async def test_a_name_that_leads_here_is_refused(client: aiohttp.ClientSession) -> None:
    for path in ("", "recent"):
        async with client.get(f"/inspect/{path}", headers={"Host": "evil.test"}) as answer:
            assert answer.status == 421


OFF = [
    (MonitoringSettings("0.0.0.0", 0), "--monitoring-token has it ask for a token", 1),
    (MonitoringSettings(port=0, inspector=False), "--no-inspector is set", 0),
]


@pytest.mark.parametrize(("monitored", "reason", "lines"), OFF)
def test_that_it_is_off_is_logged_where_nobody_asked_for_it(
    caplog: pytest.LogCaptureFixture, monitored: MonitoringSettings, reason: str, lines: int
) -> None:
    caplog.set_level("INFO", "dehusk.streams.worker.inspector")
    inspector_pages(WorkerSettings(monitoring=monitored), DropLog("k:1", "dead"))
    assert [reason in message for message in caplog.messages] == [True] * lines


@pytest.mark.parametrize(("monitored", "reason", "_"), OFF)
async def test_where_it_is_off_it_says_why(
    live: Live, monitored: MonitoringSettings, reason: str, _: int
) -> None:
    pages = inspector_pages(WorkerSettings(monitoring=monitored), DropLog("k:1", "dead"))
    async with (
        monitoring(monitored, live, lambda: None, inspector=pages) as address,
        aiohttp.ClientSession(address.replace("0.0.0.0", "127.0.0.1")) as client,
    ):
        for method, path in (("GET", ""), ("GET", "recent"), ("POST", "pastes")):
            async with client.request(method, f"/inspect/{path}", data=b"<p>words") as answer:
                assert answer.status == 403
                assert reason in await answer.text()


async def test_the_token_is_asked_for_and_lets_other_names_in(live: Live) -> None:
    monitored = MonitoringSettings("0.0.0.0", 0, TOKEN)
    pages = inspector_pages(WorkerSettings(monitoring=monitored), DropLog("k:1", "dead"))
    async with (
        monitoring(monitored, live, lambda: None, inspector=pages) as address,
        aiohttp.ClientSession(address.replace("0.0.0.0", "127.0.0.1")) as client,
    ):
        for path in ("/inspect", "/inspect/", "/inspect/recent", "/inspect/static/inspect.js"):
            async with client.get(path) as answer:
                assert answer.status == 401
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": "worker.example.org"}
        async with client.get("/inspect/recent", headers=headers) as answer:
            assert answer.status == 200
