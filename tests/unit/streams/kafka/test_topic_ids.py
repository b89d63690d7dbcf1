"""Identities of topics, as brokers tell them that may be away or lag behind."""

from types import SimpleNamespace
from uuid import UUID

import pytest
from aiokafka.client import ConnectionGroup
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError

from dehusk.streams.kafka.topic_ids import Identities, Identity, ask_identities

OLD, NEW = Identity(UUID(int=1), 4), Identity(UUID(int=2), 4)


class Consumer:
    """aiokafka's consumer of brokers by their numbers; some of them are away, and some are connected."""

    def __init__(self, *brokers: int, away: frozenset[int] = frozenset(), connected: int = -1) -> None:
        self.cluster = SimpleNamespace(brokers=lambda: [SimpleNamespace(nodeId=each) for each in brokers])
        self._conns = {(connected, ConnectionGroup.DEFAULT): SimpleNamespace(connected=lambda: True)}
        self._client = self
        self._away = away
        self.asked: list[int] = []

    async def send(self, node: int, _request: object) -> SimpleNamespace:
        self.asked.append(node)
        if node in self._away:
            raise KafkaConnectionError("gone")
        return SimpleNamespace(
            topics=[
                (0, "raw", NEW.id, False, [None] * 4, 0, {}),
                (0, "old", UUID(int=0), False, [None], 0, {}),
                (3, "gone", UUID(int=0), False, [], 0, {}),
                (29, "denied", NEW.id, False, [], 0, {}),
            ]
        )


async def test_another_broker_is_asked_where_one_is_away() -> None:
    consumer = Consumer(1, 2, 3, away=frozenset({1, 2}))
    assert await ask_identities(consumer, ["raw"]) == {"raw": NEW}
    with pytest.raises(KafkaConnectionError):
        await ask_identities(Consumer(1, 2, away=frozenset({1, 2})), ["raw"])
    with pytest.raises(NodeNotReadyError):
        await ask_identities(Consumer(), ["raw"])


async def test_a_broker_is_asked_to_which_there_is_a_connection() -> None:
    consumer = Consumer(*range(50), connected=7)
    await ask_identities(consumer, ["raw"])
    assert consumer.asked == [7]


def test_a_broker_that_lags_behind_makes_no_topic_again() -> None:
    identities = Identities()
    assert identities.note({"raw": OLD}) == []
    assert identities.note({"raw": NEW}) == ["raw"]
    assert identities.note({"raw": OLD}) == []
    assert identities.get("raw") == NEW
    assert identities.note({"raw": NEW}) == []
    identities.forget("raw")
    assert identities.note({"raw": OLD}) == []
    assert identities.note({"raw": NEW}) == []
    assert identities.note({}) == []
    assert identities.note({"raw": Identity(UUID(int=3), 4)}) == ["raw"]
