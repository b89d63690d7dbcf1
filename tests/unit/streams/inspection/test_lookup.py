"""Lookup of the inspected message in the topics of a worker."""

import gzip
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import orjson
import pytest

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.inspection import lookup as module
from dehusk.streams.inspection.inspection import open_inspector_pool
from dehusk.streams.inspection.lookup import (
    Lookup,
    describe_message,
    find_newest,
    page_in,
    page_of_file,
    page_of_topic,
)
from dehusk.streams.kafka.raw_messages import RawMessages
from dehusk.streams.kafka.reader import Reader
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.preparation.steps import Postponed
from dehusk.streams.settings import KafkaSettings, TopicSettings, ValueFormat
from dehusk.streams.sources.warc import write_warc
from dehusk.streams.topics.dead_letters import dead_letter
from dehusk.streams.topics.value_formats import framed_format
from dehusk.streams.worker_settings import WorkerSettings
from tests.documents import FULL

RAW = Message(b"https://example.org/a", b"<p>words", (("content-type", b"text/html"),), "raw-pages", 3, 41)
TOPICS = TopicSettings()
URL = "https://example.org/a"


class Held:
    """Kafka, which holds some messages."""

    def __init__(self, *messages: Message) -> None:
        self._messages = {(each.topic, each.partition, each.offset): each for each in messages}

    async def read(self, origin: Origin) -> Message | None:
        return self._messages.get((origin.topic, origin.partition, origin.offset))


def lookup(*messages: Message, topics: TopicSettings = TOPICS) -> Lookup:
    return Lookup(KafkaSettings(), topics, cast("RawMessages", Held(*messages)))


def letter(message: Message, value: bytes | None) -> Message:
    record = dead_letter(message, Broken(BrokenReason.TOO_MANY_BLOCKS, "many"), "prepare")
    return Message(record.key, value, record.headers, TOPICS.dead_letters, 0, 5)


def document(source: object) -> Message:
    return Message(b"k", orjson.dumps({"source": source}), (), TOPICS.output, 1, 9)


async def test_a_message_of_the_input_is_read() -> None:
    assert await lookup(RAW).message_at(Origin("raw-pages", 3, 41)) is RAW
    pattern = TopicSettings(input="^raw-")
    assert await lookup(RAW, topics=pattern).message_at(Origin("raw-pages", 3, 41)) is RAW


async def test_a_dead_letter_is_the_message_that_failed() -> None:
    found = await lookup(letter(RAW, RAW.value)).message_at(Origin(TOPICS.dead_letters, 0, 5))
    assert found == RAW


async def test_a_document_leads_to_its_message() -> None:
    of_document = document({"topic": "raw-pages", "partition": 3, "offset": 41})
    assert await lookup(RAW, of_document).message_at(Origin(TOPICS.output, 1, 9)) is RAW


async def test_a_document_in_protobuf_leads_to_its_message() -> None:
    written = replace(FULL, source=Origin("raw-pages", 3, 41))
    form = framed_format(ValueFormat.PROTOBUF, 7)
    headers = (("content-type", form.content_type.encode()),)
    held = Message(b"k", form.write(written), headers, TOPICS.output, 1, 9)
    assert await lookup(RAW, held).message_at(Origin(TOPICS.output, 1, 9)) is RAW


async def test_a_document_in_avro_asks_for_the_registry() -> None:
    form = framed_format(ValueFormat.AVRO, 7)
    headers = (("content-type", form.content_type.encode()),)
    held = Message(b"k", form.write(FULL), headers, TOPICS.output, 1, 9)
    with pytest.raises(ConfigurationError, match="give --schema-registry"):
        await lookup(RAW, held).message_at(Origin(TOPICS.output, 1, 9))


