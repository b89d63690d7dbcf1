"""Topics that a consumer follows, which has not been started."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer

from dehusk.streams.worker.input.consumer_thread import keep_all_topics


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
