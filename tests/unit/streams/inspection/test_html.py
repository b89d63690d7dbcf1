"""The inspector as one file: hostile pages are nothing but data in it."""

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest
from selectolax.lexbor import LexborHTMLParser

from dehusk.streams.inspection.html import html

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
    assert re.findall(r'setAttribute\("sandbox", ("[^"]*")\)', script) == ['""']
    assert script.count("srcdoc") == 1
