"""Settings of Faust, and the buffer that is bounded in bytes."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest
from aiokafka.errors import KafkaConnectionError
from faust.exceptions import ConsumerNotStarted
from faust.types import TP
from mode import Service
from mode.utils.queues import FlowControlEvent

from dehusk.streams.kafka.options import client_options
from dehusk.streams.settings import MIB, KafkaSecurity, KafkaSettings, OAuthSettings, TopicSettings
from dehusk.streams.worker.input.app import FaustApp, follow_bounds
from dehusk.streams.worker.input.lag import Standstill
from dehusk.streams.worker_settings import WorkerSettings
from tests.settling import settle
from tests.unit.streams.worker.input.apps import idle_app

PLAIN = KafkaSecurity()


def app(security: KafkaSecurity = PLAIN, partitions: int = 8, topics: str = "pages") -> FaustApp:
    kafka = KafkaSettings("one:9092, two:9092", security)
    settings = WorkerSettings(kafka=kafka, topics=TopicSettings(input=topics, group="cleaners"))
    return idle_app(settings, partitions=partitions)


async def test_the_group_and_the_brokers_are_those_of_the_settings() -> None:
    conf = app().conf
    assert conf.id == "cleaners"
    assert [str(url) for url in conf.broker] == ["kafka://one:9092", "kafka://two:9092"]


async def test_nothing_is_decoded_declared_or_served_by_faust() -> None:
    conf = app().conf
    assert (conf.key_serializer, conf.value_serializer) == ("raw", "raw")
    assert not conf.topic_allow_declare
    assert not conf.web_enabled


@pytest.mark.parametrize(("partitions", "fetched"), [(1, 2 * MIB), (2, 2 * MIB), (4, MIB), (1000, MIB // 4)])
async def test_many_partitions_fetch_less_each(partitions: int, fetched: int) -> None:
    assert app(partitions=partitions).conf.consumer_max_fetch_size == fetched


async def test_a_plain_listener_needs_no_credentials() -> None:
    assert app().conf.broker_credentials is None


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_passwords_reach_the_consumer(protocol) -> None:
    credentials = app(KafkaSecurity(protocol, "SCRAM-SHA-512", "crawler", "secret")).conf.broker_credentials
    assert credentials.protocol.value == protocol
    assert credentials.mechanism.value == "SCRAM-SHA-512"
    assert (credentials.username, credentials.password) == ("crawler", "secret")


async def test_tls_alone_reaches_the_consumer() -> None:
    assert app(KafkaSecurity("SSL")).conf.broker_credentials.protocol.value == "SSL"


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_the_consumer_has_the_tokens_of_all_clients(protocol) -> None:
    oauth = OAuthSettings("https://login.example/token")
    security = KafkaSecurity(protocol, "OAUTHBEARER", "crawler", "secret", oauth=oauth)
    credentials = app(security).conf.broker_credentials
    assert credentials.protocol.value == protocol
    assert credentials.mechanism.value == "OAUTHBEARER"
    assert (
        credentials.oauth_cb is client_options(KafkaSettings(security=security))["sasl_oauth_token_provider"]
    )


async def test_the_service_of_kerberos_reaches_the_consumer() -> None:
    security = KafkaSecurity("SASL_SSL", "GSSAPI", kerberos_service="bus")
    credentials = app(security).conf.broker_credentials
    assert (credentials.mechanism.value, credentials.kerberos_service_name) == ("GSSAPI", "bus")


def test_no_directory_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def begin() -> None:
        await app().on_first_start()

    monkeypatch.chdir(tmp_path)
    asyncio.run(begin())
    assert list(tmp_path.iterdir()) == []


async def test_a_stop_that_comes_while_it_starts_waits_for_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_go_on = asyncio.Event(), asyncio.Event()
    life: list[str] = []

    class SlowPart(Service):
        async def on_start(self) -> None:
            begun.set()
            await may_go_on.wait()
            life.append("started")

        async def on_stop(self) -> None:
            life.append("stopped")

    stopped = app()
    monkeypatch.setattr(stopped, "on_init_dependencies", lambda: [SlowPart()])
    monkeypatch.setattr(stopped, "on_start", AsyncMock())  # which would make a consumer and its thread
    starting = asyncio.create_task(stopped.start())
    stopping = asyncio.create_task(stopped.stop())
    await begun.wait()
    await asyncio.sleep(0)
    assert not stopped.should_stop
    may_go_on.set()
    await asyncio.gather(starting, stopping)
    assert life == ["started", "stopped"]


async def test_what_failed_to_start_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = app()
    monkeypatch.setattr(failed, "on_init_dependencies", list)
    monkeypatch.setattr(failed, "on_start", AsyncMock(side_effect=ConnectionError("no broker")))
    monkeypatch.setattr(failed, "on_stop", AsyncMock())  # which would ask for the consumer
    with pytest.raises(ConnectionError):
        await failed.start()
    await asyncio.wait_for(failed.stop(), timeout=30)
    assert failed.should_stop


@pytest.fixture
async def made() -> AsyncIterator[FaustApp]:
    """An app with a consumer, whose thread has an event loop of its own."""
    with_consumer = app()
    yield with_consumer
    with_consumer.consumer._thread.thread_loop.close()


@pytest.mark.parametrize("error", [KafkaConnectionError, ConsumerNotStarted])
async def test_the_bounds_of_partitions_are_asked_for_between_start_and_stop_only(
    made: FaustApp, error: type[Exception]
) -> None:
    made.consumer.find_bounds = AsyncMock(side_effect=error)
    made.consumer.assignment = set
    await made.on_first_start()
    following = asyncio.create_task(follow_bounds(made, lambda: False, first_seconds=0))

    async def asks() -> bool:
        before = made.consumer.find_bounds.await_count
        for _ in range(10):
            await asyncio.sleep(0)
        return made.consumer.find_bounds.await_count > before

    assert not await asks()
    made.on_rebalance_start()
    made.on_rebalance_return()
    assert await asks()
    made._stopped.set()
    assert not await asks()
    assert not following.done()
    following.cancel()


async def test_a_worker_that_reads_nothing_of_its_backlog_stands_still(
    made: FaustApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not without a backlog, if it is occupied, if positions move, or if Kafka does not answer."""
    now, is_occupied = [0.0], [False]
    state = SimpleNamespace(has_valid_position=True, position=10, lso=10)
    made.standstill = Standstill(lambda: now[0])
    monkeypatch.setattr("dehusk.streams.worker.input.app._BOUNDS_SECONDS", 0)
    monkeypatch.setattr(made.consumer._thread, "read_states", lambda: {TP("raw", 0): state})
    made.consumer.find_bounds = AsyncMock()
    made.consumer.assignment = set
    made.on_rebalance_start()
    made.on_rebalance_return()
    following = asyncio.create_task(follow_bounds(made, lambda: is_occupied[0], first_seconds=0))

    async def still_after(seconds: float) -> float:
        await settle()
        now[0] += seconds
        await settle()
        return made.backlog().unread_seconds

    assert await still_after(50) == 0, "nothing is there to be read"
    now[0], state.lso = now[0] + 100, 30  # as of a process that was frozen
    await settle()
    assert made.backlog().unread_seconds == 0
    assert await still_after(50) == 50
    is_occupied[0] = True
    assert await still_after(50) == 0
    is_occupied[0] = False
    assert await still_after(50) == 50
    state.position = 20
    assert await still_after(50) == 50
    made.consumer.find_bounds.side_effect = KafkaConnectionError
    assert await still_after(50) == 0
    following.cancel()


