"""What the brokers' answers, and their silence, say about Kafka."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from streams.worker.availability import Part
from streams.worker.brokers import Brokers


class Client:
    """A client whose brokers answer, refuse or keep silent, as the test says."""

    def __init__(self) -> None:
        self.topics: set[str] = set()
        self.answer: bool | None = True
        """None for silence."""

    def add_topic(self, topic: str) -> None:
        self.topics.add(topic)

    async def force_metadata_update(self) -> bool:
        assert self.topics, "the metadata of every topic of the cluster would be asked for"
        if self.answer is None:
            await asyncio.sleep(600)
        return bool(self.answer)


class Watched:
    """Brokers that are watched, and sending that fails as the test says."""

    def __init__(self) -> None:
        self.client, self.kafka, self.sending_fails = Client(), Part("kafka", ""), False
        brokers = Brokers(self.client, "cleaned", self.kafka, lambda: self.sending_fails)
        self.watching = asyncio.create_task(brokers.watch())

    async def look(self) -> bool:
        """Whether Kafka counts as away by now."""
        await asyncio.sleep(0.05)
        return self.kafka.away


@pytest.fixture
async def watched(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    monkeypatch.setattr("streams.worker.brokers._ASK_SECONDS", 0.0)
    monkeypatch.setattr("streams.worker.brokers._TIMEOUT_SECONDS", 0.01)
    made = Watched()
    yield made
    made.watching.cancel()


@pytest.mark.parametrize("absence", [False, None], ids=["refusal", "silence"])
async def test_brokers_that_do_not_answer_are_missed_until_they_do(watched: Watched, absence) -> None:
    assert not await watched.look()
    watched.client.answer = absence
    assert await watched.look()
    watched.client.answer = True
    assert not await watched.look()
    assert watched.client.topics == {"cleaned"}


async def test_kafka_is_not_back_while_sending_to_it_fails(watched: Watched) -> None:
    watched.sending_fails = True
    watched.kafka.missed(OSError("no leader"))
    assert await watched.look()
    watched.sending_fails = False
    assert not await watched.look()
