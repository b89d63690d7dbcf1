"""Which page of a file or of a topic is inspected."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, Skipped, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.inspection import pages
from dehusk.streams.inspection.inspection import open_inspector_pool
from dehusk.streams.inspection.pages import page_of_file, page_of_topic
from dehusk.streams.settings import KafkaSettings, PageLimits
from dehusk.streams.sources.registry import SourceSettings

URL = "https://example.org/a"
MIB = 1 << 20


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "pages.jsonl"
    found = [{"url": f"https://example.org/{name}", "id": name, "html": f"<p>{name}"} for name in "ab"]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in found))
    return file


@pytest.mark.parametrize(
    ("wanted", "html"), [(None, b"<p>a"), ("b", b"<p>b"), ("https://example.org/b", b"<p>b")]
)
def test_a_page_of_a_file_is_the_first_or_the_wanted_one(
    lines: Path, wanted: str | None, html: bytes
) -> None:
    page = page_of_file(lines, wanted, MIB)
    assert isinstance(page, RawPage)
    assert page.html == html


def test_a_page_that_is_not_there_is_named(lines: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"pages\.jsonl holds no page https://example\.org/c"):
        page_of_file(lines, "https://example.org/c", MIB)


def test_what_is_no_page_says_why(tmp_path: Path) -> None:
    file = tmp_path / "file.html"
    file.write_bytes(b"%PDF-1.4")
    assert isinstance(page_of_file(file, None, MIB), Skipped)
    file.write_bytes(b"<p>" + b"x" * 2 * MIB)
    assert isinstance(page_of_file(file, None, MIB), Broken)


def html_message(url: str, html: str, offset: int) -> Message:
    return Message(url.encode(), html.encode(), (("content-type", b"text/html"),), "raw", 0, offset)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch):
    """What is found of a URL in a topic of some messages, a second apart."""

    async def find(wanted: str, *messages: Message, source: str = "auto") -> object:
        async def read(*_: object) -> AsyncIterator[tuple[Message, int]]:
            for number, message in enumerate(messages):
                yield message, 1000 * number

        monkeypatch.setattr(pages, "read", read)
        async with open_inspector_pool(source, SourceSettings(), PageLimits()) as pool:
            return await page_of_topic(KafkaSettings(), "raw", wanted, pool)

    return find


async def test_the_newest_message_of_a_url_is_found(found) -> None:
    messages = [
        html_message(URL, "<p>old", 0),
        html_message(URL, "<p>new", 1),
        html_message(f"{URL}b", "<p>", 2),
    ]
    page = await found(URL, *messages)
    assert (page.url, page.html) == (URL, b"<p>new")


async def test_a_url_is_found_as_it_is_keyed(found) -> None:
    page = await found(" https://example.org/a b", html_message("https://example.org/a%20b", "<p>x", 0))
    assert page.html == b"<p>x"


@pytest.mark.parametrize("wanted", [URL, "an id"])
async def test_a_url_within_a_value_is_found(found, wanted: str) -> None:
    value = json.dumps({"url": URL, "id": "an id", "html": "<p>x"}).replace("/", "\\/").encode()
    page = await found(wanted, Message(None, value), source="json")
    assert page.html == b"<p>x"


async def test_a_url_that_a_page_only_links_to_is_not_found(found) -> None:
    linking = html_message("https://example.org/other", f"<a href={URL}>x</a>", 0)
    with pytest.raises(ConfigurationError, match="raw holds no page"):
        await found(URL, linking)


async def test_a_message_with_its_key_that_cannot_be_read_says_why(found) -> None:
    page = await found(URL, html_message(URL, "%PDF-1.4", 0))
    assert isinstance(page, Skipped)
    gone = await found(URL, html_message(URL, "<p>x", 0), Message(URL.encode(), None))
    assert isinstance(gone, Tombstone)