async def test_a_worker_knows_how_long_it_has_been_without_partitions(
    made: FaustApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("dehusk.streams.worker.input.app.time.monotonic", lambda: now[0])
    await made.on_first_start()
    now[0] += 5
    assert made.seconds_without_partitions == 5
    made.consumer.assignment = set
    made.on_rebalance_start()
    made.on_rebalance_return()
    assert made.seconds_without_partitions == 0
    now[0] += 5
    made.on_rebalance_start()
    now[0] += 7
    assert made.seconds_without_partitions == 7


async def test_partitions_that_come_while_it_stops_leave_the_consumer_open(
    made: FaustApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(made.consumer, "close", lambda: closed.append(True))
    made._stopped.set()
    await made._on_partitions_revoked(set())
    await made._on_partitions_assigned(set())
    assert not closed


async def test_the_lag_is_unknown_until_kafka_has_dealt_the_partitions(
    made: FaustApp, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "dehusk.streams.worker.input.app")
    assert made.backlog().messages is None
    await made.on_first_start()
    made.on_rebalance_start()
    assert made.backlog().messages is None
    assert [record.message for record in caplog.records].count("waits for its partitions") == 1


async def test_the_lag_is_that_of_all_partitions(made: FaustApp) -> None:
    await made.on_first_start()
    made.consumer.assignment = set
    made.consumer.lag = lambda waiting: {TP("raw", 0): 30, TP("raw", 1): 10, **dict.fromkeys(waiting, 1)}
    made.on_rebalance_start()
    made.on_rebalance_return()
    assert made.backlog().messages == 40
    made.flow_control = FlowControlEvent(initially_suspended=False)
    buffer = made.FlowControlQueue()
    await buffer.put(event(0))
    assert made.backlog().messages == 41
    assert made.backlog().seconds > 3600
    buffer.get_nowait()
    assert made.backlog().messages == 40


async def test_the_agent_reads_all_topics_of_the_input() -> None:
    for text, topics in (("a, b", ["a", "b"]), ("^crawl-", ["^crawl-"])):
        (reader,) = app(topics=text).agents.values()
        assert list(reader.channel.topics) == topics


def event(size: int) -> SimpleNamespace:
    return SimpleNamespace(message=SimpleNamespace(value=bytes(size), tp=TP("raw", 2), timestamp=1.0))


class Partition:
    """A partition that the consumer pauses and resumes as the buffer asks."""

    paused = False

    def put(self, buffer, size: int) -> None:
        buffer.put_nowait_enhanced(event(size), on_pressure_high=self._pause, on_pressure_drop=self._resume)

    def _pause(self) -> None:
        self.paused = True

    def _resume(self) -> None:
        self.paused = False


async def test_the_buffer_pauses_partitions_by_bytes_and_resumes_them() -> None:
    made = app()
    made.flow_control = FlowControlEvent(initially_suspended=False)
    buffer = made.FlowControlQueue(10 * MIB)
    partition = Partition()
    for _ in range(7):
        partition.put(buffer, MIB)
    assert not partition.paused
    partition.put(buffer, MIB)
    partition.put(buffer, MIB)
    assert partition.paused
    while buffer.qsize() > 3 * MIB:
        buffer.get_nowait()
    buffer.get_nowait()
    assert not partition.paused


async def test_the_buffer_is_empty_after_it_is_cleared() -> None:
    made = app()
    made.flow_control = FlowControlEvent(initially_suspended=False)
    buffer = made.FlowControlQueue(MIB)
    await buffer.put(event(2 * MIB))
    assert buffer.full()
    buffer.clear()
    assert buffer.empty()
    assert not buffer.full()
    await buffer.put(event(0))
    assert not buffer.empty()
    assert len(buffer.get_nowait().message.value) == 0
    assert buffer.qsize() == 0
