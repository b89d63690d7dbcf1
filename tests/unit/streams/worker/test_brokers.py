"""What the brokers' answers, and their silence, say about Kafka."""

import asyncio

import pytest

from schemas.errors import UnavailableError
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


@pytest.mark.parametrize("absence", [False, None], ids=["refusal", "silence"])
async def test_brokers_that_do_not_answer_are_missed_until_they_do(
    absence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.worker.brokers._TIMEOUT_SECONDS", 0.01)
    client = Client()
    brokers = Brokers(client, "cleaned", lambda: False)
    await brokers.check()
    client.answer = absence
    with pytest.raises(UnavailableError, match="no broker answers"):
        await brokers.check()
    client.answer = True
    await brokers.check()
    assert client.topics == {"cleaned"}


async def test_kafka_is_not_there_while_sending_to_it_fails() -> None:
    fails = [True]
    brokers = Brokers(Client(), "cleaned", lambda: bool(fails))
    with pytest.raises(UnavailableError, match="takes what is sent"):
        await brokers.check()
    fails.clear()
    await brokers.check()
