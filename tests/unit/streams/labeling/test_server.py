"""The labeling tool as it is served."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.labeling.labels_file import read_labels_file
from dehusk.streams.labeling.server import application
from dehusk.streams.web.local_pages import serving

PAGE = RawPage("https://example.org/a", b"<title>T</title><p>Some words<p>and others", "</script><b>a")
BROKEN = Broken(BrokenReason.PAGE_TOO_LARGE, "2 bytes", "https://example.org/b")
LABELS = {"labels": [1, 0], "revision": ""}


@pytest.fixture
async def client(labeling) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        labeling([PAGE, BROKEN]) as session,
        serving(application(session, "127.0.0.1"), "127.0.0.1", 0) as address,
        aiohttp.ClientSession(address) as client,
    ):
        yield client


async def test_the_tool_comes_with_its_policy(client: aiohttp.ClientSession) -> None:
    async with client.get("/") as answer:
        headers, text = answer.headers, await answer.text()
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("connect-src 'self'; frame-ancestors 'none'")
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
    assert "\\u003c/script\\u003e\\u003cb\\u003ea" in text
    assert "</script><b>a" not in text
    assert "%%" not in text


async def test_labels_are_saved(client: aiohttp.ClientSession, labels_path: Path) -> None:
    async with client.post("/pages/0/labels", json=LABELS) as answer:
        assert (answer.status, (await answer.json())["state"]) == (200, "labeled")
    assert read_labels_file(labels_path)[PAGE.id or ""].labels == (1, 0)
    async with client.get("/pages/0") as answer:
        assert (await answer.json())["labels"] == [1, 0]


async def test_suggestions_follow_labels(client: aiohttp.ClientSession) -> None:
    async with client.post("/pages/0/suggestions", json={"labels": [1, None]}) as answer:
        suggestions = (await answer.json())["suggestions"]
    assert len(suggestions) == 2


@pytest.mark.parametrize(
    ("path", "asked", "refusal"),
    [
        ("/pages/0/labels", {"labels": [1]}, (400, "a list of 2 times")),
        *(
            (f"/pages/0/{path}", {"labels": [1, label]}, (400, "$.labels[1]"))
            for label in (2, -1, True, "1", [1], 1.5, 1.0)
            for path in ("labels", "suggestions")
        ),
        ("/pages/0/labels", {"labels": "x"}, (400, "$.labels")),
        ("/pages/0/labels", {"revision": ""}, (400, "`labels`")),
        ("/pages/0/labels", [], (400, "object")),
        ("/pages/0/labels", {**LABELS, "revision": 1}, (400, "$.revision")),
        ("/pages/0/labels", {**LABELS, "revision": "x"}, (409, "in another window")),
        ("/pages/1/labels", LABELS, (422, "page-too-large: 2 bytes")),
        ("/pages/1/suggestions", LABELS, (422, "page-too-large: 2 bytes")),
        ("/pages/2/labels", LABELS, (404, "")),
    ],
)
async def test_what_cannot_be_saved_says_why(
    client: aiohttp.ClientSession, labels_path: Path, path: str, asked: object, refusal: tuple[int, str]
) -> None:
    async with client.post(path, json=asked) as answer:
        assert answer.status == refusal[0]
        assert refusal[1] in await answer.text()
    assert read_labels_file(labels_path) == {}


async def test_what_is_nested_too_deeply_says_so(client: aiohttp.ClientSession) -> None:
    nested, headers = b'{"more":' + b"[" * 100_000, {"Content-Type": "application/json"}
    async with client.post("/pages/0/labels", data=nested, headers=headers) as answer:
        assert (answer.status, await answer.text()) == (400, "the request is nested too deeply")


async def test_a_file_that_is_gone_says_so(client: aiohttp.ClientSession, lose_labels) -> None:
    lose_labels()
    async with client.post("/pages/0/labels", json=LABELS) as answer:
        assert answer.status == 503
        assert "is gone" in await answer.text()


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json", "Origin": "http://evil.test"},
        {"Content-Type": "application/json", "Origin": "null"},
    ],
)
async def test_other_pages_cannot_save(
    client: aiohttp.ClientSession, labels_path: Path, headers: dict[str, str]
) -> None:
    async with client.post("/pages/0/labels", data=json.dumps(LABELS), headers=headers) as answer:
        assert answer.status == 403
    assert read_labels_file(labels_path) == {}


@pytest.mark.parametrize(("host", "status"), [("localhost:1", 200), ("evil.test:80", 421), ("", 421)])
async def test_another_site_cannot_have_its_name_lead_here(
    client: aiohttp.ClientSession, host: str, status: int
) -> None:
    async with client.get("/", headers={"Host": host}) as answer:
        assert answer.status == status


@pytest.mark.parametrize("path", ["/pages/2", "/pages/x", "/pages/-1", "/labels.jsonl", "/fine-tuning"])
async def test_nothing_else_is_served(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path) as answer:
        assert answer.status == 404
