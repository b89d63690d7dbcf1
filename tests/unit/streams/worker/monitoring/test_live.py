"""The record of a worker."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from dehusk.schemas.documents import Origin
from dehusk.schemas.outcomes import Skipped, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.drops import Drop
from dehusk.streams.monitoring.group import Group
from dehusk.streams.monitoring.messages import SharedDrops, SharedState, drops_record, state_record
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.worker.monitoring.live import MAX_CLIENTS, Feed, Live
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.results import CleanedMessage


async def test_it_records_for_as_long_as_it_runs(
    live: Live, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dehusk.streams.worker.monitoring.live.RECORD_SECONDS", 0.01)
    running = asyncio.create_task(live.run())
    monitor.metrics.count(CleanedMessage(Message(None, b"page"), [WrittenDocument(b"k", b"d", characters=2)]))
    while True:
        await asyncio.sleep(0.01)
        if state(live)["point"]["kept"] and state(live)["point"]["memory"]:
            break
    running.cancel()
    assert state(live)["state"]["counts"]["totals"]["pages"] == 1
    assert state(live)["point"]["kept"] == 0.5


def state(live: Live, of: str = "") -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(live._state_as_json(of))
    return found


def history(live: Live, of: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(live._history_as_json(of))
    return found


@pytest.fixture
def group() -> Group:
    return Group("g", "me")


@pytest.fixture
def member(monitor: Monitor, group: Group) -> Live:
    """A worker that knows its group."""
    return Live(monitor, group)


def tell(group: Group, worker: str, live: Live, page: str | None = None) -> None:
    shared = SharedState("host", page, live.state)
    record = state_record("g", worker, shared)
    group.handle(Message(record.key, record.value), int(1000 * time.time()))


def test_without_a_group_the_worker_alone_is_shown(live: Live) -> None:
    for of in ("", "group", "somebody"):
        assert (state(live, of)["of"], state(live, of)["group"]) == ("worker", None)
        assert history(live, of)["of"] == "worker"


def test_the_group_is_shown_once_something_is_known_of_it(member: Live, group: Group) -> None:
    assert state(member, "group")["of"] == "me"
    for worker in ("me", "other"):
        tell(group, worker, member)
    shown = state(member, "group")
    assert (shown["of"], shown["own"], shown["group"]["name"]) == ("group", "me", "g")
    assert [row["worker"] for row in shown["group"]["workers"]] == ["me", "other"]
    assert history(member, "group")["of"] == "group"


@pytest.mark.parametrize("wanted", ["me", "other"])
def test_a_worker_of_the_group_can_be_chosen(member: Live, group: Group, wanted: str) -> None:
    for worker in ("me", "other"):
        tell(group, worker, member)
    assert state(member, wanted)["of"] == history(member, wanted)["of"] == wanted
    assert bool(history(member, wanted)["points"]) == (wanted == "me")


@pytest.mark.parametrize("wanted", ["group", "me", "other"])
def test_examples_are_those_of_all_workers(member: Live, group: Group, wanted: str) -> None:
    skipped = Skipped(SkipReason.NOT_HTML, "image/png", "https://e.org/")
    member.monitor.drops.note(CleanedMessage(Message(None, b"", (), "raw", 3, 7), skipped=[skipped]))
    for worker in ("me", "other"):
        tell(group, worker, member)
    earlier = Drop(datetime(2026, 1, 1, tzinfo=UTC), Origin("raw", 0, 1), None, "by a worker that was killed")
    record = drops_record("g", SharedDrops(("skipped", "not-html"), (earlier,)))
    group.handle(Message(record.key, record.value), int(1000 * time.time()))
    shown = state(member, wanted)
    assert (shown["of"], list(shown["skipped"]), shown["dead_letters"]) == (wanted, ["not-html"], {})
    assert [each["source"]["offset"] for each in shown["skipped"]["not-html"]["latest"]] == [1, 7]


def test_a_worker_that_nobody_knows_is_none(member: Live, group: Group) -> None:
    tell(group, "me", member)
    for of in ("nobody", "", "<script>"):
        assert state(member, of)["of"] == "group"


def test_a_worker_that_hears_nothing_shows_itself(
    member: Live, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(group, "me", member)
    monkeypatch.setattr("dehusk.streams.monitoring.group.GONE_SECONDS", -1.0)
    shown = state(member, "group")
    assert shown["of"] == "me"
    assert shown["group"]["silent_since"] <= time.time()


class Source:
    """States of a size that no buffer holds many of, which tell how many there have been."""

    def __init__(self) -> None:
        self.number = 0
        self.size = 10
        self.wanted: list[str] = []
        """Of whom it was asked."""

    def history(self, of: str) -> bytes:
        self.wanted.append(of)
        return b"[1,2]"

    def state(self, of: str) -> bytes:
        self.wanted.append(of)
        return orjson.dumps({"number": self.number, "filling": "x" * self.size})


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def feed(source: Source) -> Feed:
    return Feed(source.history, source.state)


@pytest.fixture
async def runner(feed: Feed) -> AsyncIterator[web.AppRunner]:
    async def close(_: web.Application) -> None:
        feed.close()

    application = web.Application()
    application.router.add_get("/", feed.serve)
    application.on_shutdown.append(close)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner
    await runner.cleanup()


@pytest.fixture
async def session(runner: web.AppRunner) -> AsyncIterator[aiohttp.ClientSession]:
    host, port = runner.addresses[0][:2]
    async with aiohttp.ClientSession(
        f"http://{host}:{port}", connector=aiohttp.TCPConnector(limit=0), read_bufsize=1 << 12
    ) as session:
        yield session


async def event(answer: aiohttp.ClientResponse) -> tuple[bytes, bytes]:
    """The name and the data of the next event."""
    text = await answer.content.readuntil(b"\n\n")
    name, data = text.rstrip(b"\n").split(b"\n")
    return name.removeprefix(b"event: "), data.removeprefix(b"data: ")


async def number(answer: aiohttp.ClientResponse) -> int:
    name, data = await event(answer)
    assert name == b"state"
    return int(orjson.loads(data)["number"])


async def until(holds: Callable[[], bool], meanwhile: Callable[[], None] = lambda: None) -> None:
    while True:
        meanwhile()
        await asyncio.sleep(0.01)
        if holds():
            return


async def test_a_client_gets_the_history_and_then_states(
    session: aiohttp.ClientSession, feed: Feed, source: Source
) -> None:
    async with session.get("/") as answer:
        assert answer.content_type == "text/event-stream"
        assert await event(answer) == (b"history", b"[1,2]")
        assert await number(answer) == 0
        source.number = 1
        feed.publish()
        assert await number(answer) == 1


async def test_a_state_is_made_once_for_all_clients(
    session: aiohttp.ClientSession, feed: Feed, source: Source
) -> None:
    async with session.get("/") as one, session.get("/") as other:
        await event(one)
        assert await number(one) == 0
        source.number = 1
        await event(other)
        assert await number(other) == 0


async def test_clients_say_whom_they_want_to_see(session: aiohttp.ClientSession, source: Source) -> None:
    async with session.get("/?of=b%20c") as one, session.get("/?of=d") as other:
        for answer in (one, other, one, other):
            await event(answer)
    assert sorted(source.wanted) == ["b c", "b c", "d", "d"]


async def test_a_slow_client_misses_states_and_then_gets_the_newest(
    runner: web.AppRunner, feed: Feed, source: Source
) -> None:
    host, port = runner.addresses[0][:2]
    source.size = 200_000
    reader, writer = await asyncio.open_connection(host, port, limit=1 << 12)
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    await reader.readuntil(b"[1,2]\n\n")
    for source.number in range(1, 301):
        feed.publish()
        for _ in range(5):
            await asyncio.sleep(0)
    received = b""
    while b'"number":300,' not in received[-2 * source.size :]:
        received += await reader.read(1 << 20)
    writer.close()
    await writer.wait_closed()
    numbers = [int(number) for number in re.findall(rb'"number":(\d+)', received)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) < 150


async def test_more_clients_than_that_are_turned_away(session: aiohttp.ClientSession, feed: Feed) -> None:
    answers = [await session.get("/") for _ in range(MAX_CLIENTS)]
    async with session.get("/") as refused:
        assert refused.status == 503
        assert refused.headers["Retry-After"] == "10"
    answers[0].close()
    await until(lambda: len(feed) < MAX_CLIENTS, feed.publish)
    async with session.get("/") as answer:
        assert answer.status == 200
    for answer in answers:
        answer.close()


async def test_a_client_that_does_not_read_is_disconnected(
    session: aiohttp.ClientSession, feed: Feed, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dehusk.streams.worker.monitoring.live.STUCK_SECONDS", 0.2)
    source.size = 30_000_000
    async with session.get("/"):
        await until(lambda: len(feed) == 0)


async def test_the_end_of_the_server_ends_all_clients(
    session: aiohttp.ClientSession, runner: web.AppRunner, feed: Feed
) -> None:
    async with session.get("/") as answer:
        await event(answer)
        async with asyncio.timeout(30):  # aiohttp waits for a minute for what does not end
            await runner.cleanup()
    assert len(feed) == 0
