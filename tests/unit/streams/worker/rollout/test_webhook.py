"""Webhook of a group, on a real HTTP server."""

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest
from aiohttp import web

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Part, Scope
from dehusk.schemas.trials import WorkerReport
from dehusk.streams.rollout.control import ControlKey
from dehusk.streams.rollout.steps import STALLED
from dehusk.streams.rollout.transitions import (
    first_state,
    pause,
    promote,
    with_canary,
    with_steps,
    without_version,
)
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.process import running
from dehusk.streams.worker.rollout import webhook as module
from dehusk.streams.worker.rollout.steering import StateReader
from dehusk.streams.worker.rollout.webhook import Event, GoneWorkers, Webhook, changed

SCOPE = Scope("m", "group")
NOW = 1_800_000_000.0
EVENT = {"event": "version-taken-back", "id": "1"}


class Receiver:
    """A server that answers with the statuses that it is given, then with 200."""

    def __init__(self, port: int) -> None:
        self.url = f"http://ada:secret1@127.0.0.1:{port}/secret2?token=secret3"
        self.statuses: list[int] = []
        self.got: list[dict[str, object]] = []

    async def take(self, request: web.Request) -> web.Response:
        assert request.content_type == "application/json"
        self.got.append(orjson.loads(await request.read()))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


@pytest.fixture
async def receiver(free_port: int) -> AsyncIterator[Receiver]:
    made = Receiver(free_port)
    app = web.Application()
    app.router.add_post("/secret2", made.take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", free_port).start()
    yield made
    await runner.cleanup()


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0))


async def sent(url: str, *events: Event) -> None:
    webhook = Webhook(url)
    for event in events:
        webhook.send(event)
    async with running(webhook.run):
        await asyncio.wait_for(webhook._waiting.join(), 60)


@pytest.mark.parametrize("status", [500, 429])
async def test_an_event_is_posted_until_it_is_taken(receiver: Receiver, status: int) -> None:
    receiver.statuses = [status, status]
    await sent(receiver.url, EVENT)
    assert receiver.got == [EVENT, EVENT, EVENT]


@pytest.mark.parametrize(("statuses", "attempts"), [([404], 1), ([302], 1), ([500, 500, 500], 3)])
async def test_an_event_that_is_not_taken_is_logged_without_a_secret(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, statuses: list[int], attempts: int
) -> None:
    receiver.statuses = statuses
    caplog.set_level("DEBUG")
    last = statuses[-1]
    await sent(receiver.url, EVENT, {**EVENT, "id": "2"})
    assert [each["id"] for each in receiver.got] == [*attempts * ["1"], "2"]
    assert f"was not told of version-taken-back: status {last}" in caplog.text
    assert "secret" not in caplog.text


async def test_a_server_that_is_away_is_logged_without_a_secret(
    free_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await sent(Receiver(free_port).url, EVENT)
    assert f"http://127.0.0.1:{free_port} was not told of version-taken-back" in caplog.text
    assert "secret" not in caplog.text


def test_a_host_is_named_as_it_is_given_without_a_secret() -> None:
    assert Webhook("https://ada:secret@[2001:db8::1]:8443/secret").host == "https://[2001:db8::1]:8443"
    assert Webhook("http://alerts.example/secret").host == "http://alerts.example"


async def test_events_that_wait_are_bounded(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    await sent(receiver.url, *(25 * [EVENT]))
    assert len(receiver.got) == 20
    assert caplog.text.count("is too slow") == 5


async def test_at_the_end_what_waits_is_sent_but_not_for_long(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = Webhook(receiver.url)
    async with running(webhook.run):
        webhook.send(EVENT)
        await webhook.close()
    assert receiver.got == [EVENT]
    webhook.send(EVENT)
    monkeypatch.setattr(module, "_CLOSE_SECONDS", 0.01)
    await webhook.close()
    assert "has not taken all events" in caplog.text


def test_a_version_that_is_taken_back_is_told_with_its_reason() -> None:
    canary = with_canary(promote(first_state("7", "me"), "7", "me"), Part("8", 0.1), "me")
    state = without_version(canary, "8", "host-1", "version 8 taken back, latency: slow")
    assert state is not None
    event = changed(SCOPE, state)
    assert event["event"] == "version-taken-back"
    assert event["text"] == "model m in group group: version 8 taken back, latency: slow; version 7 serves"
    assert (event["id"], event["version"], event["serving"], event["by"]) == ("m/group/3", "8", "7", "host-1")


def test_a_promotion_that_is_stalled_is_told_with_its_reason() -> None:
    stepped = with_steps(promote(first_state("7", "me"), "7", "me"), "8", (0.1,), 600.0, "me")
    event = changed(SCOPE, pause(stepped, "host-1", f"{STALLED}: no pages"))
    assert (event["event"], event["version"], event["serving"]) == ("promotion-stalled", "8", "7")
    assert event["text"] == "model m in group group: steps paused, stalled: no pages; version 7 serves"


class Group:
    """Workers a and b, which look for gone ones, and c, which reported last 100 seconds ago."""

    def __init__(self) -> None:
        self.reader = StateReader(KafkaSettings(), "control", SCOPE)
        self.told: list[Event] = []
        self.removed: list[ControlKey] = []
        self.failure: Exception | None = None
        for name, age in (("a", 0), ("b", 0), ("c", 100)):
            self.report(name, NOW - age)
        self.first, self.second = (
            GoneWorkers(self.reader, name, self.remove, self.told.append) for name in ("a", "b")
        )

    def report(self, name: str, at: float, *, is_gone: bool = False) -> None:
        key = ControlKey(SCOPE, name)
        value = None if is_gone else WorkerReport(name, 1, "7").encode()
        self.reader.following._handle(Message(key.encode(), value), int(1000 * at))

    async def remove(self, key: ControlKey) -> None:
        if self.failure:
            raise self.failure
        self.removed.append(key)
        self.report(key.worker or "", 0, is_gone=True)

    async def pass_time(self, finder: GoneWorkers, *, until: int) -> None:
        """Have a worker look every ten seconds, at which both report."""
        for second in range(0, until + 1, 10):
            for name in ("a", "b"):
                self.report(name, NOW + second)
            await finder.look(NOW + second)


@pytest.fixture
def group() -> Group:
    return Group()


async def test_a_worker_that_reports_no_more_is_told_once(group: Group) -> None:
    await group.pass_time(group.first, until=30)
    assert group.told == []
    await group.pass_time(group.first, until=50)
    assert [(each["event"], each["worker"], each["by"]) for each in group.told] == [("worker-gone", "c", "a")]
    await group.pass_time(group.second, until=60)
    assert (len(group.told), group.removed) == (1, [ControlKey(SCOPE, "c")])


async def test_another_worker_tells_it_later_if_the_first_one_does_not(group: Group) -> None:
    await group.pass_time(group.second, until=30)
    await group.second.look(NOW + 34)
    assert group.told == []
    await group.second.look(NOW + 36)
    assert [each["by"] for each in group.told] == ["b"]


async def test_a_worker_that_was_cut_off_itself_lets_others_report_first(group: Group) -> None:
    await group.pass_time(group.first, until=20)
    await group.first.look(NOW + 100)
    await group.first.look(NOW + 200)
    assert group.told == []


async def test_what_cannot_be_noted_is_told_when_it_can(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    group.failure = UnavailableError("away")
    await group.pass_time(group.first, until=50)
    assert (group.told, "cannot be noted: away" in caplog.text) == ([], True)
    group.failure = None
    await group.first.look(NOW + 50)
    assert len(group.told) == 1
