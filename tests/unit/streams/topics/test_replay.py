"""Letters that need not be dealt with any more, as the topic of dead letters tells."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.kafka.client import Topic as KafkaTopic
from dehusk.streams.kafka.producer import Outgoing, SendResult
from dehusk.streams.kafka.reader import Timed
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.dead_letters import dead_letter, read_dead_letter, replay, replay_mark
from dehusk.streams.topics.replay import LetterFilter, Obstacle, find_letters, replay_letters

PAGE = Record(b"http://x.test/", b"page")
OTHER = Record(b"http://x.test/", b"another page")


class Topic:
    """A topic of dead letters of two partitions, to which letters come second by second."""

    def __init__(self) -> None:
        self.messages: list[Timed] = []
        self.open_readers = 0

    def add(self, record: Record, partition: int) -> Message:
        offset = sum(message.partition == partition for message, _ in self.messages)
        added = Message(record.key, record.value, record.headers, "dead", partition, offset)
        self.messages.append((added, 1_000 * len(self.messages)))
        return added

    def fail(self, record: Record, offset: int, partition: int = 0, source: str = "raw") -> Record:
        """Add the letter of a record at an offset of its topic; return what its replay is."""
        message = Message(record.key, record.value, record.headers, source, 0, offset)
        broken = Broken(BrokenReason.PROCESS_CRASHED, "it broke")
        letter = read_dead_letter(self.add(dead_letter(message, broken, "prepare"), partition))
        assert letter is not None
        return replay(letter)

    async def read(self, *_: object) -> AsyncIterator[Timed]:
        """Yield what it holds, partition by partition."""
        self.open_readers += 1
        try:
            for timed in sorted(self.messages, key=lambda timed: timed[0].partition):
                yield timed
        finally:
            self.open_readers -= 1


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    """An empty topic of dead letters."""
    topic = Topic()
    monkeypatch.setattr("dehusk.streams.topics.replay.read", topic.read)
    return topic


async def settled() -> list[Obstacle | None]:
    """Return what is said of each letter, partition by partition."""
    return [found.settled async for found in find_letters(KafkaSettings(), "dead", LetterFilter())]


@pytest.mark.parametrize("partitions", [(0, 0), (0, 1), (1, 0)])
async def test_what_failed_again_is_told_by_its_latest_letter(
    topic: Topic, partitions: tuple[int, int]
) -> None:
    again = topic.fail(PAGE, 5, partitions[0])
    topic.fail(again, 9, partitions[1])
    said = [Obstacle.SUPERSEDED, None]
    assert await settled() == (said if partitions < (1, 0) else said[::-1])


async def test_a_message_that_was_delivered_twice_has_one_letter_to_deal_with(topic: Topic) -> None:
    topic.fail(PAGE, 5)
    topic.fail(PAGE, 5)
    topic.fail(PAGE, 6)
    assert await settled() == [Obstacle.SUPERSEDED, None, None]
    topic.add(replay_mark(Origin("dead", 0, 1)), 0)
    assert await settled() == [Obstacle.SUPERSEDED, Obstacle.REPLAYED, None]


async def test_a_page_of_a_topic_that_was_made_again_is_another_message(topic: Topic) -> None:
    again = topic.fail(PAGE, 5)
    topic.fail(again, 9)
    topic.fail(OTHER, 5)
    assert await settled() == [Obstacle.SUPERSEDED, None, None]


async def test_the_same_page_of_a_topic_that_was_made_again_is_told_by_its_latest_letter(
    topic: Topic,
) -> None:
    again = topic.fail(PAGE, 5)
    topic.fail(again, 9)
    topic.fail(PAGE, 5)
    assert await settled() == [Obstacle.SUPERSEDED, Obstacle.SUPERSEDED, None]


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> list[Outgoing]:
    """Records that brokers have taken; they do not answer to "lost", and refuse all of the topic "closed"."""
    taken: list[Outgoing] = []

    async def describe_topics(_: object, names: list[str], *__: object) -> dict[str, object]:
        if "closed" in names:
            raise ConfigurationError("no Write on closed")
        return {name: KafkaTopic(name, 1, 1) for name in names}

    async def send(_: object, records: AsyncIterator[Outgoing], *__: object) -> AsyncIterator[SendResult]:
        given = [each async for each in records]  # as those that wait for their acknowledgements
        for outgoing in given:
            if outgoing.record.value == b"lost":
                raise UnavailableError("Kafka does not answer")
            taken.append(outgoing)
            yield SendResult(outgoing, None)

    async def check_rights(*_: object) -> None:
        pass

    for double in (describe_topics, send, check_rights):
        monkeypatch.setattr(f"dehusk.streams.topics.replay.{double.__name__}", double)
    return taken


async def test_a_replay_that_fails_has_closed_its_reader(topic: Topic, brokers: list[Outgoing]) -> None:
    topic.fail(PAGE, 0)
    topic.fail(replace(PAGE, value=b"lost"), 1)
    with pytest.raises(UnavailableError):
        await replay_letters(KafkaSettings(), "dead", LetterFilter())
    assert topic.open_readers == 0
    assert len(brokers) == 1


async def test_what_was_put_back_is_marked_where_the_rest_is_refused(
    topic: Topic, brokers: list[Outgoing]
) -> None:
    for source in ("raw", "raw", "closed", "raw"):
        topic.fail(PAGE, len(topic.messages), source=source)
    with pytest.raises(ConfigurationError, match="no Write on closed"):
        await replay_letters(KafkaSettings(), "dead", LetterFilter())
    marks = [replay_mark(Origin("dead", 0, offset)) for offset in (0, 1)]
    assert [each.record for each in brokers if each.topic == "dead"] == marks
    assert [each.topic for each in brokers] == ["raw", "raw", "dead", "dead"]


async def test_a_topic_to_which_nothing_is_put_back_is_not_asked_for(
    topic: Topic, brokers: list[Outgoing]
) -> None:
    topic.fail(PAGE, 0, source="closed")
    topic.add(replay_mark(Origin("dead", 0, 0)), 0)
    counts = await replay_letters(KafkaSettings(), "dead", LetterFilter())
    assert (dict(counts.kept), brokers) == ({Obstacle.REPLAYED: 1}, [])
