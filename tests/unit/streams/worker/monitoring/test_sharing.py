"""Records of a worker on the topic of its group."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from aiokafka.errors import KafkaConnectionError, TopicAuthorizationFailedError

from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.group import Group
from dehusk.streams.monitoring.history import SLOTS, slot_of
from dehusk.streams.monitoring.messages import read_shared
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker.monitoring.sharing import Sharing, name_worker, page_address


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
    return Producer()


@pytest.fixture
def sharing(producer: Producer, group: Group, live: Live) -> Sharing:
    kafka = KafkaSettings()
    return Sharing(producer, kafka, "figures", group, live, page="http://h:1/")  # type: ignore[arg-type]


async def run_until(sharing: Sharing, holds: Callable[[], bool]) -> None:
    running = asyncio.create_task(sharing.run())
    while not holds():
        assert not running.done()
        await asyncio.sleep(0.001)
    running.cancel()


def at(monkeypatch: pytest.MonkeyPatch, live: Live, *times: float) -> None:
    """Record at these times."""
    for time in times:
        monkeypatch.setattr("dehusk.streams.worker.monitoring.live.time.time", lambda time=time: time)
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
