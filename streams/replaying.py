"""Dead letters found again: which ones are there, and which can be put back on their topic."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from schemas.documents import Origin
from streams.consuming import read
from streams.dead_letters import DeadLetter, read_dead_letter, replay
from streams.kafka import Topic, describe_topics
from streams.producing import Outgoing, send
from streams.settings import KafkaSettings


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which dead letters are meant; None for any."""

    reason: str | None = None
    stage: str | None = None
    url: str | None = None
    """A part of the URL."""

    def matches(self, letter: DeadLetter) -> bool:
        """Whether the letter is meant."""
        return (
            self.reason in (None, letter.reason)
            and self.stage in (None, letter.stage)
            and (self.url is None or self.url in (letter.url or ""))
        )


@dataclass(frozen=True, slots=True)
class FoundLetter:
    """A dead letter and its place on the dead-letter topic."""

    letter: DeadLetter
    place: Origin
    failed_at: datetime


async def find_letters(kafka: KafkaSettings, topic: str, wanted: Wanted) -> AsyncGenerator[FoundLetter, None]:
    """The letters that are on the topic now, in order per partition; records of another kind are passed over.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    async with aclosing(read(kafka, topic)) as messages:
        async for message, milliseconds in messages:
            letter = read_dead_letter(message)
            if letter is not None and wanted.matches(letter):
                place = Origin(message.topic, message.partition, message.offset)
                yield FoundLetter(letter, place, datetime.fromtimestamp(milliseconds / 1000, UTC))


class Obstacle(StrEnum):
    """Why a dead letter is not put back."""

    SUPERSEDED = "a later dead letter of the same message"
    REPLAYED_OFTEN = "replayed as often as allowed"
    NOT_WHOLE = "too large for the dead-letter topic, which holds no value of it"
    NO_TOPIC = "its topic does not exist any more"
    REFUSED = "too large for its topic"


@dataclass(slots=True)
class ReplayCounts:
    """What became of the letters that were meant."""

    replayed: int = 0
    kept: Counter[Obstacle] = field(default_factory=Counter)


async def replay_letters(
    kafka: KafkaSettings,
    topic: str,
    wanted: Wanted,
    *,
    limit: int | None = None,
    most_replays: int = 3,
    dry_run: bool = False,
) -> ReplayCounts:
    """Put the letters' original records back on the topics and partitions where they failed.

    A letter stays on its topic, so a message that failed, was replayed and failed again has two: only the
    latest is replayed, and none that was replayed `most_replays` times already.

    Raises:
        ConfigurationError: the topic does not exist, or the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    counts = ReplayCounts()

    async def records() -> AsyncIterator[Outgoing]:
        planned = 0
        async with aclosing(_plan(kafka, topic, wanted, most_replays)) as plan:
            async for outgoing in plan:
                if isinstance(outgoing, Obstacle):
                    counts.kept[outgoing] += 1
                    continue
                yield outgoing
                planned += 1
                if planned == limit:
                    return

    if dry_run:
        async for _ in records():
            counts.replayed += 1
        return counts
    async for sent in send(kafka, records()):
        if sent.refusal is None:
            counts.replayed += 1
        else:
            counts.kept[Obstacle.REFUSED] += 1
    return counts


async def _plan(
    kafka: KafkaSettings, topic: str, wanted: Wanted, most_replays: int
) -> AsyncGenerator[Outgoing | Obstacle, None]:
    """For each letter that is meant, what is to be sent, or why nothing is."""
    latest = await _latest_replays(kafka, topic)
    sources: dict[str, Topic | None] = {}
    async with aclosing(find_letters(kafka, topic, wanted)) as letters:
        async for found in letters:
            name = found.letter.origin.topic
            if name not in sources:
                sources[name] = (await describe_topics(kafka, [name])).get(name)
            is_latest = latest.get(found.letter.first_origin, found.place) == found.place
            yield _decide(found.letter, sources[name], most_replays) if is_latest else Obstacle.SUPERSEDED


def _decide(letter: DeadLetter, source: Topic | None, most_replays: int) -> Outgoing | Obstacle:
    if letter.replays >= most_replays:
        return Obstacle.REPLAYED_OFTEN
    if not letter.is_whole:
        return Obstacle.NOT_WHOLE
    if source is None:
        return Obstacle.NO_TOPIC
    partition = letter.origin.partition if letter.origin.partition < source.partitions else None
    return Outgoing(source.name, replay(letter), partition)


async def _latest_replays(kafka: KafkaSettings, topic: str) -> dict[Origin, Origin]:
    """Of each message that failed again after a replay, the place of its latest letter."""
    latest: dict[Origin, tuple[int, Origin]] = {}
    async for found in find_letters(kafka, topic, Wanted()):
        letter = found.letter
        if letter.replays and letter.replays >= latest.get(letter.first_origin, (0,))[0]:
            latest[letter.first_origin] = (letter.replays, found.place)
    return {first: place for first, (_, place) in latest.items()}
