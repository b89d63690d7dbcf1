"""Partitions that the consumer is set up to read, and its lag."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from faust.exceptions import ConsumerNotStarted
from faust.types import TP

from dehusk.streams.settings import TopicSettings
from dehusk.streams.worker.input.app import FaustApp
from dehusk.streams.worker.input.consumer import Conductor, Consumer
from dehusk.streams.worker.input.consumer_thread import ConsumerThread
from dehusk.streams.worker.input.recovery import NoTables, PatientRecovery
from dehusk.streams.worker_settings import WorkerSettings
from tests.unit.streams.worker.input.apps import hooks_of, idle_app


@pytest.fixture
async def made() -> AsyncIterator[FaustApp]:
    """An app that reads all topics whose names begin with `crawl-`, with a consumer that is not started."""
    app = idle_app(WorkerSettings(topics=TopicSettings("^crawl-")), hooks_of(rack="b"))
    thread = app.consumer._thread
    thread._consumer = thread._create_consumer(thread.thread_loop)
    yield app
    await thread._consumer.stop()
    thread.thread_loop.close()


async def test_only_committed_records_are_read(made: FaustApp) -> None:
    assert made.consumer._thread._consumer._isolation_level == "read_committed"


async def test_the_consumer_reads_the_replicas_of_its_rack(made: FaustApp) -> None:
    assert made.consumer._thread._consumer._client_rack == "b"


async def test_partitions_of_any_topic_reach_the_agent(made: FaustApp) -> None:
    channel = made.topic("^crawl-")
    made.topics.add(channel)
    crawled = TP("crawl-a", 3)
    await made.topics.on_partitions_assigned({crawled})
    assert made.topics._tp_index[crawled] == {channel}
    assert made.topics.acks_enabled_for("crawl-a")


async def test_of_partitions_that_were_given_up_nothing_is_committed(made: FaustApp) -> None:
    assert not await made.consumer._thread._commit({TP("crawl-a", 3): 17})
    assert made.consumer.lag(()) == {}
    assert made.consumer.highwater(TP("crawl-a", 3)) == 0


async def test_nothing_is_asked_of_the_thread_once_it_has_ended(made: FaustApp) -> None:
    made.consumer._thread.thread_loop.close()
    with pytest.raises(ConsumerNotStarted):
        await made.consumer.rejoin_after_error()


async def test_a_partition_is_read_again_as_soon_as_the_buffer_has_room(
    made: FaustApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made.consumer, "idle_seconds", 3600.0)
    consumer, full = made.consumer, TP("crawl-a", 3)
    consumer._set_active_tps({full})
    consumer.on_buffer_full(full)
    waiting = asyncio.create_task(consumer._wait_next_records(3600.0))
    await asyncio.sleep(0)
    assert not waiting.done()
    consumer.on_buffer_drop(full)
    assert await asyncio.wait_for(waiting, 60) == ({}, set())
    assert consumer._get_active_partitions() == {full}


def test_what_faust_says_of_its_services_is_not_logged_as_dehusks() -> None:
    assert {
        each.logger.name for each in (Consumer, ConsumerThread, Conductor, NoTables, PatientRecovery)
    } == {"faust"}
