"""The inspector as it is served."""

import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from hashlib import sha256

import aiohttp
import pytest
from selectolax.lexbor import LexborHTMLParser

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.inspection.server import application, html
from dehusk.streams.web.local_pages import serving

PAGE = b"<title>T</title><p>Some words of a page that is inspected</p><p>and others of it"


@pytest.fixture
async def client(inspecting) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        inspecting(PAGE) as inspection,
        serving(application(inspection, "127.0.0.1"), "127.0.0.1", 0) as address,
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
        with pytest.raises(ConfigurationError, match=f":{base.port}: .*another port"):
            async with serving(application(inspection, "127.0.0.1"), "127.0.0.1", base.port or 0):
                pass


TRICKS = [
    "</script><script>alert(1)</script>",
    "<!--",
    "<script",
    "]]>",
    "\u2028\x00\ud800",
    "&lt;",
    "%%script%%",
]
EMPTY = html("{}", ["{}"], is_served=False)


def skeleton(written: str) -> list[tuple[str, dict[str, str | None]]]:
    """All elements with their attributes."""
    root = LexborHTMLParser(written).root
    assert root is not None
    return [(str(node.tag), dict(node.attributes)) for node in root.css("*")]


def data(written: str, name: str) -> object:
    node = LexborHTMLParser(written).css_first(f"#{name}")
    assert node is not None
    return json.loads(node.text(deep=True))


@pytest.mark.parametrize("trick", TRICKS)
def test_whatever_a_page_says_is_data(trick: str) -> None:
    page, view = {"title": trick, trick: [trick]}, {"text": [[trick, 0]]}
    written = html(json.dumps(page), [json.dumps(view)], is_served=False)
    assert skeleton(written) == skeleton(EMPTY)
    assert (data(written, "page-data"), data(written, "view-data")) == (page, [view])


async def test_a_hostile_page_adds_no_element(inspecting, hostile: bytes) -> None:
    async with inspecting(hostile) as inspection:
        page, views = inspection.page, [await inspection.first_view()]
    written = html(page, views, is_served=False)
    assert skeleton(written) == skeleton(EMPTY)
    assert data(written, "page-data") == json.loads(page)
    texts = [block["text"] for block in json.loads(page)["blocks"]]
    assert "</script><script>alert(4)</script> <!-- bold" in texts
    assert not any("\x00" in text for text in texts)


async def test_ten_thousand_blocks_are_shown(inspecting) -> None:
    page = "".join(f"<p>Paragraph {number} &lt;script>" for number in range(10_000)).encode()
    async with inspecting(page) as inspection:
        written = html(inspection.page, [await inspection.first_view()], is_served=False)
    assert skeleton(written) == skeleton(EMPTY)
    shown, (view,) = data(written, "page-data"), data(written, "view-data")
    assert [block["text"] for block in shown["blocks"]] == [f"Paragraph {n} <script>" for n in range(10_000)]
    assert len(view["kinds"]) == 10_000
    assert shown["original"].count('class="dehusk-block-') == 10_000


@pytest.mark.parametrize("how", ["served", "written"])
def test_the_policy_lets_the_one_script_run_and_nothing_load(how: str) -> None:
    written = html("{}", ["{}"], is_served=how == "served")
    parsed = LexborHTMLParser(written)
    policy = parsed.css_first("meta[http-equiv]").attributes["content"] or ""
    scripts = [node for node in parsed.css("script") if "type" not in node.attributes]
    (digest,) = [b64encode(sha256(node.text(deep=True).encode()).digest()).decode() for node in scripts]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("connect-src", "'none'") == ("'self'" if how == "served" else "'none'")
    assert rules == {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest}'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_script_makes_no_markup_of_texts() -> None:
    script = LexborHTMLParser(EMPTY).css("script")[-1].text(deep=True)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script
    )
    assert re.findall(r'setAttribute\("sandbox", ("[^"]*")\)', script) == ['"allow-same-origin"']
    assert script.count("srcdoc") == 1
