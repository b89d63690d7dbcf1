"""Topics that a consumer follows, which has not been started, and what its thread logs."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import UnknownTopicOrPartitionError

from dehusk.streams.worker.input.consumer_thread import keep_all_topics, log_unless_given_up


@pytest.mark.parametrize(
    ("followed", "then"),
    [([], set()), (["crawl"], {"crawl", "gone"})],
    ids=["all of a pattern", "some by name"],
)
async def test_a_partition_without_a_leader_ends_no_watch_for_new_topics(
    monkeypatch: pytest.MonkeyPatch, followed: list[str], then: set[str]
) -> None:
    consumer = AIOKafkaConsumer()
    client = consumer._client
    updates: list[asyncio.Future[bool]] = []

    def update() -> asyncio.Future[bool]:
        updates.append(asyncio.get_running_loop().create_future())
        return updates[-1]

    monkeypatch.setattr(client, "force_metadata_update", update)
    client.set_topics(followed)
    keep_all_topics(consumer)
    assert client.add_topic("gone") is updates[-1]
    assert len(updates) == 2
    assert client._topics == then
    await consumer.stop()


@pytest.mark.parametrize(
    ("error", "logged"), [(UnknownTopicOrPartitionError(), 0), (ValueError(), 1)], ids=["of Kafka", "another"]
)
async def test_errors_of_commits_that_were_given_up_are_not_logged(
    error: Exception, logged: int, caplog: pytest.LogCaptureFixture
) -> None:
    context = {"message": "Task exception was never retrieved", "exception": error}
    log_unless_given_up(asyncio.get_running_loop(), context)
    assert len(caplog.records) == logged
