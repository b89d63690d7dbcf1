"""Records of a worker on the topic of its group."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from aiokafka.errors import KafkaConnectionError, TopicAuthorizationFailedError

from dehusk.schemas.documents import Origin
from dehusk.schemas.outcomes import Skipped, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.drops import Drop
from dehusk.streams.monitoring.group import Group
from dehusk.streams.monitoring.history import SLOTS, slot_of
from dehusk.streams.monitoring.messages import SharedDrops, drops_record, read_shared
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.monitoring.sharing import Sharing, name_worker, page_address
from dehusk.streams.worker.results import CleanedMessage


class Producer:
    """Keeps what it is given, or refuses it for as long as the test says."""

    def __init__(self) -> None:
        self.records: list[Message] = []
        self.error: Exception | None = None
        self.trials = 0

    async def send(self, topic: str, value: Any, key: bytes, *_: object, **__: object) -> Any:
        self.trials += 1
        sent = asyncio.get_running_loop().create_future()
        if self.error is None:
            self.records.append(Message(key, value if isinstance(value, bytes) else None, (), topic))
            sent.set_result(None)
        else:
            sent.set_exception(self.error)
        return sent

    def names(self) -> list[list[object]]:
        return [orjson.loads(each.key or b"") for each in self.records]


@pytest.fixture
def group() -> Group:
    return Group("g", "me")


@pytest.fixture
def live(monitor: Monitor, group: Group) -> Live:
    return Live(monitor, group)


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Producer:
    monkeypatch.setattr("dehusk.streams.worker.monitoring.sharing.SHARE_SECONDS", 0.001)
    monkeypatch.setattr("dehusk.streams.worker.monitoring.sharing.DROPS_SECONDS", 0.0)
    return Producer()


@pytest.fixture
def sharing(producer: Producer, group: Group, live: Live, caught_up: asyncio.Event) -> Sharing:
    kafka = KafkaSettings()
    page = "http://h:1/"
    return Sharing(producer, kafka, "figures", group, live, page=page, caught_up=caught_up)  # type: ignore[arg-type]


@pytest.fixture
def caught_up() -> asyncio.Event:
    return asyncio.Event()


async def run_until(sharing: Sharing, holds: Callable[[], bool]) -> None:
    running = asyncio.create_task(sharing.run())
    while not holds():
        assert not running.done()
        await asyncio.sleep(0.001)
    running.cancel()


def at(monkeypatch: pytest.MonkeyPatch, live: Live, *times: float) -> None:
    """Record at these times."""
    for each in times:
        monkeypatch.setattr("dehusk.streams.worker.monitoring.live.time.time", lambda each=each: each)
        live.record()


async def test_it_tells_its_state_again_and_again_and_each_point_once(
    sharing: Sharing, producer: Producer, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = slot_of(live.points[0].time) + 100  # of another key than that of the fixture's point
    at(monkeypatch, live, 10 * later, 10 * later + 11, 10 * later + 25)
    await run_until(sharing, lambda: len(producer.records) > 6)
    points = [key[2] for key in producer.names() if len(key) == 3]
    assert points[-2:] == [later % SLOTS, (later + 1) % SLOTS]
    assert len(points) == len(set(points)) == 3, "the one of the fixture, and two that are over"
    assert producer.names().count(["g", "me"]) > 2
    assert all(read_shared(each, "g") for each in producer.records)


async def test_points_are_told_on_though_the_clock_is_set_back(
    sharing: Sharing, producer: Producer, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, live, 10**10, 10**10 + 11)
    await run_until(sharing, lambda: len(producer.records) > 3)
    producer.records.clear()
    back = 10**10 - 7205
    at(monkeypatch, live, back)
    await run_until(sharing, lambda: len(producer.records) > 3)
    at(monkeypatch, live, back + 10, back + 20)
    await run_until(sharing, lambda: ["g", "me", slot_of(back + 10) % SLOTS] in producer.names())


async def test_what_could_not_be_sent_is_sent_later(
    sharing: Sharing, producer: Producer, live: Live, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    at(monkeypatch, live, 10**10, 10**10 + 11)
    producer.error = KafkaConnectionError("away")
    await run_until(sharing, lambda: producer.trials > 20)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert not producer.records
    producer.error = None
    await run_until(sharing, lambda: ["g", "me"] in producer.names())
    assert ["g", "me", 10**9 % 360] in producer.names()


async def test_a_right_that_is_missing_is_named(sharing: Sharing, producer: Producer) -> None:
    producer.error = TopicAuthorizationFailedError("figures")
    await run_until(sharing, lambda: sharing.dependency.unavailable)
    assert "lacks Write on topic figures; an administrator grants it: kaf" in sharing.dependency.reason


async def test_an_error_of_its_own_is_raised(sharing: Sharing, producer: Producer) -> None:
    producer.error = ZeroDivisionError("a bug")
    with pytest.raises(ZeroDivisionError):
        await sharing.run()


async def test_at_the_end_it_tells_the_last_counts_and_a_tombstone(
    sharing: Sharing, producer: Producer, group: Group
) -> None:
    await sharing.leave()
    *points, end = producer.records
    assert (end.key, end.value) == (b'["g","me"]', None)
    assert points
    for each in producer.records:
        group.handle(each, 10**13)
    assert group.rows == []


SKIPPED = ["", "skipped/not-html/g"]


def skip(live: Live, offset: int) -> None:
    message = Message(None, b"", (), "raw", 3, offset)
    skipped = Skipped(SkipReason.NOT_HTML, "image/png", f"https://e.org/{offset}")
    live.monitor.drops.note(CleanedMessage(message, skipped=[skipped]))


def shared_drops(producer: Producer) -> list[list[int]]:
    """Return the offsets of the drops in each message about some."""
    read = [read_shared(each, "g") for each in producer.records]
    return [[drop.source.offset for drop in each.latest] for each in read if isinstance(each, SharedDrops)]


async def test_drops_wait_until_the_topic_is_read_and_are_told_until_they_are_there(
    sharing: Sharing, producer: Producer, group: Group, live: Live, caught_up: asyncio.Event
) -> None:
    skip(live, 2)
    await run_until(sharing, lambda: producer.names().count(["g", "me"]) > 3)
    assert SKIPPED not in producer.names()
    earlier = Drop(datetime(2026, 1, 1, tzinfo=UTC), Origin("raw", 3, 1), None, "by a worker that was killed")
    record = drops_record("g", SharedDrops(("skipped", "not-html"), (earlier,)))
    group.handle(Message(record.key, record.value), int(1000 * time.time()))
    caught_up.set()
    await run_until(sharing, lambda: SKIPPED in producer.names())
    for each in producer.records:
        group.handle(each, int(1000 * time.time()))
    written = shared_drops(producer)
    assert written[-1] == [1, 2]
    told = producer.names().count(["g", "me"])
    await run_until(sharing, lambda: producer.names().count(["g", "me"]) > told + 3)
    assert shared_drops(producer) == written


async def test_drops_that_come_soon_after_others_wait(
    sharing: Sharing,
    producer: Producer,
    live: Live,
    caught_up: asyncio.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caught_up.set()
    monkeypatch.setattr("dehusk.streams.worker.monitoring.sharing.DROPS_SECONDS", 1e9)
    skip(live, 1)
    await run_until(sharing, lambda: SKIPPED in producer.names())
    skip(live, 2)
    told = producer.names().count(["g", "me"])
    await run_until(sharing, lambda: producer.names().count(["g", "me"]) > told + 3)
    assert shared_drops(producer) == [[1]]
    monkeypatch.setattr("dehusk.streams.worker.monitoring.sharing.DROPS_SECONDS", 0.0)
    await run_until(sharing, lambda: len(shared_drops(producer)) > 1)
    assert shared_drops(producer)[:2] == [[1], [1, 2]]


async def test_drops_that_could_not_be_sent_are_sent_later(
    sharing: Sharing, producer: Producer, live: Live, caught_up: asyncio.Event
) -> None:
    caught_up.set()
    skip(live, 1)
    producer.error = KafkaConnectionError("away")
    await run_until(sharing, lambda: producer.trials > 20)
    producer.error = None
    await run_until(sharing, lambda: SKIPPED in producer.names())


async def test_at_the_end_it_tells_its_last_drops(
    sharing: Sharing, producer: Producer, live: Live, caught_up: asyncio.Event
) -> None:
    caught_up.set()
    skip(live, 1)
    await sharing.leave()
    assert shared_drops(producer) == [[1]]


async def test_drops_with_long_and_unprintable_texts_are_read(
    sharing: Sharing, producer: Producer, group: Group, live: Live, caught_up: asyncio.Event
) -> None:
    caught_up.set()
    text = "\x1b\ud800\U000e0001" * 1000
    for offset in range(5):
        cleaned = CleanedMessage(Message(None, b"", (), "t" * 249, 3, offset))
        cleaned.skipped.append(Skipped(SkipReason.NOT_HTML, text, text))
        live.monitor.drops.note(cleaned)
    await sharing.leave()
    for each in producer.records:
        group.handle(each, int(1000 * time.time()))
    assert group.malformed == 0
    assert len(group.drops.latest(("skipped", "not-html"))) == 5


async def test_a_kafka_that_hangs_does_not_keep_it(
    sharing: Sharing, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("dehusk.streams.worker.monitoring.sharing.LEAVE_SECONDS", 0.01)
    monkeypatch.setattr(producer, "send", hang)
    async with asyncio.timeout(30):
        await sharing.leave()


def test_a_worker_has_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dehusk.streams.worker.monitoring.sharing.socket.gethostname", lambda: "host")
    one, other = name_worker(), name_worker()
    assert one.startswith("host-")
    assert one != other


@pytest.mark.parametrize(
    ("served", "address"),
    [
        ("http://0.0.0.0:8080/", "http://host:8080/"),
        ("https://:::8443/", "https://host:8443/"),
        ("https://[::]:8443/", "https://host:8443/"),
        ("http://127.0.0.1:80/", "http://127.0.0.1:80/"),
        ("http://10.1.2.3:8080/", "http://10.1.2.3:8080/"),
    ],
)
def test_its_page_has_an_address_for_other_hosts(
    served: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dehusk.streams.worker.monitoring.sharing.socket.gethostname", lambda: "host")
    assert page_address(served) == address