@pytest.mark.parametrize(
    ("position", "held", "said"),
    [
        (Origin("secrets", 0, 0), [], "neither reads nor writes pages at secrets"),
        (Origin("raw-pages", 0, 0), [], "no message at raw-pages/0/0"),
        (Origin(TOPICS.dead_letters, 0, 5), [letter(RAW, None)], "too large: try raw-pages/3/41"),
        (Origin("dead-letters", 0, 5), [Message(b"", b"", (), "dead-letters", 0, 5)], "no dead letter"),
        (Origin(TOPICS.output, 1, 9), [document(None)], "does not say where its message is"),
        (
            Origin(TOPICS.output, 1, 9),
            [document({"topic": 7, "partition": 0, "offset": 0})],
            "does not say where its message is",
        ),
        (Origin(TOPICS.output, 1, 9), [Message(b"k", None, (), TOPICS.output, 1, 9)], "does not say where"),
        (
            Origin(TOPICS.output, 1, 9),
            [document({"topic": "secrets", "partition": 0, "offset": 0})],
            "secrets/0/0, which is no input",
        ),
    ],
)
async def test_what_is_no_message_of_the_worker_is_refused(
    position: Origin, held: Sequence[Message], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        await lookup(*held).message_at(position)


class Decoding:
    """A pool that gives one answer."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    async def answer_alone(self, _: object) -> object:
        return self._answer


async def found(answer: object, url: str | None) -> object:
    return await page_in(RAW, url, cast("PreparationPool", Decoding(answer)))


async def test_the_page_of_a_url_is_taken_of_several() -> None:
    image = Skipped(SkipReason.NOT_HTML, "an image", "https://example.org/i")
    pages = (image, RawPage("https://example.org/a", b""), RawPage("https://example.org/b", b""))
    assert await found(pages, "https://example.org/b") is pages[2]
    assert await found(pages, "https://example.org/i") is image
    assert await found(pages, None) is pages[1]
    assert await found((image,), "another") is image
    with pytest.raises(ConfigurationError, match="the message holds no page https"):
        await found(pages, "https://example.org/c")


async def test_a_message_that_cannot_be_decoded_is_its_own_answer() -> None:
    broken = Broken(BrokenReason.TIME_BUDGET_EXCEEDED, "late")
    assert await found(broken, None) is broken
    with pytest.raises(UnavailableError, match="registry"):
        await found(Postponed("the registry does not answer"), None)


class Documents:
    """A reader of many documents of one partition."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = keys
        self.asked: list[int] = []

    async def offsets(self) -> dict[object, int]:
        return {0: len(self._keys)}

    async def newest(self, count: int) -> AsyncIterator[tuple[Message, int]]:
        self.asked.append(count)
        for offset, key in list(enumerate(self._keys))[-count:]:
            yield Message(key, b"", (), "out", 0, offset), offset


async def test_the_newest_document_is_found_without_reading_all() -> None:
    reader = Documents([b"a", *[b"x"] * 5_000, b"a", b"b", b"b", *[b"x"] * 2_000])
    newest = await find_newest(cast("Reader", reader), lambda message: message.key == b"b")
    assert newest is not None
    assert (newest.offset, reader.asked) == (5003, [1_000, 10_000])
    assert await find_newest(cast("Reader", reader), lambda message: message.key == b"c") is None


class Written:
    """A reader of what the worker wrote, a second apart."""

    def __init__(self, *messages: Message) -> None:
        self._messages = messages

    async def offsets(self) -> dict[object, int]:
        return {0: len(self._messages)}

    async def newest(self, count: int) -> AsyncIterator[tuple[Message, int]]:
        for number, message in list(enumerate(self._messages))[-count:]:
            yield message, 1000 * number


@pytest.fixture
def found_of(monkeypatch: pytest.MonkeyPatch):
    """Look a URL up in what the worker wrote, and in the raw messages of its input."""

    async def find(url: str, *written: Message, raw: Sequence[Message] = ()) -> Message:
        @asynccontextmanager
        async def open_topics(_: KafkaSettings, *names: str) -> AsyncIterator[Written]:
            assert names == (TOPICS.output, TOPICS.dead_letters)
            yield Written(*written)

        monkeypatch.setattr(module, "open_topics", open_topics)
        return await lookup(*raw).message_of(url)

    return find


STATED = Message(None, b"{}", (), "raw-pages", 2, 7)
"""A message whose own key and headers tell no URL."""


def stated_letter() -> Message:
    record = dead_letter(STATED, Broken(BrokenReason.TOO_MANY_BLOCKS, "many", URL), "prepare")
    return Message(record.key, record.value, record.headers, TOPICS.dead_letters, 0, 6)


async def test_a_url_leads_to_the_newest_document_or_dead_letter(found_of) -> None:
    of_document = Message(
        URL.encode(),
        orjson.dumps({"source": {"topic": "raw-pages", "partition": 3, "offset": 40}}),
        (),
        TOPICS.output,
        1,
        9,
    )
    older = Message(RAW.key, b"<p>old", RAW.headers, "raw-pages", 3, 40)
    assert await found_of(URL, of_document, letter(RAW, RAW.value), raw=[older]) == RAW
    assert await found_of(URL, letter(RAW, RAW.value), of_document, raw=[older]) is older
    assert await found_of(URL, stated_letter()) == STATED
    assert await found_of(URL, letter(RAW, None), raw=[RAW]) is RAW
    mark = Message(b"dead-letters/0/5", b"", (), TOPICS.dead_letters, 0, 8)
    with pytest.raises(ConfigurationError, match="neither cleaned-documents nor dead-letters holds"):
        await found_of(f"{URL}/none", of_document, letter(RAW, RAW.value), mark)


def test_a_message_without_a_page_is_described() -> None:
    assert describe_message(RAW) == (
        "raw-pages/3/41 has the key b'https://example.org/a', headers content-type, "
        "and 8 bytes that begin with b'<p>words'"
    )
    assert describe_message(Message(None, None, (), "raw-pages", 0, 1)) == (
        "raw-pages/0/1 has no key, no headers, and 0 bytes"
    )


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


def test_records_that_are_no_pages_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "crawl.warc.gz"
    record = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 2\r\n\r\nab\r\n\r\n"
    file.write_bytes(gzip.compress(record))
    assert isinstance(page_of_file(file, None, MIB), Skipped)
    with file.open("ab") as archive:
        write_warc(RawPage("https://example.org/a", b"<p>a"), archive)
    page = page_of_file(file, None, MIB)
    assert isinstance(page, RawPage)
    assert page.html == b"<p>a"


def test_a_page_that_is_not_there_is_named(lines: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no page https://example\.org/c"):
        page_of_file(lines, "https://example.org/c", MIB)


def test_the_page_of_an_index_is_read_where_its_row_points(tmp_path: Path) -> None:
    with (tmp_path / "a.warc.gz").open("wb") as archive:
        write_warc(RawPage("https://example.org/a", b"<p>a"), archive)
    index = tmp_path / "index.jsonl"
    row = {"url": "https://example.org/a", "warc_filename": "a.warc.gz", "warc_record_offset": 0}
    index.write_bytes(orjson.dumps(row))
    page = page_of_file(index, None, MIB, tmp_path)
    assert isinstance(page, RawPage)
    assert page.html == b"<p>a"


def test_what_is_no_page_says_why(tmp_path: Path) -> None:
    file = tmp_path / "file.html"
    file.write_bytes(b"%PDF-1.4")
    assert isinstance(page_of_file(file, None, MIB), Skipped)
    file.write_bytes(b"<p>" + b"x" * 2 * MIB)
    assert isinstance(page_of_file(file, None, MIB), Broken)


def html_message(url: str, html: str, offset: int) -> Message:
    return Message(url.encode(), html.encode(), (("content-type", b"text/html"),), "raw", 0, offset)


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch):
    """Look a URL up in a topic of some messages, a second apart."""

    async def find(wanted: str, *messages: Message, source: str = "auto") -> object:
        async def read(*_: object) -> AsyncIterator[tuple[Message, int]]:
            for number, message in enumerate(messages):
                yield message, 1000 * number

        monkeypatch.setattr(module, "read", read)
        async with open_inspector_pool(WorkerSettings(source=source)) as pool:
            return await page_of_topic(KafkaSettings(), "raw", wanted, pool)

    return find


async def test_the_newest_message_of_a_url_is_found(newest) -> None:
    messages = [
        html_message(URL, "<p>old", 0),
        html_message(URL, "<p>new", 1),
        html_message(f"{URL}b", "<p>", 2),
    ]
    page = await newest(URL, *messages)
    assert (page.url, page.html) == (URL, b"<p>new")


async def test_a_url_is_found_as_it_is_keyed(newest) -> None:
    page = await newest(" https://example.org/a b", html_message("https://example.org/a%20b", "<p>x", 0))
    assert page.html == b"<p>x"


@pytest.mark.parametrize("wanted", [URL, "an id"])
async def test_a_url_within_a_value_is_found(newest, wanted: str) -> None:
    value = json.dumps({"url": URL, "id": "an id", "html": "<p>x"}).replace("/", "\\/").encode()
    page = await newest(wanted, Message(None, value), source="json")
    assert page.html == b"<p>x"


@pytest.mark.parametrize("wanted", ["https://example.org/?a=1&b=2", "https://example.org/café"])
async def test_a_url_is_found_however_json_escapes_it(newest, wanted: str) -> None:
    value = json.dumps({"url": wanted, "html": "<p>x"}).replace("&", "\\u0026").encode()
    page = await newest(wanted, Message(None, value), source="json")
    assert page.html == b"<p>x"


async def test_a_url_that_a_page_only_links_to_is_not_found(newest) -> None:
    linking = html_message("https://example.org/other", f"<a href={URL}>x</a>", 0)
    with pytest.raises(ConfigurationError, match="raw holds no page"):
        await newest(URL, linking)


async def test_a_message_with_its_key_that_cannot_be_read_says_why(newest) -> None:
    page = await newest(URL, html_message(URL, "%PDF-1.4", 0))
    assert isinstance(page, Skipped)
    gone = await newest(URL, html_message(URL, "<p>x", 0), Message(URL.encode(), None))
    assert isinstance(gone, Tombstone)
